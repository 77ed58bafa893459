"""Corpus formats: their layers, readers and detection."""

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..errors import Errors
from .columns import read_columns
from .pipes import rereading
from .problems import Problems
from .sentence import Sentence


@dataclass(frozen=True)
class Format:
    """A corpus format.

    name (str): Its name in `FORMATS`.
    reader (str): The function that streams the sentences of a file, as "module:function", with the
        module relative to this package. It is imported on first use, so that a format's
        dependencies are not needed for other formats. It takes the path, the options of the format
        as keyword arguments with defaults, and, if it can continue after problems, a keyword
        argument `problems` (Optional[Problems]); None means strict.
    layers (Tuple[str, ...]): The layers of `Sentence` that it can annotate.
    columns (Tuple[str, ...]): The names of its columns; empty if they vary.
    has_documents (bool): Whether it can mark document boundaries.
    endings (Tuple[str, ...]): The suffixes of its file names, without ".gz". Of several files that
        differ only in the suffix, the first is enough.
    takes_folder (bool): Whether the path can be a folder, which the reader then walks itself.
    """

    name: str
    reader: str
    layers: tuple[str, ...]
    columns: tuple[str, ...] = ()
    has_documents: bool = False
    endings: tuple[str, ...] = ()
    takes_folder: bool = False

    @cached_property
    def read_function(self) -> Callable[..., Iterator[Sentence]]:
        """RETURNS (Callable[..., Iterator[Sentence]]): The function named by `reader`."""
        module, function = self.reader.split(":")
        return getattr(importlib.import_module(f".{module}", __package__), function)

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """RETURNS (Dict[str, inspect.Parameter]): The options of the reader, by name."""
        parameters = list(inspect.signature(self.read_function).parameters.values())[1:]
        return {
            parameter.name: parameter for parameter in parameters if parameter.name != "problems"
        }

    def owns(self, path: Path) -> bool:
        """Check whether a file's name has a suffix of this format.

        path (Path): The file.
        RETURNS (bool): Whether it does.
        """
        return bool(self.endings) and path.name.removesuffix(".gz").endswith(self.endings)

    def read(
        self, path: str | Path, *, problems: Problems | None = None, **options: Any
    ) -> Iterator[Sentence]:
        """Stream the sentences of a file.

        path (Union[str, Path]): The file; for some formats, a folder.
        problems (Optional[Problems]): How to handle problems; None to raise the first.
        options: Options of the format.
        YIELDS (Sentence): The sentences.
        RAISES (ValueError): If the file is not in this format, or the format has no such option.
        """
        unknown = next((name for name in options if name not in self.options), None)
        if unknown is not None:
            raise ValueError(
                Errors.P142.format(
                    form=self.name,
                    problem=f"the option '{unknown}'",
                    options=", ".join(self.options) or "none",
                )
            )
        if "problems" in inspect.signature(self.read_function).parameters:
            options["problems"] = problems
        return rereading(self.read_function)(path, **options)


# The number of tokens to inspect for format detection.
_N_ROWS = 5000
_SPAN_TAG = re.compile(r"O|[BIESLUM]-.+")
_CONLL2002_LABELS = frozenset(("PER", "ORG", "LOC", "MISC"))
# The beginning of an object, or of a list of objects.
_JSON = re.compile(r'(\[ ?)?\{ ?"')
# The first columns of comments, in formats that have them.
_FIRST_COLUMNS = {
    ("#begin", "document"): "conll2012",
    ("#", "global.columns"): "conllu",
    ("#", "newdoc"): "conllu",
    ("#", "sent_id"): "conllu",
    ("#", "text"): "conllu",
}
# Maps the number of columns to a function that chooses the format by the tags in the last column.
_BY_WIDTH: dict[int, Callable[[list[str]], str]] = {
    2: lambda tags: "iob" if all(map(_SPAN_TAG.fullmatch, tags)) else "tagged",
    3: lambda tags: "conll2002" if _CONLL2002_LABELS & {tag[2:] for tag in tags} else "conll2000",
    4: lambda _: "conll2003",
    10: lambda _: "conllu",
}

