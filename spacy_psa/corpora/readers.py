"""spaCy corpus readers for column formats."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors, Warnings, warn
from .docs import CHUNKS_KEY, make_docs
from .formats import FORMATS, Format, detect_format, get_format
from .pipes import is_pipe
from .problems import Problems

if TYPE_CHECKING:
    from spacy.language import Language

Reader = Callable[["Language"], Iterator[Example]]
__all__ = ["FORMATS", "ColumnCorpus", "Format", "check_n_sents", "detect_format", "get_format"]


class ColumnCorpus:
    """Stream Example objects from a corpus file, as `spacy.Corpus.v1` does from DocBins.

    In each Example, the predicted Doc has only the words, and the reference has the annotation.

    path (Optional[Path]): The file, optionally gzipped; for some formats, a folder.
    form (Format): Its format.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document, if the format marks
        documents.
    limit (int): The maximum number of Docs; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    lenient (bool): Whether to continue after problems, such as tags that the label scheme does not
        allow, instead of raising the first.
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
        self.form = form
        self.n_sents = n_sents
        self.limit = limit
        self.chunks_key = chunks_key
        self.lenient = lenient
        self.options = options

    def check(self) -> None:
        """Read the first sentence, to check that there is a corpus at the path.

        RAISES (ValueError): If the file cannot be read.
        """
        sentences = self.form.read(self.path, problems=Problems(self.lenient), **self.options)
        next(iter(sentences), None)

    def __call__(self, nlp: "Language") -> Iterator[Example]:
        """Stream the Examples.

        nlp (Language): The pipeline, for its vocabulary.
        YIELDS (Example): The Examples.
        RAISES (ValueError): If the file cannot be read.
        """
        problems = Problems(self.lenient)
        docs = make_docs(
            nlp.vocab,
            self.form.read(self.path, problems=problems, **self.options),
            n_sents=self.n_sents,
            chunks_key=self.chunks_key,
            path=self.path,
        )
        for reference in islice(docs, self.limit or None):
            words = [token.text for token in reference]
            spaces = None
            if not reference.has_unknown_spaces:
                spaces = [bool(token.whitespace_) for token in reference]
            yield Example(Doc(nlp.vocab, words=words, spaces=spaces), reference)
        if problems.total:
            warn(Warnings.W110.format(n=problems.total, example=problems.examples[0]))
        if problems.notes:
            notes = ", ".join(f"{what}: {n:,}" for what, n in problems.notes.items())
            warn(Warnings.W111.format(path=self.path, notes=notes))


def check_n_sents(n_sents: int, form: Format) -> None:
    """Check that sentences can be grouped as requested.

    n_sents (int): The number of sentences per Doc; 0 for documents.
    form (Format): The format.
    RAISES (ValueError): If it is negative, or 0 for a format without documents.
    """
    if n_sents < 0 or (n_sents == 0 and not form.has_documents):
        expected = "0 (whole documents) or more" if form.has_documents else "1 or more"
        raise ValueError(Errors.P118.format(n_sents=n_sents, expected=expected))


def create_conll2000_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    chunks_key: str = CHUNKS_KEY,
    scheme: str | None = None,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.CoNLL2000.v1`: read word, part of speech and chunk.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc.
    limit (int): The maximum number of Docs; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    scheme (Optional[str]): The label scheme of the chunks; None to read any.
    lenient (bool): Whether to warn about problems, such as tags that the label scheme does not
        allow, instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is below 1.
    """
    return ColumnCorpus(
        path,
        FORMATS["conll2000"],
        n_sents=n_sents,
        limit=limit,
        chunks_key=chunks_key,
        lenient=lenient,
        scheme=scheme,
    )


def create_conll2003_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    chunks_key: str = CHUNKS_KEY,
    scheme: str | None = None,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.CoNLL2003.v1`: read word, part of speech, chunk and named entity.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document, from one
        `-DOCSTART-` to the next.
    limit (int): The maximum number of Docs; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    scheme (Optional[str]): The label scheme of the entities; None to read any.
    lenient (bool): Whether to warn about problems, such as tags that the label scheme does not
        allow, instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(
        path,
        FORMATS["conll2003"],
        n_sents=n_sents,
        limit=limit,
        chunks_key=chunks_key,
        lenient=lenient,
        scheme=scheme,
    )


