"""A rank that does not answer ends the others, after as long as a setting says."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator

import pytest
import torch

from spacy_psa.training.ranks import Place, join


@pytest.fixture(autouse=True)
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where two ranks meet, of which this process is the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(free.getsockname()[1]))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def freeze() -> None:
    """Join, and stop to answer."""
    with join(Place(1, 2, 1), -1, 60.0) as group:
        group.sum([1.0])
        os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="signals of POSIX")
def test_a_frozen_rank_is_noticed() -> None:
    # Others import PyTorch again, which takes seconds
    other = multiprocessing.get_context("fork").Process(target=freeze, daemon=True)
    other.start()
    sums = []
    message = r"\[P528\].*not answered for 2 seconds: it is frozen.*larger --timeout"
    try:
        with pytest.raises(ValueError, match=message), join(Place(0, 2, 0), -1, 2.0) as group:
            for _ in range(2):
                sums.append(group.sum([1.0]))
    finally:
        other.kill()
        other.join()
    assert sums == [[2.0]]


def test_a_rank_that_is_never_started_is_noticed() -> None:
    expected = pytest.raises(ValueError, match=r"\[P528\].*1 seconds.*was not started")
    with expected, join(Place(0, 2, 0), -1, 1.0):
        pass
