import pytest
import torch

from spacy_psa.acceleration import install

from ..inference.triton.conftest import CPU as INTERPRETED
from ..layers.conftest import CUDA

install()


@pytest.fixture
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run kernels on a CPU only where Triton interprets them."""
    if "device" in metafunc.fixturenames:
        on_cpu = INTERPRETED if metafunc.module.__name__.endswith("kernels") else "cpu"
        metafunc.parametrize("device", [on_cpu, CUDA], indirect=True)