def create_conll2002_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    scheme: str | None = None,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.CoNLL2002.v1`: read word and named entity, with or without part of speech.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document, from one
        `-DOCSTART-` to the next.
    limit (int): The maximum number of Docs; 0 for no limit.
    scheme (Optional[str]): The label scheme of the entities; None to read any.
    lenient (bool): Whether to warn about problems, such as tags that the label scheme does not
        allow, instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(
        path,
        FORMATS["conll2002"],
        n_sents=n_sents,
        limit=limit,
        lenient=lenient,
        scheme=scheme,
    )


def create_iob_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    chunks_key: str = CHUNKS_KEY,
    word_column: int = 0,
    tag_column: int = -1,
    pos_column: int | None = None,
    layer: str = "ents",
    scheme: str | None = None,
    separator: str | None = None,
    comment: str | None = None,
    document_boundary: str | None = "-DOCSTART-",
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.IOB.v1`: read words and tags in any column order.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document, from one
        `-DOCSTART-` to the next.
    limit (int): The maximum number of Docs; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    word_column (int): The index of the word column, from 0; negative to count from the last.
    tag_column (int): The index of the tag column.
    pos_column (Optional[int]): The index of the part-of-speech column; None if there is none.
    layer (str): What the tags encode: "ents", "chunks" or "tags".
    scheme (Optional[str]): The label scheme of the tags; None to read any.
    separator (Optional[str]): The column separator, e.g. a tab; None for spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    document_boundary (Optional[str]): The first column of lines that start a document; None if
        there are none.
    lenient (bool): Whether to warn about problems, such as tags that the label scheme does not
        allow, instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(
        path,
        FORMATS["iob"],
        n_sents=n_sents,
        limit=limit,
        chunks_key=chunks_key,
        lenient=lenient,
        word_column=word_column,
        tag_column=tag_column,
        pos_column=pos_column,
        layer=layer,
        scheme=scheme,
        separator=separator,
        comment=comment,
        document_boundary=document_boundary,
    )


def create_tagged_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    word_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    comment: str | None = None,
    joined_by: str | None = None,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.Tagged.v1`: read words and their tags.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc.
    limit (int): The maximum number of Docs; 0 for no limit.
    word_column (int): The index of the word column, from 0; negative to count from the last.
    tag_column (int): The index of the tag column.
    separator (Optional[str]): The column separator, e.g. a tab; None for spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    joined_by (Optional[str]): The separator between word and tag in files with one sentence per
        line, e.g. "/" for `The/at jury/nn`; None for columns.
    lenient (bool): Whether to warn about problems, such as tags that the label scheme does not
        allow, instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is below 1.
    """
    return ColumnCorpus(
        path,
        FORMATS["tagged"],
        n_sents=n_sents,
        limit=limit,
        lenient=lenient,
        word_column=word_column,
        tag_column=tag_column,
        separator=separator,
        comment=comment,
        joined_by=joined_by,
    )


def create_conllu_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    spaces: bool = True,
    ents_column: str | None = None,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.CoNLLU.v1`: read Universal Dependencies, without the dependencies.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document, from one `# newdoc`
        to the next.
    limit (int): The maximum number of Docs; 0 for no limit.
    spaces (bool): Whether to keep the file's whitespace information.
    ents_column (Optional[str]): The name of the column of entity tags; None for one whose name has
        a part such as NE (`NE:CLASS`), or else MISC.
    lenient (bool): Whether to warn about problems, such as tags that the label scheme does not
        allow, instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(
        path,
        FORMATS["conllu"],
        n_sents=n_sents,
        limit=limit,
        lenient=lenient,
        spaces=spaces,
        ents_column=ents_column,
    )
