"""The setting `threads`: how many threads a component computes with, and what it leaves behind."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest
import torch
from spacy import language

from spacy_psa.pipeline import threads
from spacy_psa.pipeline.threads import FIRST_PAUSE, LAST_PAUSE, Contention, using_threads

from .conftest import initialized_nlp, make_adam, make_examples

# Displaced threads in a second of processor time
IDLE, BUSY = 37, 250


class Clock:
    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(Clock, "now", 1000.0)
    monkeypatch.setattr(threads, "monotonic", lambda: Clock.now)
    return Clock


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def observe(contention: Contention, rate: int, n_all: int = 4) -> int:
    """Compute for a second. Returns the number of threads that are used next."""
    contention.observe(1.0, rate, contention.n_threads(n_all), n_all)
    return contention.n_threads(n_all)


def test_threads_are_halved_while_others_compete_and_doubled_after_a_pause(
    clock: type[Clock],
) -> None:
    contention = Contention()
    assert [observe(contention, rate) for rate in (IDLE, BUSY, BUSY, BUSY)] == [4, 2, 1, 1]
    assert observe(contention, IDLE) == 1, "tried again too early"
    clock.now += 3 * FIRST_PAUSE
    assert [observe(contention, IDLE) for _ in range(3)] == [2, 4, 4]
    assert contention.limit is None


def test_pauses_get_longer_but_not_forever(clock: type[Clock]) -> None:
    contention, pauses = Contention(), []
    observe(contention, BUSY, 2)
    for _ in range(8):
        begun = clock.now
        while observe(contention, IDLE, 2) == 1:
            clock.now += 1.0
        pauses.append(clock.now - begun)
        observe(contention, BUSY, 2)
    assert pauses == sorted(pauses) and pauses[0] <= FIRST_PAUSE and pauses[-1] == LAST_PAUSE


def test_short_computations_are_counted_together(clock: type[Clock]) -> None:
    contention = Contention()
    for _ in range(10):
        contention.observe(0.01, 3, 4, 4)
    assert contention.n_threads(4) == 4
    for _ in range(11):
        contention.observe(0.01, 3, 4, 4)
    assert contention.n_threads(4) == 2


def test_waiting_for_a_core_is_no_computation(
    four_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Beside many busy processes: 50 times in ten seconds of the clock, and 0.2 of processor time
    contention = Contention()
    monkeypatch.setattr(threads.process_threads, "contention", contention)
    steps = {"n_displaced": count(0, 50), "process_time": count(0, 0.2), "monotonic": count(0, 10)}
    for name, step in steps.items():
        monkeypatch.setattr(threads, name, partial(next, step))
    with using_threads("auto"):
        pass
    assert contention.limit == 2


def test_pytorchs_number_is_never_exceeded() -> None:
    assert Contention().n_threads(3) == 3


def test_worker_processes_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    process = multiprocessing.current_process()
    monkeypatch.setattr(process, "_target", language._apply_pipes, raising=False)
    assert Contention().n_threads(4) == 1


def test_the_number_is_restored_also_after_an_error(four_threads: None) -> None:
    with using_threads(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 4
    with pytest.raises(KeyError), using_threads(1):
        raise KeyError
    assert torch.get_num_threads() == 4


def test_overlapping_calls_of_two_threads_leave_the_number_as_it_was(four_threads: None) -> None:
    first, second = using_threads(2), using_threads(2)
    with ThreadPoolExecutor(1) as other:
        first.__enter__()
        other.submit(second.__enter__).result()
        first.__exit__(None, None, None)
        other.submit(second.__exit__, None, None, None).result()
        assert other.submit(torch.get_num_threads).result() == torch.get_num_threads() == 4
    with ThreadPoolExecutor(1) as new:
        assert new.submit(torch.get_num_threads).result() == 4


def test_a_call_within_another_keeps_its_number_and_is_not_counted(
    four_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    contention = Contention()
    monkeypatch.setattr(contention, "observe", lambda *arguments: seen.append(arguments[-1]))
    monkeypatch.setattr(threads.process_threads, "contention", contention)
    with using_threads(3), using_threads("auto"):
        assert torch.get_num_threads() == 3
    with using_threads("auto"), using_threads("auto"):
        pass
    assert seen == [4] and torch.get_num_threads() == 4


@pytest.mark.parametrize(("setting", "expected"), [(1, 1), (3, 3), (None, 4), ("auto", 2)])
def test_components_train_and_predict_with_the_number(
    setting: Any, expected: int, four_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    contention = Contention()
    contention.limit = 2
    monkeypatch.setattr(contention, "observe", lambda *_: None)
    monkeypatch.setattr(threads.process_threads, "contention", contention)
    nlp = initialized_nlp("tag", threads=setting)
    seen = []
    pipe = nlp.get_pipe("psa_tagger")
    network = pipe.model.get_ref("network").shims[0].network
    network.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    nlp.update(make_examples(nlp), sgd=make_adam())
    nlp("Two words")
    pipe.marginals([nlp.make_doc("Two words")])
    assert seen == [expected] * 3 and torch.get_num_threads() == 4


@pytest.mark.parametrize("wrong", [0, -1])
def test_less_than_one_thread_is_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match=r"\[P210\] .*threads"):
        initialized_nlp("tag", threads=wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_during_a_call_of_another_thread_uses_its_own_number(four_threads: None) -> None:
    """More threads than one would wait forever for those of the parent."""
    with ThreadPoolExecutor(1) as other:
        call = using_threads("auto")
        other.submit(call.__enter__).result()
        process = os.fork()
        if not process:
            torch.set_num_threads(1)
            with using_threads("auto"):
                inside = torch.get_num_threads()
            os._exit(0 if inside == torch.get_num_threads() == 1 else 1)
        other.submit(call.__exit__, None, None, None).result()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def test_a_number_that_a_thread_has_set_is_not_exceeded(four_threads: None) -> None:
    def numbers() -> tuple[int, int]:
        with using_threads("auto"):
            inside = torch.get_num_threads()
        return inside, torch.get_num_threads()

    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(2,)) as other:
        other.submit(torch.get_num_threads).result()
        for setting in ("auto", 3):
            with using_threads(setting):
                assert other.submit(numbers).result() == (2, 2)
    assert torch.get_num_threads() == 4


def test_a_number_that_a_thread_has_set_is_not_taken_for_that_of_another_call(
    four_threads: None,
) -> None:
    def numbers() -> tuple[int, int]:
        with using_threads("auto"):
            inside = torch.get_num_threads()
        return inside, torch.get_num_threads()

    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as other:
        assert other.submit(numbers).result() == (1, 1)
        torch.set_num_threads(4)
        with using_threads(1):  # the same number
            assert other.submit(numbers).result() == (1, 1)
    assert torch.get_num_threads() == 4
