"""Short benchmarks: tests read what is measured, not how precisely."""

import pytest

from benchmarks import crf, kernels_timing


@pytest.fixture(autouse=True)
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time each function for as long as one call takes."""
    for module in (crf, kernels_timing):
        monkeypatch.setattr(module, "SHORTEST_TURN", 1e-4)
