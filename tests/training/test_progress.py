"""The progress bar of a training run."""

from __future__ import annotations

import io
from typing import Any

import pytest

from spacy_psa.training.progress import Progress, epoch_length


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """RETURNS (bool): True."""
        return True


def draw(progress: Progress, stream: Terminal) -> str:
    """The current text of the bar."""
    with progress.hidden():
        stream.seek(0)
        stream.truncate()
    return stream.getvalue()


def go(progress: Progress, n: int, *, trained: bool = True) -> None:
    for _ in range(n):
        progress.step(trained=trained)


def info(step: int, epoch: int, **more: Any) -> dict[str, Any]:
    return {"step": step, "epoch": epoch, **more}


def test_the_bar_of_a_run_ends_at_max_steps() -> None:
    stream = Terminal()
    progress = Progress("run", stream, max_steps=20, max_epochs=0)
    go(progress, 5)
    assert "5/20" in draw(progress, stream)
    progress.close()


def test_speed_is_shown_in_sentences() -> None:
    stream = Terminal()
    progress = Progress("run", stream, max_steps=20, max_epochs=0)
    go(progress, 5)
    progress.show(12.3)
    assert "12 sentences/s" in draw(progress, stream)
    progress.close()


def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    progress = Progress("run", stream, max_steps=20, max_epochs=0)
    go(progress, 5)
    progress.show(3.0)
    with progress.hidden():
        pass
    progress.close()
    assert stream.getvalue() == ""


def test_nothing_is_drawn_without_a_scope() -> None:
    stream = Terminal()
    progress = Progress(None, stream, max_steps=20, max_epochs=0)
    go(progress, 5)
    progress.evaluated(info(4, 0))
    progress.close()
    assert stream.getvalue() == ""


def test_the_share_of_an_epoch_tells_where_the_epochs_end() -> None:
    stream = Terminal()
    progress = Progress("run", stream, max_steps=0, max_epochs=3)
    go(progress, 1)
    assert "/" not in draw(progress, stream).split("[")[0]
    progress.evaluated(info(0, 0, epochs=0.25))
    assert "1/12" in draw(progress, stream)
    progress.close()


def test_evaluations_tell_where_the_epochs_end() -> None:
    stream = Terminal()
    progress = Progress("run", stream, max_steps=0, max_epochs=3)
    go(progress, 9)
    for step in (0, 4, 8):
        progress.evaluated(info(step, step // 4))
    assert "9/12" in draw(progress, stream)
    progress.close()


def test_the_smaller_limit_counts() -> None:
    stream = Terminal()
    progress = Progress("run", stream, max_steps=7, max_epochs=3)
    progress.evaluated(info(0, 0, epochs=0.25))
    assert "0/7" in draw(progress, stream)
    progress.close()


def test_the_bar_of_an_epoch_begins_anew() -> None:
    stream = Terminal()
    progress = Progress("epoch", stream, max_steps=0, max_epochs=3)
    go(progress, 1)
    progress.evaluated(info(0, 0, epochs=0.25))
    assert "epoch 1" in draw(progress, stream)
    assert "1/4" in draw(progress, stream)
    go(progress, 5)
    assert "epoch 2" in draw(progress, stream)
    assert "2/4" in draw(progress, stream)
    progress.close()


def test_steps_of_an_earlier_process_do_not_count_for_the_time_left() -> None:
    stream = Terminal()
    progress = Progress("run", stream, max_steps=1000, max_epochs=0)
    go(progress, 900, trained=False)
    assert "900/1000" in draw(progress, stream)
    assert "<?" in draw(progress, stream)
    progress.close()


@pytest.mark.parametrize("length", [4, 7, 10])
def test_evaluations_on_the_first_step_of_epochs_give_the_exact_length(length: int) -> None:
    assert epoch_length([(e * length, e) for e in range(4)]) == length


def test_evaluations_anywhere_give_about_the_length() -> None:
    evaluations = [(step, step // 70) for step in range(0, 700, 13)]
    assert epoch_length(evaluations) == pytest.approx(70, rel=0.02)


def test_one_epoch_does_not_tell_its_length() -> None:
    assert epoch_length([(0, 0), (5, 0)]) is None
