import pytest
import torch

from spacy_psa.inference.engines.triton import kernels_run_on

CPU = pytest.param(
    "cpu",
    marks=pytest.mark.skipif(
        not kernels_run_on(torch.device("cpu")),
        reason="no Triton that interprets kernels: not installed, or there is a GPU to run them",
    ),
)
CUDA = pytest.param(
    "cuda",
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    ],
)


@pytest.fixture(params=[CPU, CUDA])
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)
