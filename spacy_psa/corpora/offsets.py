"""Texts with spans given by character offsets, as Prodigy, doccano and Label Studio export them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens import Span as TokenSpan
from spacy.util import get_words_and_spaces

from ..annotation.schemes import Span
from ..errors import Errors
from .formats import FORMATS
from .offset_records import Place, read_records
from .offset_tasks import Region, Task, TaskReader
from .problems import Problems, check_overlaps, unexpected
from .sentence import Sentence

LAYERS = ("ents", "chunks", "tags")
ALIGNMENT_MODES = ("strict", "contract", "expand")
UNITS = ("codepoints", "utf16")


def read_offsets(
    path: str | Path,
    *,
    layer: str = "ents",
    alignment_mode: str = "strict",
    units: str = "codepoints",
    lang: str | None = None,
    tokens: bool = True,
    text_key: str = "text",
    predictions: bool = False,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the texts of JSON lines, or of a list in JSON, each of which is a document.

    The layout is recognised for each text. Rejected, ignored and cancelled texts, and those without
    annotation, are skipped and counted.
    """
    path, problems = Path(path), problems or Problems()
    for name, value, known in (
        ("layer", layer, LAYERS),
        ("alignment_mode", alignment_mode, ALIGNMENT_MODES),
        ("units", units, UNITS),
    ):
        if value not in known:
            raise FORMATS["offsets"].unaccepted(
                f"{name}='{value}': choose one of {', '.join(known)}", name
            )
    lang = lang or "en"
    nlp = _blank(lang)
    tasks = TaskReader(path, problems, text_key, predictions)
    # A token of white space can have a tag, but be no part of an entity.
    aligner = _Aligner(path, problems, alignment_mode, units, has_white_space=layer == "tags")
    found_any = False
    seen: dict[int, int] = {}
    for place, record in read_records(path):
        task = tasks.read(place, record)
        if task is None:
            continue
        if tokens and task.tokens:
            doc = _given(task, nlp, path, place)
        else:
            doc = nlp.make_doc(task.text)
            problems.found[f"texts tokenized as lang={lang}"] += 1
        spans, left_out, is_anywhere = aligner.align(doc, task, place)
        if all(token.is_space for token in doc):
            problems.note("texts without words, skipped")
            continue
        given = [*spans, *left_out]
        if layer != "chunks":
            named = partial(_named, doc)
            spans = check_overlaps(spans, path, place, "spans", problems, Errors.P186, named)
        if layer == "ents":
            spans = _with_unknown(spans, [(0, len(doc), "")] if is_anywhere else given)
        # Span groups cannot hold tokens that may be in a span or not
        is_known = layer != "chunks" or not (left_out or is_anywhere)
        if not is_known:
            problems.note("texts left unannotated, since spans were left out")
        if seen.setdefault(hash(task.text), hash(tuple(given))) != hash(tuple(given)):
            problems.note("texts given before with other spans", first=f"in line {place}")
        found_any = True
        yield Sentence(
            words=[token.text for token in doc],
            spaces=[bool(token.whitespace_) for token in doc],
            tags=_tags(spans, len(doc)) if layer == "tags" else None,
            chunks=spans if layer == "chunks" and is_known else None,
            ents=spans if layer == "ents" else None,
            starts_document=True,
            is_sentence=False,
            line=place.line,
        )
    if not found_any:
        counts = (problems.found + problems.notes).items()
        notes = ", ".join(f"{what}: {n}" for what, n in counts) or "it is empty"
        raise ValueError(Errors.P187.format(path=path, notes=notes))


class _Placed(NamedTuple):
    """The spans of a text, in tokens and in order.

    spans (List[Span]): Those that are read. They may overlap.
    left_out (List[Span]): Those that are left out, with the tokens around them and no label.
    is_anywhere (bool): Whether others are left out that may be anywhere in the text.
    """

    spans: list[Span]
    left_out: list[Span]
    is_anywhere: bool


