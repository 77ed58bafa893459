"""BiLSTM-CRF taggers of other toolkits for `benchmarks.components`, if they are installed.

All have the same network: 100-dimensional word embeddings, 30-dimensional character embeddings read
by a BiLSTM with 50 units in each direction, a BiLSTM, and a CRF over BIOES tags. Each trains and
tags with its own code, called as in its own training script and pipeline. NCRF++ is not a package:
put its checkout on the path with `PYTHONPATH=path/to/NCRFpp`. See `ncrfpp_tagger`.
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

# A module that exists if a toolkit is installed. Our wrapper is the module `<name>_tagger`
TOOLKITS = {"stanza": "stanza", "flair": "flair", "ncrfpp": "model.seqlabel"}
CHARACTER_WIDTH, CHARACTER_HIDDEN = 30, 50
WORD_WIDTH = 100
DROPOUT = 0.5


def installed() -> tuple[str, ...]:
    """RETURNS (Tuple[str, ...]): The installed toolkits."""
    return tuple(name for name, module in TOOLKITS.items() if _is_there(module))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # Raised if a parent package is missing
        return False


def versions() -> dict[str, str]:
    """RETURNS (Dict[str, str]): The versions of the installed toolkits that have one."""
    found = {}
    for name in installed():
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def make_toolkit(name: str, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> Contender:
    """Make the untrained tagger of a toolkit.

    name (str): One of `TOOLKITS`.
    docs (Sequence[Doc]): The training data, with `token.tag_` in BILUO and `doc.ents`.
    vectors (Optional[Path]): A pipeline with pretrained vectors; None to learn word embeddings from
        scratch.
    hidden (int): The width of the BiLSTM, both directions together.
    RETURNS (Contender): The tagger.
    """
    made: Contender = import_module(f".{name}_tagger", __package__).make(docs, vectors, hidden)
    return made


def bioes(doc: Doc) -> list[str]:
    """Convert the tags of a sentence to BIOES, as used by other toolkits.

    doc (Doc): A sentence with `token.tag_` in BILUO.
    RETURNS (List[str]): The tags in BIOES.
    """
    letters = {"L": "E", "U": "S"}
    return [letters.get(token.tag_[0], token.tag_[0]) + token.tag_[1:] for token in doc]


class ToolkitTagger(ABC):
    """The base class of toolkit taggers, a `Contender`."""

    @abstractmethod
    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` sentences."""

    @abstractmethod
    def tag(self, sentences: Sequence[Sequence[str]]) -> Any:
        """Tag sentences as a user of the toolkit does.

        sentences (Sequence[Sequence[str]]): The words of each sentence.
        RETURNS (Any): The toolkit's output.
        """

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """Make the function that is timed for tagging, from words to the toolkit's output."""
        next_words = portions(docs, portion)

        def tag() -> None:
            sentences = next_words()
            for some in [sentences] if whole else [[words] for words in sentences]:
                self.tag(some)

        return tag
