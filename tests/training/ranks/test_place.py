"""What torchrun's variables say, and what is refused."""

from __future__ import annotations

import pytest

from spacy_psa.training.ranks import Place, find_place, join
from spacy_psa.training.ranks.launch import check_workers

WHOLE = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "MASTER_ADDR": "node-0",
    "MASTER_PORT": "29500",
}


def test_the_variables_say_which_rank_a_process_is() -> None:
    assert find_place(WHOLE) == Place(rank=3, size=4, local_rank=1)


@pytest.mark.parametrize(
    "environment",
    [{}, {"MASTER_ADDR": "node-0"}, {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}],
)
def test_one_process_trains_alone(environment: dict[str, str]) -> None:
    assert find_place(environment) is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"RANK": "", "LOCAL_RANK": ""}, "WORLD_SIZE set, but not RANK, LOCAL_RANK"),
        ({"RANK": "-1"}, "RANK is '-1'"),
        ({"WORLD_SIZE": "four"}, "WORLD_SIZE is 'four'"),
        ({"RANK": "4"}, "RANK is 4, WORLD_SIZE 4 and LOCAL_RANK 1"),
        ({"LOCAL_RANK": "4"}, "LOCAL_RANK 4"),
        ({"MASTER_PORT": ""}, "WORLD_SIZE is 4, but MASTER_PORT not set"),
    ],
)
def test_variables_that_contradict_each_other_are_refused(
    changes: dict[str, str], problem: str
) -> None:
    with pytest.raises(ValueError, match=rf"\[P520\].*{problem}"):
        find_place({**WHOLE, **changes})


def test_workers_are_not_started_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WHOLE:
        monkeypatch.delenv(name, raising=False)
    check_workers(2)
    with pytest.raises(ValueError, match=r"\[P526\].*not 0"):
        check_workers(0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"\[P525\].*WORLD_SIZE is set"):
        check_workers(2)


def test_a_gpu_that_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    found = pytest.raises(ValueError, match=r"\[P522\] Rank 3 needs GPU 1 .* finds 1 GPU")
    with found, join(Place(3, 4, 1), 1, 60.0):
        pass
