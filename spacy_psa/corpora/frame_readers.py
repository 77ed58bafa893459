"""spaCy corpus readers for semantic role formats."""

from pathlib import Path

from .formats import FORMATS
from .readers import ColumnCorpus, Reader


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
    return ColumnCorpus(
        path,
        FORMATS["conll2005"],
        n_sents=n_sents,
        limit=limit,
        lenient=lenient,
        target_column=target_column,
    )


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
    return ColumnCorpus(
        path,
        FORMATS["conll2012"],
        n_sents=n_sents,
        limit=limit,
        lenient=lenient,
        unescape=unescape,
    )
