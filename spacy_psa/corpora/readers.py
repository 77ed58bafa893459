"""The formats by name, and spaCy's corpus readers for them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from . import conll2000, conll2003
from .columns import read_columns
from .docs import CHUNKS_KEY, make_docs
from .sentence import Sentence

if TYPE_CHECKING:
    from spacy.language import Language


@dataclass(frozen=True)
class Format:
    """A format of corpora.

    columns (Tuple[str, ...]): The names of its columns.
    read (Callable[[Path], Iterator[Sentence]]): Streams the sentences of a file.
    has_documents (bool): Whether it marks the boundaries of documents.
    """

    columns: tuple[str, ...]
    read: Callable[[Path], Iterator[Sentence]]
    has_documents: bool


FORMATS: dict[str, Format] = {
    "conll2000": Format(conll2000.COLUMNS, conll2000.read_conll2000, has_documents=False),
    "conll2003": Format(conll2003.COLUMNS, conll2003.read_conll2003, has_documents=True),
}


def get_format(name: str) -> Format:
    """Look up a format by its name.

    name (str): A name in `FORMATS`.
    RETURNS (Format): The format.
    RAISES (ValueError): If there is none of that name.
    """
    if name not in FORMATS:
        raise ValueError(Errors.P119.format(name=name, options=", ".join(FORMATS)))
    return FORMATS[name]


def detect_format(path: Path) -> str:
    """Tell the format of a file by the number of columns in its first line.

    path (Path): The file.
    RETURNS (str): The name of the format.
    RAISES (ValueError): If the file cannot be read, or if no format has that many columns.
    """
    line, columns = next(read_columns(path))[0]
    for name, form in FORMATS.items():
        if len(form.columns) == len(columns):
            return name
    known = "; ".join(f"{name} ({', '.join(form.columns)})" for name, form in FORMATS.items())
    raise ValueError(Errors.P117.format(path=path, line=line, found=len(columns), formats=known))


class ColumnCorpus:
    """Iterate Example objects from a column file, as `spacy.Corpus.v1` does from DocBins.

    The predicted Doc of each Example has the words alone, the reference the annotation.

    path (Optional[Path]): The file, plain or compressed by gzip.
    form (Format): Its format.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, if the format
        has them.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    RAISES (ValueError): If there is no path, or if `n_sents` does not suit the format.
    """

    def __init__(
        self,
        path: str | Path | None,
        form: Format,
        *,
        n_sents: int = 1,
        limit: int = 0,
        chunks_key: str = CHUNKS_KEY,
    ) -> None:
        if path is None:
            raise ValueError(Errors.P108)
        check_n_sents(n_sents, form)
        self.path = Path(path)
        self.form = form
        self.n_sents = n_sents
        self.limit = limit
        self.chunks_key = chunks_key

    def __call__(self, nlp: "Language") -> Iterator[Example]:
        """Stream the Examples.

        nlp (Language): The pipeline, for its vocabulary.
        YIELDS (Example): The Examples.
        RAISES (ValueError): If the file cannot be read.
        """
        docs = make_docs(
            nlp.vocab,
            self.form.read(self.path),
            n_sents=self.n_sents,
            chunks_key=self.chunks_key,
        )
        for reference in islice(docs, self.limit or None):
            words = [token.text for token in reference]
            yield Example(Doc(nlp.vocab, words=words), reference)


def check_n_sents(n_sents: int, form: Format) -> None:
    """Check that sentences can be grouped as wanted.

    n_sents (int): The number of sentences in a Doc; 0 for documents.
    form (Format): The format.
    RAISES (ValueError): If it is negative, or is 0 for a format without documents.
    """
    if n_sents < 0 or (n_sents == 0 and not form.has_documents):
        expected = "0 (whole documents) or more" if form.has_documents else "1 or more"
        raise ValueError(Errors.P118.format(n_sents=n_sents, expected=expected))


def create_conll2000_reader(
    path: Path | None, *, n_sents: int = 1, limit: int = 0, chunks_key: str = CHUNKS_KEY
) -> Callable[["Language"], Iterator[Example]]:
    """`spacy_psa.CoNLL2000.v1`: read word, part of speech and chunk.

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is below 1.
    """
    return ColumnCorpus(
        path, FORMATS["conll2000"], n_sents=n_sents, limit=limit, chunks_key=chunks_key
    )


def create_conll2003_reader(
    path: Path | None, *, n_sents: int = 1, limit: int = 0, chunks_key: str = CHUNKS_KEY
) -> Callable[["Language"], Iterator[Example]]:
    """`spacy_psa.CoNLL2003.v1`: read word, part of speech, chunk and named entity.

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, that is from
        one `-DOCSTART-` to the next.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(
        path, FORMATS["conll2003"], n_sents=n_sents, limit=limit, chunks_key=chunks_key
    )
