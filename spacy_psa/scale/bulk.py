"""Annotate any number of texts: `spacy_psa.apply`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import Errors, invalid, suggestion

if TYPE_CHECKING:
    from spacy.language import Language

BLOCK_SIZE = 1 << 22
MAX_ERRORS = 100
OPTIONS: dict[str, tuple[str, ...]] = {
    "format": ("parquet", "jsonl", "spacy"),
    "engine": ("local", "ray"),
    "document": ("line", "file"),
}


@dataclass(frozen=True)
class Summary:
    """What is in an output folder.

    documents (int): The number of annotated documents.
    words (int): The number of their tokens.
    failed (int): The number of documents that failed.
    shards (int): The number of shards.
    resumed (int): How many of these were there before.
    unread (Sequence[str]): The files in the input folders that are of no known kind.
    """

    documents: int
    words: int
    failed: int
    shards: int
    resumed: int
    unread: Sequence[str]


def apply(
    nlp: Language | str | Path,
    source: Any,
    output: str | Path | None = None,
    *,
    format: str = "parquet",
    column: str = "text",
    document: Literal["line", "file"] | str = "line",
    engine: str = "local",
    n_process: int | None = None,
    address: str | None = None,
    batch_size: int | None = None,
    block_size: int = BLOCK_SIZE,
    max_errors: int | None = MAX_ERRORS,
    gpu_id: int = -1,
    code: str | Path | None = None,
    progress: bool = False,
) -> Any:
    """Annotate texts: those of files, of a table, or of a Ray Dataset.

    nlp (Union[Language, str, Path]): The pipeline, or its name or folder.
    source (Union[str, Path, Sequence, Table, DataFrame, Dataset]): With an output folder, the
        files, folders, patterns or URIs to read. Without, a pyarrow Table, pandas DataFrame or
        `ray.data.Dataset`, of which the settings but `column`, `n_process`, `batch_size`,
        `gpu_id` and `code` are not used.
    output (Optional[Union[str, Path]]): The output folder. If an earlier run was interrupted, this
        one goes on where it stopped.
    format (str): The format of the shards: "parquet", "jsonl" or "spacy".
    column (str): The column of text, or the key of JSON objects.
    document (str): What a document of a .txt file is: "line" or "file".
    engine (str): "local", or "ray" for a cluster.
    n_process (Optional[int]): The number of processes, 1 by default (a Table or DataFrame is always
        annotated in this one: more are an error); of Ray's actors, by default one for each core, or
        for each GPU.
    address (Optional[str]): The address of a Ray cluster; by default, Ray starts on this machine.
    batch_size (Optional[int]): The number of documents in a batch; by default the pipeline's.
    block_size (int): The bytes of input for each shard, about.
    max_errors (Optional[int]): How many documents may fail; None for any number.
    gpu_id (int): The GPU, or -1 for the CPU. Each of Ray's actors has a GPU of its own.
    code (Optional[Union[str, Path]]): The Python file that registers functions of yours, if the
        pipeline has any: other processes import it. In this one, import it before.
    progress (bool): Whether to show a progress bar.
    RETURNS (Union[Summary, Table, DataFrame, Dataset]): With an output folder, what is in it now.
        Without, the source with the annotation in more columns; `error` says why a document failed.
    RAISES (ValueError): If the source, the settings or the output folder do not suit, if too many
        documents fail, or if a package that this needs is not installed.
    RAISES (OutputError): If the output cannot be written.
    """
    if output is not None and isinstance(nlp, str | Path):
        _check_pipeline(str(nlp))
    for name, value in (("format", format), ("engine", engine), ("document", document)):
        if value not in OPTIONS[name]:
            hint, options = suggestion(value, OPTIONS[name]), ", ".join(OPTIONS[name])
            message = Errors.P515.format(name=name, value=value, suggestion=hint, options=options)
            raise ValueError(message)
    counts = {"n_process": n_process, "batch_size": batch_size, "block_size": block_size}
    for name, count in counts.items():
        if count is not None and count < 1:
            raise invalid(name, count, "at least 1")
    if engine == "ray" or type(source).__module__.startswith("ray."):
        for package in ("ray", "pandas", "pyarrow"):  # `ray.data` imports all of them
            require(package, "The engine 'ray'", "ray")
    file = None if code is None else os.path.abspath(code)
    if output is None:
        require("pyarrow", "Annotating a table", "scale")
        from .in_memory import apply_to_table

        return apply_to_table(
            nlp,
            source,
            column,
            n_process=n_process,
            batch_size=batch_size,
            gpu_id=gpu_id,
            code=file,
        )
    if format == "parquet":
        require("pyarrow", "The format 'parquet' (unlike 'jsonl' and 'spacy')", "scale")
    from .file_run import apply_to_files
    from .work import Settings

    paths = [source] if isinstance(source, str | Path) else source
    settings = Settings(
        form=format,
        column=column,
        whole_files=document == "file",
        engine=engine,
        n_process=n_process,
        address=address,
        batch_size=batch_size,
        block_size=block_size,
        max_errors=max_errors,
        gpu_id=gpu_id,
        code=file,
        progress=progress,
    )
    return apply_to_files(nlp, [str(path) for path in paths], str(output), settings)


def _check_pipeline(name: str) -> None:
    """Check that there is a pipeline before anything else fails, with spaCy's error if not."""
    from spacy.util import is_package, load_model

    if is_package(name) or (Path(name) / "meta.json").is_file():
        return
    if Path(name).exists():
        raise ValueError(Errors.P271.format(path=name))
    load_model(name)


def require(package: str, what: str, extra: str) -> None:
    """Check that a package is installed.

    package (str): The package.
    what (str): What needs it.
    extra (str): The extra of this package that installs it.
    RAISES (ValueError): If it is not.
    """
    if find_spec(package) is None:
        raise ValueError(Errors.P500.format(what=what, package=package, extra=extra))
