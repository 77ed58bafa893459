"""What another toolkit is given to train a cell of the recipes' benchmark, and when to end."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import spacy
from spacy.tokens import Doc
from thinc.util import to_numpy

# Adds what was learned to Docs
Annotate = Callable[[Sequence[Doc]], None]


class Limit:
    """A context that ends when time is up, as Ctrl+C ends it, without an error.

    processor (float): The seconds of processor time.
    wall (float): The seconds.
    """

    def __init__(self, processor: float, wall: float) -> None:
        self.seconds = {
            signal.SIGPROF: (signal.ITIMER_PROF, processor),
            signal.SIGALRM: (signal.ITIMER_REAL, wall),
        }
        # What was up, if anything
        self.caught: int | None = None

    def __enter__(self) -> None:
        for number, (timer, seconds) in self.seconds.items():
            signal.signal(number, self._interrupt)
            signal.setitimer(timer, max(seconds, 1e-6))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for number, (timer, _seconds) in self.seconds.items():
            signal.setitimer(timer, 0.0)
            signal.signal(number, signal.SIG_DFL)
        return kind is KeyboardInterrupt and self.caught is not None

    def _interrupt(self, number: int, _: object) -> None:
        self.caught = self.caught or number
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Training:
    """One training.

    train (Sequence[Doc]): The training sentences.
    dev (Sequence[Doc]): Those to choose the best epoch by.
    tags (bool): Whether to learn the tags of tokens, not entities.
    vectors (Optional[Path]): A pipeline with vectors, if there are any.
    lang (str): The language.
    seed (int): The seed.
    folder (Path): For the toolkit's files.
    limit (Limit): When to end with the best model so far.
    """

    train: Sequence[Doc]
    dev: Sequence[Doc]
    tags: bool
    vectors: Path | None
    lang: str
    seed: int
    folder: Path
    limit: Limit


def lower_case(vectors: Path) -> list[tuple[str, list[float]]]:
    """RETURNS (List[Tuple[str, List[float]]]): The words in lower case of a pipeline's vectors, and
    their vectors: both toolkits look words up without case."""
    vocab = spacy.load(vectors).vocab
    words = (vocab.strings[key] for key in vocab.vectors)
    return [
        (word, to_numpy(vocab.vectors[word]).tolist())
        for word in words
        if word == word.lower() and not any(character.isspace() for character in word)
    ]