@dataclass(frozen=True)
class _Aligner:
    """Finds the tokens of the spans of one file."""

    path: Path
    problems: Problems
    mode: str
    units: str
    has_white_space: bool

    @property
    def is_utf16(self) -> bool:
        """Whether offsets count as UTF-16 does."""
        return self.units != "codepoints"

    def align(self, doc: Doc, task: Task, place: Place) -> _Placed:
        """Find the tokens of the spans. Those that are given twice are one."""
        # Without characters of two units, offsets in UTF-16 are those of characters
        has_others = self.is_utf16 or max(task.text, default="") > "\uffff"
        utf16 = _utf16_places(task.text) if has_others else {}
        found = [
            None if region is None else self._aligned(doc, task.text, region, utf16, place)
            for region in task.regions
        ]
        spans = [span for span in found if span is not None]
        unique = sorted(set(spans))
        if len(unique) < len(spans):
            self.problems.note("spans given twice, read once", len(spans) - len(unique))
        left_out = [span for span in unique if not span[2]]
        return _Placed([span for span in unique if span[2]], left_out, None in found)

    def _aligned(
        self, doc: Doc, text: str, region: Region, utf16: dict[int, int], place: Place
    ) -> Span | None:
        """The tokens of a span, or those around it, without its label, if it is left out; None if
        it may be anywhere."""
        start, end = region.start, region.end
        if self.is_utf16:
            start, end = utf16.get(start, -1), utf16.get(end, -1)
        part = text[start:end] if 0 <= start < end <= len(text) else None
        if part is None or not _alike(part, region.text):
            problem = f"the text has no characters {region.start} to {region.end}"
            if part is not None:
                problem = (
                    f"the characters {region.start} to {region.end} are {part!r}, but the span is "
                    f"{region.text!r}"
                )
            self._report(Errors.P188, place, problem, units=self.units)
            return None
        if not self.has_white_space:
            start, end = end - len(part.lstrip()), start + len(part.rstrip())
        if start >= end:
            problem = f"the characters {region.start} to {region.end} are white space"
            self._report(Errors.P145, place, problem, expected="a span with words")
            return None
        if part != text[start:end]:
            self.problems.note("spans with white space at their ends, which was removed")
        span = doc.char_span(start, end)
        around = span or doc.char_span(start, end, alignment_mode="expand")
        other = None if self.is_utf16 else _in_utf16(doc, region, utf16)
        if span is None and other is not None:
            problem = (
                f"the characters {region.start} to {region.end} are {part!r}, which begins or ends "
                "within a token, but would not in UTF-16"
            )
            self._report(Errors.P188, place, problem, units=self.units)
            return None
        if span is not None and other is not None and region.text is None:
            self._note_utf16(span, other, place)
        if span is None and self.mode != "strict":
            span = doc.char_span(start, end, alignment_mode=self.mode)
            if span is not None:
                what = f"spans not aligned with tokens (alignment_mode={self.mode})"
                first = f"in line {place} of {self.path.name}: {part!r} as {span.text!r}"
                self.problems.note(what, first=first)
        if span is None:
            message = Errors.P185.format(
                path=self.path,
                line=place,
                text=text[start:end],
                label=region.label,
                start=region.start,
                end=region.end,
                tokens=" ".join(f"'{token.text}'" for token in around or ()),
                modes="expand or contract" if self.mode == "strict" else "expand",
            )
            self.problems.report(message)
            return (around.start, around.end, "") if around else None
        return span.start, span.end, region.label

    def _note_utf16(self, span: TokenSpan, other: TokenSpan, place: Place) -> None:
        """Note a span that would be another one in UTF-16. Where tokens are characters, as in
        Chinese, both begin and end with tokens, so that nothing else tells which is meant."""
        if other.text != span.text:
            what = "spans that would be others in UTF-16 (units=utf16)"
            first = f"in line {place} of {self.path.name}: {span.text!r}, or {other.text!r}"
            self.problems.note(what, first=first)

    def _report(self, error: str, place: Place, problem: str, **names: str) -> None:
        self.problems.report(error.format(path=self.path, line=place, problem=problem, **names))


def _blank(lang: str) -> Language:
    try:
        return spacy.blank(lang)
    except (ImportError, ValueError) as err:
        raise FORMATS["offsets"].unaccepted(f"lang='{lang}': {err}", "lang") from err


def _given(task: Task, nlp: Language, path: Path, place: Place) -> Doc:
    """Use the tokens of the file, which must make up the text."""
    try:
        words = [token["text"] for token in task.tokens or ()]
        spaces = [bool(token["ws"]) for token in task.tokens or () if "ws" in token]
        exact = len(spaces) == len(words) and task.text == "".join(
            word + " " * space for word, space in zip(words, spaces, strict=True)
        )
        if not exact:
            words, spaces = get_words_and_spaces(words, task.text)
        return Doc(nlp.vocab, words=words, spaces=spaces)
    except (KeyError, TypeError, ValueError) as err:
        expected = "tokens that make up the text; set --option tokens=false to tokenize it anew"
        problem = "the tokens are not those of the text"
        raise ValueError(unexpected(path, place, problem, expected)) from err


def _utf16_places(text: str) -> dict[int, int]:
    """The index of each character by its offset in UTF-16, where some take up two units."""
    units = accumulate((1 + (character > "\uffff") for character in text), initial=0)
    return {offset: i for i, offset in enumerate(units)}


def _in_utf16(doc: Doc, region: Region, utf16: dict[int, int]) -> TokenSpan | None:
    """The tokens of a span if its offsets count as UTF-16 does; None if it is not aligned."""
    start, end = utf16.get(region.start, -1), utf16.get(region.end, -1)
    return doc.char_span(start, end) if min(start, end) >= 0 else None


def _named(doc: Doc, span: Span) -> str:
    return f"'{doc[span[0] : span[1]].text}' ({span[2]})"


def _with_unknown(spans: list[Span], given: list[Span]) -> list[Span]:
    """Add the tokens of given spans that are left out: whether they are in a span is unknown."""
    known = {i for start, end, _ in spans for i in range(start, end)}
    unknown = {i for start, end, _ in given for i in range(start, end)} - known
    return sorted([*spans, *((i, i + 1, "") for i in unknown)])


def _alike(part: str, given: str | None) -> bool:
    """Whether two strings are the same but for white space, which tools write differently."""
    if given is None or part == given:
        return True
    return "".join(part.split()) == "".join(given.replace("\\n", " ").split())


def _tags(spans: list[Span], n_tokens: int) -> list[str]:
    tags = [""] * n_tokens
    for start, end, label in spans:
        tags[start:end] = [label] * (end - start)
    return tags
