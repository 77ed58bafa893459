"""Layers give the same results whether they remove padding, as on a CPU, or not, as on a GPU."""

import pytest

from spacy_psa.layers import SequenceMask

from .helpers import assert_close, batch_of
from .test_gradients import ENCODERS, WIDTH
from .test_padding import LENGTHS, make, run


@pytest.mark.parametrize("name", ENCODERS)
def test_removing_padding_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = make(name), batch_of(LENGTHS, WIDTH)
    expected, expected_gradients = run(module, x, LENGTHS)
    monkeypatch.setattr(SequenceMask, "compact", lambda mask, x: x)
    output, gradients = run(module, x, LENGTHS)
    assert_close(output, expected, 1e-12)
    for gradient, wanted in zip(gradients, expected_gradients, strict=True):
        assert_close(gradient, wanted, 1e-10)
