"""Training data for semantic roles: gold predicates as input, or as spans to train a tagger on."""

from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.tokens import Span, SpanGroup
from spacy.training import Example

from ..annotation.propositions import PREDICATE_LABEL, get_frames, give_predicates, has_frames

Reader = Callable[[Language], Iterator[Example]]


class FrameCorpus:
    """A corpus with given predicates, as in the shared tasks.

    corpus (Reader): Any other corpus reader, e.g. `spacy.Corpus.v1`.
    give_predicates (bool): Whether to copy the annotated predicates, and nothing else, to the
        predicted Docs. This is what `spacy_psa.GivenPredicates.v1` reads.
    spans_key (Optional[str]): The key in `doc.spans` for the predicates as spans of the annotated
        Docs, on which a `psa_tagger` can be trained; None to leave them out.
    senses (bool): Whether to label these spans with the sense. Otherwise, and for predicates
        without a sense, the label is V.
    """

    def __init__(
        self, corpus: Reader, *, give_predicates: bool, spans_key: str | None, senses: bool
    ) -> None:
        self.corpus = corpus
        self.give_predicates = give_predicates
        self.spans_key = spans_key
        self.senses = senses

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Read the corpus."""
        for example in self.corpus(nlp):
            if has_frames(example.reference):
                self._mark(example)
            yield example

    def _mark(self, example: Example) -> None:
        frames = get_frames(example.reference)
        if self.give_predicates:
            give_predicates(example.predicted, frames, example)
        if self.spans_key is not None:
            doc = example.reference
            spans = []
            for frame in sorted(frames, key=lambda frame: frame.predicate):
                label = (frame.sense if self.senses else None) or PREDICATE_LABEL
                spans.append(Span(doc, frame.predicate, frame.predicate + 1, label))
            doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=spans)


def create_frame_corpus(
    corpus: Reader,
    give_predicates: bool = True,
    spans_key: str | None = None,
    senses: bool = False,
) -> Reader:
    """`spacy_psa.FrameCorpus.v1`: provide the gold predicates of another corpus.

    corpus (Callable[[Language], Iterator[Example]]): The corpus reader.
    give_predicates (bool): Whether to copy the annotated predicates to the predicted Docs.
    spans_key (Optional[str]): The key in `doc.spans` for the predicates as spans of the annotated
        Docs, e.g. "predicates".
    senses (bool): Whether to label these spans with the sense, if it is known.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    """
    return FrameCorpus(corpus, give_predicates=give_predicates, spans_key=spans_key, senses=senses)
