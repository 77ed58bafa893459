"""Tell by their values what columns have, and so which layer of annotation each is."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from enum import Enum
from itertools import chain, pairwise

from spacy.glossary import GLOSSARY

from .column_spans import Pair, find_misfits
from .columns import Row

PLACEHOLDERS = frozenset(("_", "-", "-X-", "*"))
# The last ones are not tags, but nearly: the reader names the lines of those.
_SPAN_TAG = re.compile(r"[Oo]|[BIESLUM]-.+|[biesl]-.+|[BIESLU][_:/+.].+")
_BARE = re.compile(r"[BIOESLUM]", re.IGNORECASE)
_LABEL = re.compile(r"[A-Z][A-Z_]+")

# Of the Penn Treebank's constituents and, in German and French, of the Stuttgart chunker.
_CHUNKS = frozenset(
    ("np", "vp", "pp", "advp", "adjp", "sbar", "prt", "conjp", "intj", "lst", "ucp", "pnp")
) | {"nc", "vc", "pc"}
# How many columns of few values have fewer than those of words, where there are enough rows.
_ENOUGH, _MAX_TAGS, _RATIO = 200, 60, 4

Values = Sequence[Sequence[str]]
"""The values of a column, by sentence."""


class Kind(Enum):
    """What a column has, in the words for users."""

    NUMBERS = "numbers"
    SPANS = "spans"
    PLACEHOLDERS = "placeholders"
    SPACES = "spaces"
    OUTSIDE = "only O"
    BARE = "bare B, I, O"
    LABELS = "labels without prefixes"
    CONSTANT = "constant"
    VALUES = "values"


SPAN_KINDS = (Kind.SPANS, Kind.OUTSIDE, Kind.BARE, Kind.LABELS)


def column_values(sentences: Sequence[Sequence[Row]], width: int, index: int) -> Values:
    """Get the values of a column."""
    columns = [[r.columns[index] for r in rows if len(r.columns) == width] for rows in sentences]
    return [values for values in columns if values]


def is_counting(values: Values) -> bool:
    """Check whether a column counts the tokens of each sentence, or of the file."""
    found = list(chain.from_iterable(values))
    if not all(value.isdecimal() and value.isascii() and len(value) < 10 for value in found):
        return False
    pairs = [pair for sentence in values for pair in pairwise(map(int, sentence))]
    return bool(pairs) and all(right == left + 1 for left, right in pairs)


def is_span_tags(values: Values) -> bool:
    """Check whether most values are tags of spans, and at least one of them has a label."""
    counts = Counter(chain.from_iterable(values))
    tags = {value: n for value, n in counts.items() if _SPAN_TAG.fullmatch(value)}
    return any(len(tag) > 1 for tag in tags) and sum(tags.values()) > counts.total() / 2


def kind(values: Values, width: int) -> Kind:
    """Tell what a column has: the first of these rules that holds decides."""
    counts = Counter(chain.from_iterable(values))
    found = counts.keys()
    # Two columns are words with tags, even if the words are years.
    if width > 2 and _are_numbers(values, counts):
        return Kind.NUMBERS
    # Before bare tags and labels: a single prefix with a label is enough.
    if is_span_tags(values):
        return Kind.SPANS
    # Before + and -: in a column of - alone, nothing is annotated.
    if found <= PLACEHOLDERS:
        return Kind.PLACEHOLDERS
    if found <= {"+", "-"}:
        return Kind.SPACES
    # Before labels: O alone suits all tags of spans.
    if found <= {"O", "o"}:
        return Kind.OUTSIDE
    # Before labels: beside many O, any other values are taken for some.
    if _are_bare(counts):
        return Kind.BARE
    if _are_labels(counts):
        return Kind.LABELS
    return Kind.CONSTANT if len(found) == 1 and counts.total() > 2 else Kind.VALUES


def _are_numbers(values: Values, counts: Counter[str]) -> bool:
    """Whether these are numbers, as of tokens, sentences or characters."""
    # Sentences of one token do not show whether they are counted.
    is_first = counts.keys() <= {"0", "1"} and max(map(len, values)) == 1
    are_decimal = counts.total() > 2 and all(map(str.isdecimal, counts))
    return is_first or are_decimal or is_counting(values)


def _are_bare(counts: Counter[str]) -> bool:
    n_bare = sum(n for value, n in counts.items() if _BARE.fullmatch(value))
    return n_bare > counts.total() / 2 and "O" in counts and ("B" in counts or "I" in counts)


def _are_labels(counts: Counter[str]) -> bool:
    # The word O would be among others in lower case.
    others = [value for value in counts if value != "O"]
    are_labels = counts["O"] > 2 or all(map(_LABEL.fullmatch, others))
    return counts["O"] >= 0.4 * counts.total() and are_labels


def scheme_of(values: Values) -> str:
    """Tell the tag scheme of most tags in a column of tags of spans."""
    counts: Counter[Pair] = Counter()
    for sentence in values:
        tags = (f"{tag[:1].upper()}-{tag[2:]}" for tag in sentence)
        known = (tag if tag[0] in "BIESLUM" else "O" for tag in tags)
        counts.update(pairwise((None, *known, None)))
    return find_misfits(counts)[0]


def find_layers(
    columns: Sequence[Values], kinds: Sequence[Kind], targets: Collection[str] = ()
) -> dict[str, int]:
    """Tell which layer each column has. There are none without a column of words."""
    words = _find_words(columns, kinds)
    if words is None:
        return {}
    layers = {"words": words}
    if Kind.SPACES in kinds:
        layers["spaces"] = kinds.index(Kind.SPACES)
    spans = [i for i, found in enumerate(kinds) if found in SPAN_KINDS]
    # The words of a small sample may have one part of speech; one value behind the tags of all
    # spans is none, but may name the annotator.
    end_of_constants = max(spans, default=len(kinds))
    rest = []
    for i, found in enumerate(kinds):
        is_constant = found is Kind.CONSTANT and i < end_of_constants
        if i != words and (found is Kind.VALUES or is_constant):
            if "lemmas" not in layers and _are_lemmas(columns[i], columns[words]):
                layers["lemmas"] = i
            elif _may_be_tags(columns[i]):
                rest.append(i)
    known = [i for i in rest if _share_of_tags(columns[i]) > 0.5]
    # Without known tags or spans, it is uncertain which of several columns has the tags.
    if known or (rest and (spans or len(rest) == 1)):
        layers["tags"] = (known or rest)[0]
    layers.update(_find_spans(columns, kinds, spans, layers))
    return _suit(layers, set(targets))


def _find_words(columns: Sequence[Values], kinds: Sequence[Kind]) -> int | None:
    """The first column of values, unless these are tags of words in one behind it."""
    candidates = [i for i, found in enumerate(kinds) if found is Kind.VALUES]
    candidates = candidates or [i for i, found in enumerate(kinds) if found is Kind.CONSTANT]
    if not candidates:
        return None
    first, *others = candidates
    return next((i for i in others if _are_tags(columns[first], columns[i])), first)


def _are_tags(values: Values, words: Values) -> bool:
    """Whether values are tags of words: known ones, or few in many rows."""
    if _share_of_tags(values) > 0.8 and _share_of_tags(words) < 0.5:
        return True
    n_tags, n_words = (len(set(_flat(column))) for column in (values, words))
    return len(_flat(values)) > _ENOUGH and n_tags <= _MAX_TAGS and n_tags * _RATIO < n_words


def _find_spans(
    columns: Sequence[Values], kinds: Sequence[Kind], spans: Sequence[int], layers: dict[str, int]
) -> dict[str, int]:
    """The columns of chunks and entities."""
    chunks = next((i for i in spans if kinds[i] is Kind.SPANS and _are_chunks(columns[i])), None)
    # In CoNLL-2003, the last columns are part of speech, chunk and entity.
    last = len(kinds) - 2
    if chunks is None and list(spans) == [last, last + 1] and layers.get("tags") == last - 1:
        chunks = last
    others = [i for i in spans if i != chunks]
    # One without labels is the first of nested entities, or belongs to a sample without any.
    labelled = [i for i in others if kinds[i] is not Kind.OUTSIDE]
    ents = next(iter(labelled or others), None)
    if ents is not None and kinds[ents] in (Kind.BARE, Kind.LABELS):
        # The options for such tags apply to all columns of spans.
        chunks = None
    found = {"chunks": chunks, "ents": ents}
    return {layer: i for layer, i in found.items() if i is not None}


def _suit(layers: dict[str, int], targets: set[str]) -> dict[str, int]:
    """Let the targets tell what the only column of tags of spans is."""
    has_ents, has_chunks = "ents" in targets, "spans" in targets
    if has_ents and not has_chunks and "ents" not in layers and "chunks" in layers:
        layers["ents"] = layers.pop("chunks")
    if has_chunks and not has_ents and "chunks" not in layers and "ents" in layers:
        layers["chunks"] = layers.pop("ents")
    if "tag" in targets and "tags" not in layers and not (has_ents or has_chunks):
        for layer in ("ents", "chunks"):
            if layer in layers:
                layers["tags"] = layers.pop(layer)
    return layers


def _flat(values: Values) -> list[str]:
    return list(chain.from_iterable(values))


def _share_of_tags(values: Values) -> float:
    """The share of known parts of speech, as opposed to words and punctuation."""
    found = [value for value in _flat(values) if value[:1].isalpha()]
    return sum(value in GLOSSARY and value.isupper() for value in found) / max(1, len(found))


def _may_be_tags(values: Values) -> bool:
    counts = Counter(_flat(values))
    is_text = any(not value.replace(".", "").isdecimal() for value in counts)
    return is_text and len(counts) <= 0.5 * counts.total() + 10


def _are_lemmas(values: Values, words: Values) -> bool:
    """Whether most values begin with the letter of the word, and are not parts of speech."""
    pairs = [
        (value.casefold(), word.casefold())
        for value, word in zip(_flat(values), _flat(words), strict=True)
        if word[:1].isalpha()
    ]
    alike = sum(value[:1] == word[:1] for value, word in pairs)
    return alike > 0.5 * len(pairs) and _share_of_tags(values) < 0.5


def _are_chunks(values: Values) -> bool:
    labels = Counter(value[2:].casefold() for value in _flat(values) if value[2:])
    return sum(labels[name] for name in _CHUNKS) > 0.5 * labels.total()
