"""Other toolkits with a BiLSTM-CRF, for `benchmarks.components`: those that are installed.

Each gets the network that is compared: words of 100, characters of 30 read by a BiLSTM of 50 in
each direction, a BiLSTM, a CRF over BIOES tags. It is trained and tags by its own code, in the way
that its own training and its own pipeline call it. NCRF++ is no package: its checkout is available
by `PYTHONPATH=path/to/NCRFpp`, see `ncrfpp_tagger`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from ..pipelines import Contender, portions

# The module that shows that a toolkit is there; a module here has its name with `_tagger`
TOOLKITS = {"stanza": "stanza", "flair": "flair", "ncrfpp": "model.seqlabel"}
CHARACTER_WIDTH, CHARACTER_HIDDEN = 30, 50
WORD_WIDTH = 100
DROPOUT = 0.5


def installed() -> tuple[str, ...]:
    """RETURNS (Tuple[str, ...]): The toolkits that are there."""
    return tuple(name for name, module in TOOLKITS.items() if _is_there(module))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # So it is where a parent is not there
        return False


def versions() -> dict[str, str]:
    """RETURNS (Dict[str, str]): The versions of toolkits that are there, of those that have one."""
    found = {}
    for name in installed():
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def make_toolkit(name: str, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> Contender:
    """The tagger of a toolkit, not trained.

    name (str): One of `TOOLKITS`.
    docs (Sequence[Doc]): What it will be trained on, with `token.tag_` in BILUO and `doc.ents`.
    vectors (Optional[Path]): Folder of a pipeline with vectors; None for words that are learnt.
    hidden (int): Width of the BiLSTM, both directions together.
    RETURNS (Contender): It.
    """
    made: Contender = import_module(f".{name}_tagger", __package__).make(docs, vectors, hidden)
    return made


def bioes(doc: Doc) -> list[str]:
    """The tags of a sentence, as other toolkits write them.

    doc (Doc): A sentence with `token.tag_` in BILUO.
    RETURNS (List[str]): Tags in BIOES.
    """
    letters = {"L": "E", "U": "S"}
    return [letters.get(token.tag_[0], token.tag_[0]) + token.tag_[1:] for token in doc]


class ToolkitTagger(ABC):
    """The tagger of a toolkit, as a `Contender`."""

    @abstractmethod
    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` sentences."""

    @abstractmethod
    def tag(self, sentences: Sequence[Sequence[str]]) -> Any:
        """Do what a user of the toolkit does.

        sentences (Sequence[Sequence[str]]): Words.
        RETURNS (Any): What the toolkit makes of them.
        """

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """What is timed of tagging, from words to what the toolkit makes of them."""
        next_words = portions(docs, portion)

        def tag() -> None:
            sentences = next_words()
            for some in [sentences] if whole else [[words] for words in sentences]:
                self.tag(some)

        return tag