_FORMATS = (
    Format(
        "conll2000",
        "conll2000:read_conll2000",
        ("tags", "chunks"),
        columns=("word", "POS", "chunk"),
    ),
    Format(
        "conll2003",
        "conll2003:read_conll2003",
        ("tags", "chunks", "ents"),
        columns=("word", "POS", "chunk", "NER"),
        has_documents=True,
    ),
    Format("conll2002", "iob:read_conll2002", ("tags", "ents"), has_documents=True),
    Format(
        "iob",
        "iob:read_iob",
        ("ents", "chunks", "tags"),
        columns=("word", "NER"),
        has_documents=True,
    ),
    Format("tagged", "iob:read_tagged", ("tags",), columns=("word", "tag")),
    Format(
        "conllu",
        "conllu:read_conllu",
        ("tags", "pos", "morphs", "lemmas", "ents"),
        has_documents=True,
        endings=(".conllu", ".conllup", ".cupt"),
    ),
    Format(
        "ptb",
        "ptb:read_ptb",
        ("tags",),
        has_documents=True,
        endings=(".mrg", ".pos", ".prd"),
        takes_folder=True,
    ),
    Format(
        "ontonotes",
        "ontonotes:read_ontonotes",
        ("tags", "lemmas", "ents", "frames", "speakers"),
        has_documents=True,
        endings=("_gold_conll", ".gold_conll"),
        takes_folder=True,
    ),
    Format(
        "ccgbank",
        "ccgbank:read_ccgbank",
        ("tags",),
        has_documents=True,
        endings=(".auto",),
        takes_folder=True,
    ),
    Format(
        "conll2005",
        "conll2005:read_conll2005",
        ("tags", "ents", "frames"),
        endings=(".props", ".words"),
        takes_folder=True,
    ),
    Format(
        "conll2012",
        "conll2012:read_conll2012",
        ("tags", "lemmas", "ents", "frames", "speakers"),
        has_documents=True,
        endings=("_gold_conll", ".gold_conll"),
    ),
    Format(
        "offsets",
        "offsets:read_offsets",
        ("ents", "chunks", "tags"),
        has_documents=True,
        endings=(".jsonl", ".json"),
    ),
)
FORMATS: dict[str, Format] = {form.name: form for form in _FORMATS}


def get_format(name: str) -> Format:
    """Look up a format by its name.

    name (str): A name in `FORMATS`.
    RETURNS (Format): The format.
    RAISES (ValueError): If there is no format with that name.
    """
    if name not in FORMATS:
        raise ValueError(Errors.P119.format(name=name, options=", ".join(FORMATS)))
    return FORMATS[name]


def detect_format(path: Path) -> str:
    """Detect the format of a file by its suffix, or else by its first lines.

    The number of columns is that of the majority of lines. Formats with the same number of columns
    are distinguished by the last one: span tags or word tags, entity labels or chunk labels.

    path (Path): The file.
    RETURNS (str): The name of the format.
    RAISES (ValueError): If the file cannot be read, if no format has that many columns, or if no
        number of columns has a majority, as in running text.
    """
    owners = [form for form in FORMATS.values() if form.owns(path)]
    if owners:
        # Readers that take folders skip some documents by default.
        return min(owners, key=lambda form: form.takes_folder).name
    rows = list(islice(chain.from_iterable(read_columns(path)), _N_ROWS))
    if _JSON.match(" ".join(cell for row in rows[:3] for cell in row.columns)):
        return "offsets"
    comments = {row.columns[:2] for row in rows if row.columns[0].startswith("#")}
    for start, name in _FIRST_COLUMNS.items():
        if start in comments:
            return name
    rows = [row for row in rows if row.columns[0] != "-DOCSTART-"] or rows
    widths = Counter(len(row.columns) for row in rows)
    width, n_rows = widths.most_common(1)[0]
    if n_rows <= len(rows) / 2:
        found = ", ".join(map(str, sorted(widths)[:5])) + (", …" if len(widths) > 5 else "")
        raise ValueError(Errors.P179.format(path=path, widths=found, options=", ".join(FORMATS)))
    detect = _BY_WIDTH.get(width)
    if detect is None:
        line = next(row.line for row in rows if len(row.columns) == width)
        known = "; ".join(
            f"{form.name} ({', '.join(form.columns)})" for form in FORMATS.values() if form.columns
        )
        raise ValueError(Errors.P117.format(path=path, line=line, found=width, formats=known))
    return detect([row.columns[-1] for row in rows if len(row.columns) == width])
