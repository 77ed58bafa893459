"""spaCy corpora: Example objects from files in any format, and with given predicates."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from ..annotation.propositions import PREDICATE_LABEL, get_frames, give_predicates, has_frames
from ..errors import Errors, Warnings, warn
from .docbins import CHUNKS_KEY
from .docs import make_docs
from .formats import Format
from .lines import is_pipe
from .problems import Problems

Reader = Callable[[Language], Iterator[Example]]


class ColumnCorpus:
    """Stream Example objects from a corpus file, as `spacy.Corpus.v1` does from DocBins.

    In each Example, the predicted Doc has only the words, and the reference has the annotation.

    path (Optional[Path]): The file, optionally gzipped; for some formats, a folder.
    form (Format): Its format.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document, if the format marks
        documents.
    limit (int): The maximum number of Docs; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    lenient (bool): Whether to continue after problems in the data instead of raising the first.
    options: Options of the format.
    RAISES (ValueError): If there is no path, it is a pipe, or `n_sents` is not valid for the
        format.
    """

    def __init__(
        self,
        path: str | Path | None,
        form: Format,
        *,
        n_sents: int = 1,
        limit: int = 0,
        chunks_key: str = CHUNKS_KEY,
        lenient: bool = False,
        **options: Any,
    ) -> None:
        if path is None:
            raise ValueError(Errors.P108)
        if is_pipe(Path(path)):
            raise ValueError(Errors.P166.format(path=path))
        check_n_sents(n_sents, form)
        self.path = Path(path)
        self.form, self.n_sents, self.limit = form, n_sents, limit
        self.chunks_key, self.lenient, self.options = chunks_key, lenient, options
        self._told: set[str] = set()

    def check(self) -> None:
        """Read the first sentence, to check that there is a corpus at the path."""
        sentences = self.form.read(self.path, problems=Problems(self.lenient), **self.options)
        next(iter(sentences), None)

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Stream the Examples."""
        problems = Problems(self.lenient)
        options = self.options
        if "lang" in options:
            options = {**options, "lang": options["lang"] or nlp.lang}
        docs = make_docs(
            nlp.vocab,
            self.form.read(self.path, problems=problems, **options),
            n_sents=self.n_sents,
            chunks_key=self.chunks_key,
            path=self.path,
        )
        # Closed before the notes are read: readers take some at the end, whatever the limit.
        with closing(docs):
            for reference in islice(docs, self.limit or None):
                words = [token.text for token in reference]
                spaces = None
                if not reference.has_unknown_spaces:
                    spaces = [bool(token.whitespace_) for token in reference]
                yield Example(Doc(nlp.vocab, words=words, spaces=spaces), reference)
        found = []
        if problems.total:
            found.append(Warnings.W110.format(n=problems.total, example=problems.examples[0]))
        if problems.notes:
            notes = ", ".join(f"{what}: {n:,}" for what, n in problems.notes.items())
            found.append(Warnings.W111.format(path=self.path, notes=notes))
        for message in found:
            if message not in self._told:  # spaCy reads a corpus several times
                self._told.add(message)
                warn(message)


def check_n_sents(n_sents: int, form: Format) -> None:
    """Check that sentences can be grouped as requested."""
    if n_sents < 0 or (n_sents == 0 and not form.has_documents):
        expected = "0 (whole documents) or more" if form.has_documents else "1 or more"
        raise ValueError(Errors.P118.format(n_sents=n_sents, expected=expected))


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
        self.corpus, self.give_predicates = corpus, give_predicates
        self.spans_key, self.senses = spans_key, senses

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
