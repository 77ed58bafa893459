"""Which layers oneDNN may compute, and with which shapes."""

from __future__ import annotations

import pytest
import torch

from spacy_psa.acceleration import onednn
from spacy_psa.acceleration.onednn import is_for_onednn

needs_onednn = pytest.mark.skipif(not onednn.HAS_ONEDNN, reason="PyTorch was built without oneDNN")


@needs_onednn
def test_it_is_for_plain_tensors_without_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = torch.ones(2, 3), torch.ones(4, 3)
    assert not is_for_onednn(x, weight)
    with torch.no_grad():
        assert is_for_onednn(x, weight)
        assert not is_for_onednn(x[0], weight)
        assert not is_for_onednn(x[:0], weight)
        assert not is_for_onednn(x.double(), weight)
        assert not is_for_onednn(x.double(), weight.double())
        assert not is_for_onednn(x.to("meta"), weight)
        assert not is_for_onednn(torch.nn.Parameter(x), weight)
        with torch.autocast("cpu"):
            assert not is_for_onednn(x, weight)
        monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
        assert not is_for_onednn(x, weight)
