"""spaCy corpus readers for files with propositions, and for treebanks."""

from collections.abc import Sequence
from pathlib import Path

from .corpus import ColumnCorpus, FrameCorpus, Reader
from .formats import FORMATS


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


def create_conll2005_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    lenient: bool = False,
    target_column: int | None = None,
) -> Reader:
    """`spacy_psa.CoNLL2005.v1`: read words and propositions.

    path (Optional[Path]): One of the files `train.words` and `train.props`, their common prefix, a
        folder of such files, or a file with words and propositions in columns.
    n_sents (int): The number of sentences per Doc.
    limit (int): The maximum number of Docs; 0 for no limit.
    lenient (bool): Whether to continue after problems instead of raising the first.
    target_column (Optional[int]): In a file with words and propositions, the column of the target
        verbs, from 0; None to detect it.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is below 1.
    """
    return ColumnCorpus(form=FORMATS["conll2005"], **locals())


def create_conll2012_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    lenient: bool = False,
    unescape: bool = False,
) -> Reader:
    """`spacy_psa.CoNLL2012.v1`: read tags, lemmas, entities, semantic roles and speakers.

    path (Optional[Path]): The file, optionally gzipped.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document part.
    limit (int): The maximum number of Docs; 0 for no limit.
    lenient (bool): Whether to continue after problems instead of raising the first.
    unescape (bool): Whether to replace `/.` by `.`, `-LRB-` by `(`, etc.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["conll2012"], **locals())


def create_ptb_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    sections: str | int | None = None,
    split: str | None = None,
    kind: str | None = None,
    unescape: bool = False,
) -> Reader:
    """`spacy_psa.PTB.v1`: read the parts of speech of the Penn Treebank.

    path (Optional[Path]): The folder with the sections, or a file.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document.
    limit (int): The maximum number of Docs; 0 for no limit.
    sections (Optional[Union[str, int]]): The sections to read from the folder, e.g. "0-18".
    split (Optional[str]): Alternatively, "train" (0-18), "dev" (19-21) or "test" (22-24).
    kind (Optional[str]): "mrg", "pos" or "prd"; None for trees with tags, if there are any.
    unescape (bool): Whether to replace `-LRB-` by `(`, `1\\/2` by `1/2`, etc.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["ptb"], **locals())


def create_ccgbank_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    sections: str | int | None = None,
    split: str | None = None,
    tag: str = "supertag",
    min_count: int = 0,
    rest: str | None = None,
    unescape: bool = False,
) -> Reader:
    """`spacy_psa.CCGbank.v1`: read the categories of CCGbank as tags.

    path (Optional[Path]): The folder with the sections, or a file.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document.
    limit (int): The maximum number of Docs; 0 for no limit.
    sections (Optional[Union[str, int]]): The sections to read from the folder, e.g. "2-21".
    split (Optional[str]): Alternatively, "train" (2-21), "dev" (0) or "test" (23).
    tag (str): "supertag" for categories, "pos" for parts of speech.
    min_count (int): Keep only tags that occur at least this often in sections 2-21; 10 leaves 425
        categories.
    rest (Optional[str]): The label for the other tokens; None leaves them unannotated.
    unescape (bool): Whether to replace `-LRB-` by `(`, `1\\/2` by `1/2`, etc.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["ccgbank"], **locals())


def create_ontonotes_reader(
    path: Path | None,
    *,
    n_sents: int = 1,
    limit: int = 0,
    lenient: bool = False,
    split: str | None = None,
    language: str | None = None,
    genres: str | Sequence[str] = (),
    exclude_genres: str | Sequence[str] = ("pt",),
    file_list: Path | None = None,
    unescape: bool = False,
) -> Reader:
    """`spacy_psa.OntoNotes.v1`: read tags, entities, semantic roles and speakers of OntoNotes 5.

    path (Optional[Path]): The folder with the files of the CoNLL-2012 shared task, or a file.
    n_sents (int): The number of sentences per Doc; 0 for one Doc per document part.
    limit (int): The maximum number of Docs; 0 for no limit.
    lenient (bool): Whether to continue after problems instead of raising the first.
    split (Optional[str]): "train", "dev" or "test"; None for all folders.
    language (Optional[str]): "english", "chinese" or "arabic"; required if there are several.
    genres (Union[str, Sequence[str]]): The genres to read, e.g. ["nw", "bn"]; all if empty.
    exclude_genres (Union[str, Sequence[str]]): The genres to exclude: by default the New Testament,
        which has no entity annotation. Use [] for semantic roles.
    file_list (Optional[Path]): A text file with the names of the documents to read, one per line.
    unescape (bool): Whether to replace `/.` by `.`, `-LRB-` by `(`, etc.
    RETURNS (Callable[[Language], Iterator[Example]]): The corpus reader.
    RAISES (ValueError): If there is no path, or if `n_sents` is negative.
    """
    return ColumnCorpus(form=FORMATS["ontonotes"], **locals())
