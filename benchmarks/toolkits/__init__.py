"""Other toolkits with a BiLSTM-CRF, for `benchmarks.components`: those that are installed.

Each gets the network that is compared: words of 100, characters of 30 read by a BiLSTM of 50 in
each direction, a BiLSTM, a CRF over BIOES tags. It is trained and tags by its own code, in the way
that its own training and its own pipeline call it.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from spacy.tokens import Doc

from ..pipelines import Contender

# A toolkit is a package of that name, and a module here of the same name with `_tagger`
TOOLKITS = ("stanza", "flair")
CHARACTER_WIDTH, CHARACTER_HIDDEN = 30, 50
WORD_WIDTH = 100
DROPOUT = 0.5


def installed() -> tuple[str, ...]:
    """RETURNS (Tuple[str, ...]): The toolkits that are there."""
    return tuple(name for name in TOOLKITS if find_spec(name) is not None)


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
