"""Write sentences in the published formats.

Missing annotation is written as the format's placeholder: `_` in CoNLL-U, and for the parts of
speech of CoNLL-2000 and CoNLL-2003, where `-` could be one; `O` for spans in these two and IOB; `*`
for spans in brackets; `-` for everything else.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ..annotation.propositions import Frame
from ..annotation.schemes import Span, get_scheme
from ..errors import check_choice
from .brackets import write_brackets
from .conll2012 import NOT_GIVEN, PART_SEPARATOR, UNKNOWN
from .layouts import DOCUMENT_BOUNDARY
from .sentence import Sentence, unwritable

# Separators of columns and lines, which a column cannot contain, nor NUL.
_WHITE = re.compile(r"[ \t\n\v\f\r\0]")
_WHITE_CONLLU = re.compile(r"[\t\n\r\0]")


@dataclass(frozen=True)
class Writer:
    """A writer for a format.

    name (str): Its name in `WRITERS`.
    write (Callable): Takes sentences and the name of a label scheme. Yields the text of each
        sentence, including any document boundaries, as one string per file.
    endings (Tuple[str, ...]): The suffix of the output name, for each file.
    has_ents (bool): Whether it writes entities.
    """

    name: str
    write: Callable[[Iterable[Sentence], str], Iterator[tuple[str, ...]]]
    endings: tuple[str, ...] = ("",)
    has_ents: bool = True


def get_writer(name: str) -> Writer:
    """Look up a writer."""
    check_choice("export format", name, WRITERS)
    return WRITERS[name]


def write_conll2000(sentences: Iterable[Sentence], scheme: str = "BIO") -> Iterator[tuple[str]]:
    """Write word, part of speech and chunk, separated by spaces."""
    for sentence in sentences:
        tags = _filled(sentence.tags, len(sentence.words), NOT_GIVEN)
        columns = [sentence.words, tags, _encoded(sentence.chunks, sentence, "conll2000", scheme)]
        yield (_block(sentence, columns, "conll2000", " "),)


def write_conll2003(sentences: Iterable[Sentence], scheme: str = "BIO") -> Iterator[tuple[str]]:
    """Write word, part of speech, chunk and entity, and document boundaries."""
    for sentence in sentences:
        boundary = _boundary(sentence, "conll2003")
        columns = [
            sentence.words,
            _filled(sentence.tags, len(sentence.words), NOT_GIVEN),
            _encoded(sentence.chunks, sentence, "conll2003", scheme),
            _encoded(sentence.ents, sentence, "conll2003", scheme),
        ]
        yield (boundary + _block(sentence, columns, "conll2003", " "),)


def write_iob(sentences: Iterable[Sentence], scheme: str = "BIO") -> Iterator[tuple[str]]:
    """Write word and tag, separated by a tab, and document boundaries."""
    for sentence in sentences:
        boundary = _boundary(sentence, "iob")
        spans = sentence.chunks if sentence.ents is None else sentence.ents
        columns = [sentence.words, _encoded(spans, sentence, "iob", scheme)]
        yield (boundary + _block(sentence, columns, "iob", "\t"),)


def write_conllu(sentences: Iterable[Sentence], scheme: str = "BIO") -> Iterator[tuple[str]]:
    """Write CoNLL-U, with `_` for the dependencies, and entities in MISC (`name=B-PER`)."""
    for sentence in sentences:
        n_words = len(sentence.words)
        empty = ["_"] * n_words
        spaces = sentence.spaces or [True] * n_words
        misc = [[] if space else ["SpaceAfter=No"] for space in spaces]
        if sentence.ents is not None:
            tags = _encoded(sentence.ents, sentence, "conllu", scheme)
            if "|" in "".join(tags):
                label = next(label for _, _, label in sentence.ents if "|" in label)
                problem = f"the label '{label}' has the sign |, which separates values in MISC"
                raise unwritable(sentence, "conllu", problem)
            misc = [[f"name={tag}", *rest] for tag, rest in zip(tags, misc, strict=True)]
        columns = [
            [str(i) for i in range(1, n_words + 1)],
            sentence.words,
            _filled(sentence.lemmas, n_words, "_"),
            _filled(sentence.pos, n_words, "_"),
            _filled(sentence.tags, n_words, "_"),
            [_sorted_features(morph) for morph in _filled(sentence.morphs, n_words, "_")],
            empty,
            empty,
            empty,
            ["|".join(parts) or "_" for parts in misc],
        ]
        comment = ""
        if sentence.starts_document:
            comment = f"# newdoc id = {sentence.document}\n" if sentence.document else "# newdoc\n"
        yield (comment + _block(sentence, columns, "conllu", "\t", _WHITE_CONLLU),)


def write_conll2005(
    sentences: Iterable[Sentence], scheme: str = "BIO"
) -> Iterator[tuple[str, str]]:
    """Write the words to one file and the propositions to another. The format has no senses."""
    for sentence in sentences:
        frames = _ordered_frames(sentence, "conll2005")
        targets = [UNKNOWN] * len(sentence.words)
        for frame in frames:
            targets[frame.predicate] = frame.lemma or NOT_GIVEN
        columns = [targets, *_propositions(sentence, frames, "conll2005")]
        words = _block(sentence, [sentence.words], "conll2005", "\t")
        yield words, _block(sentence, columns, "conll2005", "\t")


def write_conll2012(sentences: Iterable[Sentence], scheme: str = "BIO") -> Iterator[tuple[str]]:
    """Write the columns of CoNLL-2012, with placeholders for parse, word sense and coreference."""
    current: str | None = None
    is_open = False
    for sentence in sentences:
        name, _, part = (sentence.document or UNKNOWN).partition(PART_SEPARATOR)
        text = ""
        if sentence.starts_document or sentence.document != current:
            text = "#end document\n" if is_open else ""
            is_open = sentence.starts_document or sentence.document is not None
            if is_open:
                text += f"#begin document ({name}){PART_SEPARATOR}{part.zfill(3)}\n"
            current = sentence.document
        yield (text + _block(sentence, _columns_2012(sentence, name, part), "conll2012", "  "),)
    if is_open:
        yield ("#end document\n",)


def _columns_2012(sentence: Sentence, name: str, part: str) -> list[Sequence[str]]:
    n_words = len(sentence.words)
    frames = _ordered_frames(sentence, "conll2012")
    lemmas = list(_filled(sentence.lemmas, n_words, UNKNOWN))
    framesets = [UNKNOWN] * n_words
    for frame in frames:
        lemmas[frame.predicate] = frame.lemma or NOT_GIVEN
        framesets[frame.predicate] = frame.sense or NOT_GIVEN
    ents = write_brackets(sentence.ents or (), n_words, partial(unwritable, sentence, "conll2012"))
    return [
        [name] * n_words,
        [str(int(part)) if part.isdecimal() else "0"] * n_words,
        [str(i) for i in range(n_words)],
        sentence.words,
        _filled(sentence.tags, n_words, UNKNOWN),
        ["*"] * n_words,
        lemmas,
        framesets,
        [UNKNOWN] * n_words,
        [sentence.speakers or UNKNOWN] * n_words,
        ents,
        *_propositions(sentence, frames, "conll2012"),
        [UNKNOWN] * n_words,
    ]


def _ordered_frames(sentence: Sentence, form: str) -> list[Frame]:
    """The frames by predicate. One without lemma or sense is written with the mark NOT_GIVEN: with
    UNKNOWN, srl-eval.pl would take the token for none, and its arguments for the next predicate's.
    """
    fail = partial(unwritable, sentence, form)
    frames = sorted(sentence.frames or (), key=lambda frame: frame.predicate)
    for left, right in pairwise(frames):
        if left.predicate == right.predicate:
            word = sentence.words[left.predicate]
            raise fail(f"the word '{word}' has several frames, and the format has room for one")
    for frame in frames:
        reserved = {frame.lemma, frame.sense} & {UNKNOWN, NOT_GIVEN}
        if reserved:
            raise fail(f"the lemma or sense '{reserved.pop()}' is the format's mark for none")
    return frames


def _propositions(sentence: Sentence, frames: Sequence[Frame], form: str) -> list[list[str]]:
    fail = partial(unwritable, sentence, form)
    return [write_brackets(frame.arguments, len(sentence.words), fail) for frame in frames]


def _block(
    sentence: Sentence,
    columns: Sequence[Sequence[str]],
    form: str,
    separator: str,
    white: re.Pattern[str] = _WHITE,
) -> str:
    """The lines of a sentence and a blank line, after checking that each cell can be written."""
    for column in columns:
        # Check all cells at once first, since almost no sentence has a problem.
        if all(column) and not white.search("".join(column)):
            continue
        for cell in column:
            if not cell or white.search(cell):
                problem = f"{cell!r} is empty, or has NUL, or whitespace, which separates columns"
                raise unwritable(sentence, form, problem)
    lines = [separator.join(row) + "\n" for row in zip(*columns, strict=True)]
    return "".join(lines) + "\n"


def _encoded(spans: list[Span] | None, sentence: Sentence, form: str, scheme: str) -> list[str]:
    encode = get_scheme(scheme).encode
    try:
        return encode(spans or (), len(sentence.words))
    except ValueError as err:
        problem = str(err).partition("] ")[2].rstrip(".")
        raise unwritable(sentence, form, problem) from err


def _sorted_features(morph: str) -> str:
    """Sort features as in Universal Dependencies, ignoring case, which spaCy does not."""
    return "|".join(sorted(morph.split("|"), key=str.lower))


def _filled(values: Sequence[str] | None, length: int, nothing: str) -> Sequence[str]:
    return [nothing] * length if values is None else [value or nothing for value in values]


def _boundary(sentence: Sentence, form: str) -> str:
    """The line before a sentence that starts a document, and a blank one."""
    if DOCUMENT_BOUNDARY in sentence.words:
        problem = f"the word {DOCUMENT_BOUNDARY} marks document boundaries"
        raise unwritable(sentence, form, problem)
    return f"{DOCUMENT_BOUNDARY} -X- O O\n\n" if sentence.starts_document else ""


WRITERS: dict[str, Writer] = {
    writer.name: writer
    for writer in (
        Writer("conll2000", write_conll2000, has_ents=False),
        Writer("conll2003", write_conll2003),
        Writer("iob", write_iob),
        Writer("conllu", write_conllu),
        Writer("conll2005", write_conll2005, (".words", ".props"), has_ents=False),
        Writer("conll2012", write_conll2012),
    )
}
