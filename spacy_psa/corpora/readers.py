"""spaCy's corpus readers for the formats."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors, Warnings, warn
from .docs import CHUNKS_KEY, make_docs
from .formats import FORMATS, Format, detect_format, get_format
from .problems import Problems

if TYPE_CHECKING:
    from spacy.language import Language

Reader = Callable[["Language"], Iterator[Example]]
__all__ = ["FORMATS", "ColumnCorpus", "Format", "check_n_sents", "detect_format", "get_format"]


class ColumnCorpus:
    """Iterate Example objects from a corpus file, as `spacy.Corpus.v1` does from DocBins.

    The predicted Doc of each Example has the words alone, the reference the annotation.

    path (Optional[Path]): The file, plain or compressed by gzip; for some formats a folder.
    form (Format): Its format.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, if the format
        has them.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    lenient (bool): Read on after problems, such as tags that the scheme does not allow, rather
        than raise the first.
    options: Options of the format.
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
        lenient: bool = False,
        **options: Any,
    ) -> None:
        if path is None:
            raise ValueError(Errors.P108)
        check_n_sents(n_sents, form)
        self.path = Path(path)
        self.form = form
        self.n_sents = n_sents
        self.limit = limit
        self.chunks_key = chunks_key
        self.lenient = lenient
        self.options = options

    def check(self) -> None:
        """Read the first sentence, to see that there is a corpus at the path.

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
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    chunks_key: str = CHUNKS_KEY,
    scheme: str | None = None,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.CoNLL2000.v1`: read word, part of speech and chunk.

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    scheme (Optional[str]): The scheme of the chunks; None to read any.
    lenient (bool): Warn of problems, such as tags that the scheme does not allow, rather than raise
        the first.
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

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, that is from
        one `-DOCSTART-` to the next.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    scheme (Optional[str]): The scheme of the entities; None to read any.
    lenient (bool): Warn of problems, such as tags that the scheme does not allow, rather than raise
        the first.
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

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, that is from
        one `-DOCSTART-` to the next.
    limit (int): The number of Docs to stop after; 0 for no limit.
    scheme (Optional[str]): The scheme of the entities; None to read any.
    lenient (bool): Warn of problems, such as tags that the scheme does not allow, rather than raise
        the first.
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
    """`spacy_psa.IOB.v1`: read words and tags in columns of any order.

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, that is from
        one `-DOCSTART-` to the next.
    limit (int): The number of Docs to stop after; 0 for no limit.
    chunks_key (str): The key of the chunks in `doc.spans`.
    word_column (int): Which column is the word, from 0; from -1 counted from the last one.
    tag_column (int): Which column is the tag.
    pos_column (Optional[int]): Which column is the part of speech; None if there is none.
    layer (str): What the tags are: "ents", "chunks" or "tags".
    scheme (Optional[str]): The scheme of the tags; None to read any.
    separator (Optional[str]): What parts the columns, such as a tab; None for blanks and tabs.
    comment (Optional[str]): Leave out lines that start with this; None if there are none.
    document_boundary (Optional[str]): The first column of lines that start a document; None if
        there are none.
    lenient (bool): Warn of problems, such as tags that the scheme does not allow, rather than raise
        the first.
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

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc.
    limit (int): The number of Docs to stop after; 0 for no limit.
    word_column (int): Which column is the word, from 0; from -1 counted from the last one.
    tag_column (int): Which column is the tag.
    separator (Optional[str]): What parts the columns, such as a tab; None for blanks and tabs.
    comment (Optional[str]): Leave out lines that start with this; None if there are none.
    joined_by (Optional[str]): What joins word and tag in files with a sentence in each line, such
        as "/" for `The/at jury/nn`; None for columns.
    lenient (bool): Warn of problems, such as tags that the scheme does not allow, rather than raise
        the first.
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
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.CoNLLU.v1`: read Universal Dependencies, without the dependencies.

    path (Optional[Path]): The file, plain or compressed by gzip.
    n_sents (int): The number of sentences in a Doc; 0 for one Doc of each document, that is from
        one `# newdoc` to the next.
    limit (int): The number of Docs to stop after; 0 for no limit.
    spaces (bool): Whether to keep what the file tells of white space between words.
    lenient (bool): Warn of problems, such as tags that the scheme does not allow, rather than raise
        the first.
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
    )
