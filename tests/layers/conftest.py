from collections.abc import Iterator

import pytest
import torch

from spacy_psa.layers import PLAIN, using

CUDA = pytest.param(
    "cuda",
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    ],
)


@pytest.fixture(params=["cpu", CUDA])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    if request.param == "cuda":
        # cuDNN rounds float32 to TF32 unless told otherwise, which hides errors up to 1e-3.
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    return torch.device(request.param)


@pytest.fixture(autouse=True)
def plain() -> Iterator[None]:
    """Layers are tested by the definitions; what replaces these is tested against them."""
    with using(PLAIN):
        yield
