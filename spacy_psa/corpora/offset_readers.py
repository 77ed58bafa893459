"""spaCy corpus reader for texts with spans, from annotation tools."""

from pathlib import Path

from .docs import CHUNKS_KEY
from .formats import FORMATS
from .readers import ColumnCorpus, Reader


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
    return ColumnCorpus(
        path,
        FORMATS["offsets"],
        n_sents=n_sents,
        limit=limit,
        chunks_key=chunks_key,
        lenient=lenient,
        layer=layer,
        alignment_mode=alignment_mode,
        units=units,
        lang=lang,
        tokens=tokens,
        text_key=text_key,
        predictions=predictions,
    )
