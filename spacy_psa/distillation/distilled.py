"""`spacy_psa.DistilledCorpus.v1`: examples with what teachers say of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import check_value
from ..pipeline.teaching import teach
from .blocks_on_disk import read_items, read_manifest


def create_distilled_corpus(
    path: Path, gold: float = 0.5
) -> Callable[[Language], Iterator[Example]]:
    """Read Docs with teachers' probabilities, as `psa distill` has written them. Docs with
    annotation are learned from both.

    path (Path): The folder.
    gold (float): The share of the annotation in the loss of annotated sentences, from 0 to 1.
        Sentences without annotation are learned from the teachers alone.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus.
    RAISES (ValueError): If `gold` is out of range.
    """
    check_value("gold", gold, lambda share: 0.0 <= share <= 1.0, "from 0 to 1")

    def read(nlp: Language) -> Iterator[Example]:
        name = read_manifest(Path(path))["info"].get("component", "")
        for doc, said in read_items(Path(path), nlp.vocab, gold):
            words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
            if said is not None:
                teach(doc, name, said)
            yield Example(Doc(nlp.vocab, words=words, spaces=spaces), doc)

    return read
