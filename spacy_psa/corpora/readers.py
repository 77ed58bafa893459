"""spaCy corpus readers for column formats, and for texts with spans from annotation tools."""

from pathlib import Path

from .corpus import ColumnCorpus, Reader
from .docbins import CHUNKS_KEY
from .formats import FORMATS


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
    scheme (Optional[str]): The label scheme of the chunks; None for the one that fits most.
    lenient (bool): Whether to warn about problems instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is below 1.
    """
    return ColumnCorpus(form=FORMATS["conll2000"], **locals())


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
    scheme (Optional[str]): The label scheme of the entities; None for the one that fits most.
    lenient (bool): Whether to warn about problems instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["conll2003"], **locals())


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
    scheme (Optional[str]): The label scheme of the entities; None for the one that fits most.
    lenient (bool): Whether to warn about problems instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["conll2002"], **locals())


def create_iob_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    chunks_key: str = CHUNKS_KEY,
    word_column: int = 0,
    tag_column: int = -1,
    pos_column: int | None = None,
    chunk_column: int | None = None,
    lemma_column: int | None = None,
    space_column: int | None = None,
    layer: str = "ents",
    scheme: str | None = None,
    label: str | None = None,
    prefixes: bool = True,
    separator: str | None = None,
    comment: str | None = None,
    header: bool = False,
    joined_by: str | None = None,
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
    chunk_column (Optional[int]): The index of the column of chunks, if `layer` is another one.
    lemma_column (Optional[int]): The index of the lemma column.
    space_column (Optional[int]): The index of a column of + (whitespace follows) and -.
    layer (str): What the tags encode: "ents", "chunks" or "tags".
    scheme (Optional[str]): The label scheme of the tags; None for the one that fits most.
    label (Optional[str]): The label of tags without one: B, I and O.
    prefixes (bool): Whether tags have prefixes such as B-. If not, a tag is O or a label.
    separator (Optional[str]): The column separator, e.g. a tab; None for spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    header (bool): Whether the first line has the names of the columns.
    joined_by (Optional[str]): What joins the columns of a token, e.g. "|", in files with one
        sentence per line; None for columns.
    document_boundary (Optional[str]): The first column of lines that start a document.
    lenient (bool): Whether to warn about problems instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["iob"], **locals())


def create_tagged_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    word_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    comment: str | None = None,
    header: bool = False,
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
    header (bool): Whether the first line has the names of the columns.
    joined_by (Optional[str]): What joins word and tag, e.g. "/", in files with one sentence per
        line; None for columns.
    lenient (bool): Whether to warn about problems instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is below 1.
    """
    return ColumnCorpus(form=FORMATS["tagged"], **locals())


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
    lenient (bool): Whether to warn about problems instead of raising the first.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["conllu"], **locals())


def create_offsets_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    chunks_key: str = CHUNKS_KEY,
    layer: str = "ents",
    alignment_mode: str = "strict",
    units: str = "codepoints",
    lang: str | None = None,
    tokens: bool = True,
    text_key: str = "text",
    predictions: bool = False,
    lenient: bool = False,
) -> Reader:
    """`spacy_psa.Offsets.v1`: read texts with spans as Prodigy, doccano and Label Studio export
    them.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): Without effect here, since each text is a document.
    limit (int): The maximum number of Docs; 0 for no limit.
    chunks_key (str): The key of the spans in `doc.spans`, for the layer "chunks".
    layer (str): What the spans are: "ents", "chunks" or "tags".
    alignment_mode (str): What to do with spans that do not begin and end with tokens: "strict" to
        report them, "contract" or "expand" to move them.
    units (str): What offsets count: "codepoints", or "utf16" as in JavaScript.
    lang (Optional[str]): The language whose tokenizer is used; None for that of the pipeline.
    tokens (bool): Whether to use the tokens in the file, where it has them.
    text_key (str): The key of the text.
    predictions (bool): Whether to read the predictions of texts that are not annotated.
    lenient (bool): Whether to leave out spans that cannot be read and warn of them, instead of
        raising the first problem.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["offsets"], **locals())
