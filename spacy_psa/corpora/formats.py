"""Corpus formats: their layers, readers and detection, and the options that users choose."""

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from ..errors import Errors, check_choice, suggestion
from .lines import rereading
from .problems import Problems
from .sentence import Sentence
from .stats import CorpusStats


@dataclass(frozen=True)
class Format:
    """A corpus format.

    name (str): Its name in `FORMATS`.
    reader (str): The function that streams the sentences of a file, as "module:function", with the
        module relative to this package. It is imported on first use, so that a format's
        dependencies are not needed for other formats. It takes the path, the options of the format
        as keyword arguments with defaults, and a keyword argument `problems` (Optional[Problems]);
        None means strict.
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
        """The function named by `reader`."""
        return resolve_name(f"{__package__}.{self.reader}")

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The options of the reader, by name."""
        parameters = list(inspect.signature(self.read_function).parameters.values())[1:]
        return {
            parameter.name: parameter for parameter in parameters if parameter.name != "problems"
        }

    def owns(self, path: Path) -> bool:
        """Check whether a file's name has a suffix of this format."""
        return bool(self.endings) and path.name.removesuffix(".gz").endswith(self.endings)

    def unaccepted(self, problem: str, name: str) -> ValueError:
        """Create the error for an option that the format does not accept."""
        hint = "" if name in self.options else suggestion(name, self.options)
        if not hint and name not in self.options and name in FORMATS["iob"].options:
            hint = " The format iob, for any columns, has this option."
        known = ", ".join(self.options) or "none"
        return ValueError(
            Errors.P142.format(form=self.name, problem=problem, suggestion=hint, options=known)
        )

    def read(
        self, path: str | Path, *, problems: Problems | None = None, **options: Any
    ) -> Iterator[Sentence]:
        """Stream the sentences of a file."""
        unknown = next((name for name in options if name not in self.options), None)
        if unknown is not None:
            raise self.unaccepted(f"the option '{unknown}'", unknown)
        sentences = rereading(self.read_function)(path, problems=problems, **options)
        return self._checked(sentences, path, problems)

    def _checked(
        self, sentences: Iterator[Sentence], path: str | Path, problems: Problems | None
    ) -> Iterator[Sentence]:
        """The sentences of a file, which has some. IDs that are given twice are noted."""
        found_any, ids = False, set[str]()
        for sentence in sentences:
            found_any = True
            if problems is not None and sentence.sent_id in ids:
                first = f"'{sentence.sent_id}' in line {sentence.line} of {Path(path).name}"
                problems.note("sentences with the ID of an earlier one", first=first)
            elif sentence.sent_id is not None:
                ids.add(sentence.sent_id)
            yield sentence
        if not found_any:
            known = ", ".join(self.columns) or "words with their annotation"
            raise ValueError(Errors.P111.format(path=path, columns=known))


_FORMATS = (
    Format(
        "conll2000",
        "iob:read_conll2000",
        ("tags", "chunks"),
        columns=("word", "POS", "chunk"),
    ),
    Format(
        "conll2003",
        "iob:read_conll2003",
        ("tags", "chunks", "ents"),
        columns=("word", "POS", "chunk", "NER"),
        has_documents=True,
    ),
    Format("conll2002", "iob:read_conll2002", ("tags", "ents"), has_documents=True),
    Format(
        "iob",
        "iob:read_iob",
        ("ents", "chunks", "tags", "lemmas"),
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
    """Look up a format by its name."""
    check_choice("format", name, FORMATS)
    return FORMATS[name]


# Target names follow the component psa_tagger, if it has the target.
TARGETS = {
    "tag": "tags",
    "pos": "pos",
    "morph": "morphs",
    "lemma": "lemmas",
    "ents": "ents",
    "spans": "chunks",
    "roles": "frames",
    "speakers": "speakers",
}


def target_layers(targets: Sequence[str], form: Format) -> list[str]:
    """Get the layers for targets."""
    for target in targets:
        check_choice("target", target, TARGETS)
        if TARGETS[target] not in form.layers:
            known = [name for name, layer in TARGETS.items() if layer in form.layers]
            raise ValueError(
                Errors.P143.format(form=form.name, target=target, options=", ".join(known))
            )
    return [TARGETS[target] for target in targets] or list(form.layers)


def check_targets(targets: Sequence[str], stats: CorpusStats, path: str | Path) -> None:
    """Check that targets are annotated."""
    found = [name for name, layer in TARGETS.items() if stats.has(layer)]
    for target in targets:
        if target not in found:
            known = ", ".join(found) or "none"
            raise ValueError(Errors.P133.format(path=path, target=target, options=known))


def parse_options(texts: Sequence[str], form: Format) -> dict[str, Any]:
    """Parse the options of a format."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise form.unaccepted(f"'{text}', which should be name=value", name)
        if name not in form.options:
            raise form.unaccepted(f"the option '{name}'", name)
        try:
            options[name] = _parse(value, form.options[name])
        except ValueError as err:
            problem = f"'{value}' for the option '{name}', which should be {err}"
            raise form.unaccepted(problem, name) from err
    return options


def _parse(text: str, parameter: inspect.Parameter) -> Any:
    """Parse the value of an option by the types that the reader accepts; an error names them."""
    annotation = parameter.annotation
    is_union = isinstance(annotation, types.UnionType)
    kinds = typing.get_args(annotation) if is_union else (annotation,)
    if type(None) in kinds and text.lower() in ("none", "null"):
        return None
    if bool in kinds:
        if text.lower() not in ("true", "false"):
            raise ValueError("true or false")
        return text.lower() == "true"
    for kind, what in ((int, "a whole number"), (float, "a number")):
        if kind in kinds and not (str in kinds and not text.isdecimal()):
            try:
                return kind(text)
            except ValueError:
                raise ValueError(what) from None
    return text.replace("\\t", "\t")
