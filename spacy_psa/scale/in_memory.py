"""Annotate tables in memory: of pyarrow and pandas, and so those of Spark; and Ray's Datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import spacy
from spacy.language import Language

from ..errors import Errors
from .annotating import Annotator
from .output_columns import RESERVED
from .parquet import check_columns, rows_of, table_of
from .schema import to_table
from .work import use_gpu


def apply_to_table(
    nlp: Language | str | Path,
    source: Any,
    column: str,
    *,
    n_process: int | None,
    batch_size: int | None,
    gpu_id: int,
    code: str | None = None,
) -> Any:
    """Annotate a table or a Dataset."""
    kind = type(source).__name__
    if hasattr(source, "map_batches") and not isinstance(nlp, Language):
        from .ray_data import annotate_dataset

        return annotate_dataset(str(nlp), source, column, n_process, batch_size, gpu_id, code)
    # Those of Spark and Polars are called DataFrame, too
    package = type(source).__module__.partition(".")[0]
    if (package, kind) not in (("pandas", "DataFrame"), ("pyarrow", "Table")):
        raise ValueError(Errors.P517.format(kind=kind))
    if n_process not in (None, 1):
        raise ValueError(Errors.P518.format(kind=kind, n=n_process))
    use_gpu(gpu_id)
    loaded = nlp if isinstance(nlp, Language) else spacy.load(nlp)
    annotator = Annotator.of(loaded, batch_size)
    if kind == "Table":
        return annotate_table(annotator, source, column)
    table = pa.Table.from_pandas(source, preserve_index=False)
    found = annotate_table(annotator, table, column).to_pandas()
    return found.set_index(source.index)


def annotate_table(annotator: Annotator, table: Any, column: str) -> Any:
    """Annotate a table."""
    check_columns(table.schema, column, RESERVED, "the table")
    own = [name for name in table.schema.names if name in (column, "id", "source")]
    found = [_with_errors(to_table({"id": []}), [])]
    first = 0
    for batch in table.select(own).to_batches(annotator.n_docs):
        names = [str(first + i) for i in range(len(batch))]
        first += len(batch)
        for chunk in rows_of(batch, annotator.n_docs, column, names, ""):
            with annotator.zone():
                pairs = list(annotator.annotate(chunk.records, chunk.failures))
                good = table_of(annotator, chunk, pairs)
                rows = [record.row for record, _ in pairs]
                del pairs
            bad = {
                name: [getattr(failure, name) for failure in chunk.failures]
                for name in ("id", "source", "text")
            }
            errors = [failure.error for failure in chunk.failures]
            rows += [failure.row for failure in chunk.failures]
            both = [_with_errors(good, [None] * len(good)), _with_errors(to_table(bad), errors)]
            found.append(pa.concat_tables(both).take(np.argsort(rows, kind="stable")))
    whole = pa.concat_tables(found)
    for place, field in enumerate(table.drop_columns(own).schema, start=whole.num_columns - 1):
        whole = whole.add_column(place, field, table.column(field.name))
    return whole


def _with_errors(table: Any, errors: Sequence[str | None]) -> Any:
    return table.append_column("error", pa.array(errors, pa.string()))
