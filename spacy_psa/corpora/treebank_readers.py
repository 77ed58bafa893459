"""spaCy corpus readers for treebanks that are distributed as folders of files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacy.training import Example

from .readers import FORMATS, ColumnCorpus

if TYPE_CHECKING:
    from spacy.language import Language

Reader = Callable[["Language"], Iterator[Example]]


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
    return ColumnCorpus(
        path,
        FORMATS["ptb"],
        n_sents=n_sents,
        limit=limit,
        sections=sections,
        split=split,
        kind=kind,
        unescape=unescape,
    )


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
    return ColumnCorpus(
        path,
        FORMATS["ccgbank"],
        n_sents=n_sents,
        limit=limit,
        sections=sections,
        split=split,
        tag=tag,
        min_count=min_count,
        rest=rest,
        unescape=unescape,
    )


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
    return ColumnCorpus(
        path,
        FORMATS["ontonotes"],
        n_sents=n_sents,
        limit=limit,
        lenient=lenient,
        split=split,
        language=language,
        genres=genres,
        exclude_genres=exclude_genres,
        file_list=file_list,
        unescape=unescape,
    )
