"""Train stanza's or flair's tagger on a cell of the recipes' benchmark.

Each is trained by its own training script, with its own defaults, until it stops by itself, on the
same sentences and vectors as the other systems (`pip install --group peers`). The pretrained
language models of characters that both can use in addition are left out, as for all systems; flair
reads characters by a BiLSTM instead, of the size of stanza's.
"""

from collections.abc import Callable, Sequence

from spacy.tokens import Doc
from spacy.training import Example

from . import recipes_flair, recipes_stanza
from .recipes_training import Annotate, Training

# What trains each toolkit: returned are what annotates sentences, and the number of updates.
PEERS: dict[str, Callable[[Training], tuple[Annotate, int]]] = {
    "stanza": recipes_stanza.train,
    "flair": recipes_flair.train,
}


def predicted(annotate: Annotate, docs: Sequence[Doc]) -> list[Example]:
    """RETURNS (List[Example]): Sentences as annotated by a toolkit, and as they are."""
    blank = [Doc(doc.vocab, words=[token.text for token in doc]) for doc in docs]
    annotate(blank)
    return [Example(*pair) for pair in zip(blank, docs, strict=True)]
