"""Training data with mistakes: training works, or one error says what is wrong and where."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vectors import Vectors
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame, set_frames
from spacy_psa.cli.vocabulary import make_vectors

from ..pipeline import srl_data
from ..pipeline.conftest import NAME, make_adam, make_nlp, tagger_of, tiny_model

ODD_LABELS = ["B-", "-", "_", " ", "a b", "x\ny", "I-", "S-A", "|", "B-A", "ÿ", "😀", "A", "a"]
SpanPlace = tuple[int, int, str]


def example(vocab: Vocab, words: Sequence[str], **gold: Any) -> Example:
    """An example with the same tokens on both sides."""
    return Example(Doc(vocab, words=list(words)), Doc(vocab, words=list(words), **gold))


def tagged(vocab: Vocab, *tags: Sequence[str]) -> list[Example]:
    """Examples with tags and the words w0, w1, …"""
    return [example(vocab, [f"w{i}" for i in range(len(ts))], tags=list(ts)) for ts in tags]


def spanned(
    vocab: Vocab, spans: Sequence[Iterable[SpanPlace]], *, target: str = "spans", n: int = 6
) -> list[Example]:
    """Examples of n tokens with spans or entities."""
    examples = []
    for places in spans:
        found = example(vocab, [f"w{i}" for i in range(n)])
        group = [Span(found.reference, *place) for place in places]
        if target == "spans":
            found.reference.spans["sc"] = group
        else:
            found.reference.ents = group
        examples.append(found)
    return examples


def framed(vocab: Vocab, frames: Sequence[Sequence[Frame]], n: int = 6) -> list[Example]:
    """Examples of n tokens with frames."""
    examples = []
    for found in frames:
        eg = example(vocab, [f"w{i}" for i in range(n)])
        set_frames(eg.reference, found)
        set_frames(eg.predicted, [Frame(frame.predicate, None, None, []) for frame in found])
        examples.append(eg)
    return examples


def learn(
    nlp: Language, examples: list[Example], *, labels: Sequence[str] | None = None
) -> list[float]:
    """Initialize the only component and take three steps. RETURNS (List[float]): The losses."""
    ((name, pipe),) = nlp.pipeline
    pipe.initialize(lambda: examples, nlp=nlp, labels=labels)
    optimizer = make_adam()
    losses = [nlp.update(examples, sgd=optimizer)[name] for _ in range(3)]
    assert np.isfinite(losses).all()
    nlp.evaluate(examples)
    # The trained pipeline can be saved and used again.
    spacy.blank("xx").from_bytes(nlp.to_bytes(), exclude=[name])
    list(nlp.pipe(eg.predicted.copy() for eg in examples))
    return losses


def refuse(nlp: Language, examples: list[Example], match: str, **settings: Any) -> None:
    """Training must end with an error."""
    with pytest.raises(ValueError, match=match):
        learn(nlp, examples, **settings)


# Vectors


def with_vectors(nlp: Language, rows: Any, words: Sequence[str], places: Sequence[int]) -> Language:
    """Give a pipeline vectors: places[i] is the row of words[i]."""
    data = np.asarray(rows, dtype="float32")
    vectors = Vectors(strings=nlp.vocab.strings, shape=data.shape)
    vectors.data = data
    for word, row in zip(words, places, strict=True):
        nlp.vocab.strings.add(word)
        vectors.add(word, row=row)
    nlp.vocab.vectors = vectors
    return nlp


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("word", ["w1", "unseen"])
def test_vectors_that_are_not_finite_are_named(value: float, word: str) -> None:
    rows = np.ones((3, 4))
    rows[1, 2] = value
    nlp = with_vectors(make_nlp(), rows, ["w0", word, "w2"], [0, 1, 2])
    refuse(nlp, tagged(nlp.vocab, "ABA"), rf"P432.*for: '{word}'\.")


def test_a_few_of_many_vectors_are_named() -> None:
    words = [f"w{i}" for i in range(9)]
    nlp = with_vectors(make_nlp(), np.full((9, 4), np.nan), words, range(9))
    refuse(nlp, tagged(nlp.vocab, "ABA"), r"P432.*'w0', 'w1', 'w2', 'w3', 'w4' and 4 more\.")


def test_rows_without_words_are_named_by_their_numbers() -> None:
    nlp = with_vectors(make_nlp(), [[1.0, 1.0], [np.nan, 1.0]], ["w0"], [0])
    refuse(nlp, tagged(nlp.vocab, "ABA"), r"P432.*'row 1'")


def test_words_can_share_a_vector() -> None:
    nlp = with_vectors(make_nlp(), np.eye(2, 4), ["w0", "w1", "w2"], [0, 0, 1])
    learn(nlp, tagged(nlp.vocab, "ABA"))
    table = tagger_of(nlp).model.get_ref("tok2vec").shims[0].network.words.weight
    assert table.shape == (1 + 3, 4)


@pytest.mark.parametrize("shape", [(3, 0), (0, 4)])
def test_vectors_without_numbers_are_none(shape: tuple[int, int]) -> None:
    words = [f"w{i}" for i in range(shape[0])]
    nlp = with_vectors(make_nlp(), np.ones(shape), words, range(shape[0]))
    learn(nlp, tagged(nlp.vocab, "ABA"))
    assert tagger_of(nlp).model.get_ref("tok2vec").shims[0].network.words.width == 100


def test_of_a_word_that_a_file_has_twice_the_last_vector_counts(tmp_path: Path) -> None:
    (tmp_path / "twice.txt").write_text("4 2\nw0 1 2\nw1 3 4\nw0 5 6\nw2 7 8\n", encoding="utf8")
    make_vectors(tmp_path / "twice.txt", str(tmp_path / "vectors"))
    nlp = make_nlp()
    nlp.vocab.vectors = spacy.load(tmp_path / "vectors").vocab.vectors
    assert nlp.vocab.vectors["w0"].tolist() == [5.0, 6.0]
    learn(nlp, tagged(nlp.vocab, "ABA"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("2 2\nw0 nan 2\nw1 1 4\n", r"P432.*'w0'"),
        ("2 2\nw0 1 2\nw1 1e300 4\n", r"P432.*'w1'"),
        ("2 0\nw0\nw1\n", r"P176.*no numbers"),
        ("2 2\nw0 1 2\nw1 1\n", r"P176.*line 1"),
    ],
)
def test_psa_vectors_refuses_what_cannot_be_trained_with(
    tmp_path: Path, text: str, match: str
) -> None:
    (tmp_path / "bad.txt").write_text(text, encoding="utf8")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="overflow encountered")
        with pytest.raises(ValueError, match=match):
            make_vectors(tmp_path / "bad.txt", str(tmp_path / "vectors"))
    assert not (tmp_path / "vectors").exists()


# Labels


@pytest.mark.parametrize(
    "tags",
    [["AAAB", "AAA"], ["A"], [*[""] * 12, "AB"], ["OAO"]],
    ids=["a label once", "one document", "empty documents first", "tokens labeled O"],
)
def test_whatever_labels_there_are_are_learnt(tags: list[str]) -> None:
    nlp = make_nlp()
    learn(nlp, tagged(nlp.vocab, *tags))
    assert set(tagger_of(nlp).labels) == set("".join(tags))


@pytest.mark.parametrize("decoder", ["Softmax", "CRF", "PairwiseCRF"])
def test_data_of_one_class_are_learnt(decoder: str) -> None:
    nlp = make_nlp(model=tiny_model(decoder={"@architectures": f"spacy_psa.{decoder}.v1"}))
    assert learn(nlp, tagged(nlp.vocab, "AA", "A"))[0] == pytest.approx(0.0, abs=1e-6)
    assert [token.tag_ for token in nlp(Doc(nlp.vocab, words=["w0", "x"]))] == ["A", "A"]


@pytest.mark.parametrize("target", ["spans", "ents"])
def test_a_span_over_everything_is_learnt(target: str) -> None:
    nlp = make_nlp(target)
    learn(nlp, spanned(nlp.vocab, [[(0, 6, "A")]], target=target))


@pytest.mark.parametrize("target", ["spans", "ents"])
def test_data_without_a_span_have_no_labels(target: str) -> None:
    nlp = make_nlp(target)
    examples = spanned(nlp.vocab, [[], []], target=target)
    refuse(nlp, examples, rf"P305.*'{NAME}' \(target '{target}'")
    losses = learn(make_nlp(target), examples, labels=["A"])
    assert losses[-1] < losses[0], "that there is none can be learnt"


@pytest.mark.parametrize("target", ["tag", "pos", "morph", "ents", "spans"])
def test_data_without_annotation_are_an_error_or_a_warning(target: str) -> None:
    nlp = make_nlp(target)
    examples = [example(nlp.vocab, ["a", "b"])]
    refuse(nlp, examples, "P305")
    label = {"pos": "NOUN", "morph": "A=B"}.get(target, "A")
    with pytest.warns(UserWarning, match=rf"W431.*'{NAME}'"):
        assert learn(make_nlp(target), examples, labels=[label]) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("label", ["A", "A=", "=B", "A=B|", "A=B|C", "A=B=C"])
def test_morphology_that_is_none_is_refused(label: str) -> None:
    nlp = make_nlp("morph")
    examples = [example(nlp.vocab, ["a"], morphs=["A=B|C=D"])]
    refuse(nlp, examples, rf"P434.*{re.escape(label)}.*Feature=Value", labels=[label])
    learn(make_nlp("morph"), examples, labels=["A=B|C=D", "A=B,E|C=D", "_"])


def test_an_empty_tag_is_missing_annotation() -> None:
    nlp = make_nlp()
    learn(nlp, tagged(nlp.vocab, ["A", "", "B"], ["", ""]))
    assert tagger_of(nlp).labels == ("A", "B")


def test_an_empty_label_is_refused() -> None:
    nlp = make_nlp()
    refuse(nlp, tagged(nlp.vocab, "AB"), rf"P434.*''.*'{NAME}'.*empty", labels=["A", ""])


@pytest.mark.parametrize("target", ["tag", "ents", "spans"])
def test_labels_of_any_characters_are_learnt(target: str) -> None:
    nlp = make_nlp(target)
    places = [(i, i + 1 + i % 2, label) for i, label in enumerate(ODD_LABELS) if not i % 2]
    places += [(i, i + 1, label) for i, label in enumerate(ODD_LABELS, 14) if i % 2]
    examples = (
        tagged(nlp.vocab, ODD_LABELS)
        if target == "tag"
        else spanned(nlp.vocab, [places], target=target, n=30)
    )
    learn(nlp, examples)
    tagger = tagger_of(nlp)
    assert sorted(tagger.labels) == sorted(ODD_LABELS)
    assert json.loads(json.dumps(tagger.label_data)) == list(tagger.label_data)
    ids = {tag: i for i, tag in enumerate(tagger.tags)}
    found, _ = tagger.target.gold_sets(examples[0], [0, 30], ids)
    tags = [tagger.tags[i] for i in found]
    assert set(map(tagger.target.label_of, tags)) >= set(ODD_LABELS)
    if target != "tag":
        assert tagger.target.spans_of(tags) == sorted(places)


@pytest.mark.parametrize("target", ["ents", "spans"])
def test_spans_cannot_be_labeled_like_the_outside(target: str) -> None:
    nlp = make_nlp(target)
    examples = spanned(nlp.vocab, [[(0, 3, "O")]], target=target)
    refuse(nlp, examples, rf"P434.*'O' cannot be a label of '{NAME}'.*outside")


def test_labels_that_differ_by_case_are_two() -> None:
    nlp = make_nlp("spans")
    learn(nlp, spanned(nlp.vocab, [[(0, 1, "loc"), (1, 3, "LOC"), (3, 4, "Loc")]]))
    assert tagger_of(nlp).labels == ("LOC", "Loc", "loc")


def test_labels_that_only_the_development_data_have_are_missed_and_named() -> None:
    nlp = make_nlp("spans")
    learn(nlp, spanned(nlp.vocab, [[(0, 1, "A")]]))
    dev = spanned(nlp.vocab, [[(0, 1, "B"), (2, 3, "C")], [(0, 1, "A")]])
    with pytest.warns(UserWarning, match=rf"W430.*labels 'B', 'C' occur.*'{NAME}'"):
        scores = nlp.evaluate(dev)
    per_type = scores["spans_sc_per_type"]
    assert per_type["B"]["r"] == per_type["C"]["r"] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.evaluate(dev)


def test_development_data_without_the_annotation_are_named_once() -> None:
    nlp = make_nlp("ents")
    learn(nlp, spanned(nlp.vocab, [[(0, 1, "A")]], target="ents"))
    bare = [example(nlp.vocab, ["w0", "w1"], tags=["X", "Y"])]
    with pytest.warns(UserWarning, match=rf"W446.*1 evaluation examples.*'{NAME}' \(target 'ents"):
        nlp.evaluate(bare)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.evaluate(bare)


def test_development_data_without_entities_are_annotated() -> None:
    nlp = make_nlp("ents")
    learn(nlp, spanned(nlp.vocab, [[(0, 1, "A")]], target="ents"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.evaluate(spanned(nlp.vocab, [[]], target="ents"))


# Spans


@pytest.mark.parametrize("labels", [None, ["A", "B"]])
@pytest.mark.parametrize(
    ("place", "problem"), [((0, 3, ""), "0 to 3.*has no label"), ((2, 2, "A"), "has no tokens")]
)
def test_a_span_that_is_none_is_named(
    place: SpanPlace, problem: str, labels: list[str] | None
) -> None:
    nlp = make_nlp("spans")
    examples = spanned(nlp.vocab, [[(3, 4, "B")], [place, (3, 4, "B")]])
    match = rf"P433.*{problem}.*beginning 'w0 w1"
    if labels is None:
        with pytest.raises(ValueError, match=match):
            nlp.initialize(lambda: examples)
    refuse(make_nlp("spans"), examples, match, labels=labels)


def test_an_argument_without_a_role_is_named() -> None:
    for argument, problem in (((0, 1, ""), "no label"), ((2, 2, "A0"), "no tokens")):
        nlp = srl_data.make_nlp()
        examples = framed(nlp.vocab, [[Frame(1, None, None, [argument])]])
        refuse(nlp, examples, rf"P433.*frames/0000.*has {problem}.*'w0 w1")


@pytest.mark.parametrize("second", [(2, 4, "B"), (0, 3, "B"), (1, 2, "A")])
def test_spans_that_overlap_are_named_and_skipped(second: SpanPlace) -> None:
    nlp = make_nlp("spans")
    examples = spanned(nlp.vocab, [[(0, 3, "A"), second]])
    start, end, label = second
    with pytest.warns(UserWarning, match=rf"W301.*\({label}, tokens {start} to {end}\).*'w0 w1"):
        learn(nlp, examples)


def test_arguments_that_overlap_are_named_and_skipped() -> None:
    nlp = srl_data.make_nlp()
    frame = Frame(4, None, None, [(0, 1, "A0"), (0, 3, "A1")])
    examples = framed(nlp.vocab, [[frame]])
    nlp.initialize(lambda: examples)
    with pytest.warns(UserWarning, match=r"W321.*A1 'w0 w1 w2'.*'w0 w1"):
        nlp.update(examples, sgd=make_adam())


def test_a_predicate_that_is_there_twice_is_named() -> None:
    nlp = srl_data.make_nlp()
    frames = [Frame(1, None, None, [(0, 1, "A0")]), Frame(1, None, None, [(2, 3, "A1")])]
    refuse(nlp, framed(nlp.vocab, [frames]), r"P321.*token 1 .*'w0 w1")


def test_data_without_frames_are_an_error_or_a_warning() -> None:
    nlp = srl_data.make_nlp()
    examples = framed(nlp.vocab, [[], []])
    refuse(nlp, examples, r"P323.*'psa_srl'")
    with (
        pytest.warns(UserWarning, match=r"W431.*'psa_srl'"),
        pytest.warns(UserWarning, match=r"W446.*'psa_srl' \(target 'roles'\)"),
    ):
        learn(srl_data.make_nlp(), examples, labels=["A0"])


# Documents


@pytest.mark.parametrize("target", ["tag", "ents", "spans"])
def test_sentences_beyond_the_window_are_learnt(target: str) -> None:
    nlp = make_nlp(target, model=tiny_model(max_length=8, overlap=2))
    examples = (
        tagged(nlp.vocab, "AB" * 20)
        if target == "tag"
        else spanned(nlp.vocab, [[(0, 25, "A"), (26, 29, "B")]], target=target, n=30)
    )
    learn(nlp, examples)


@pytest.mark.filterwarnings("ignore:.W405")
def test_roles_beyond_the_window_are_learnt() -> None:
    nlp = srl_data.make_nlp(srl_data.tiny_model(max_length=8, overlap=2))
    learn(nlp, framed(nlp.vocab, [[Frame(1, None, None, [(2, 4, "A0")])]], n=40))


@pytest.mark.parametrize("make", [make_nlp, srl_data.make_nlp])
def test_a_corpus_of_empty_documents_is_an_error(make: Callable[[], Language]) -> None:
    nlp = make()
    examples = [example(nlp.vocab, []) for _ in range(3)]
    refuse(nlp, examples, r"P436.*None of the 3 training examples", labels=["A", "V"])


# Tokens


def other_tokens(vocab: Vocab, *, text: bool = False) -> Example:
    """Predicted tokens `abc def` and gold tokens `a bcd ef`, none of which align."""
    predicted = Doc(vocab, words=["abc", "def"], spaces=[False, False])
    reference = Doc(vocab, words=["a", "bcd", "ef"], spaces=[False] * 3, tags=["A", "B", "C"])
    reference.spans["sc"] = [Span(reference, 0, 2, "A")]
    reference.ents = list(reference.spans["sc"])
    return Example(predicted, reference)


@pytest.mark.parametrize("target", ["tag", "ents", "spans"])
def test_annotation_of_other_tokens_alone_is_warned_of(target: str) -> None:
    nlp = make_nlp(target)
    with pytest.warns(UserWarning, match="W431"):
        assert learn(nlp, [other_tokens(nlp.vocab)])[0] == 0.0


@pytest.mark.parametrize("target", ["tag", "ents", "spans"])
def test_annotation_of_other_tokens_among_others_is_not_known(target: str) -> None:
    nlp = make_nlp(target)
    more = (
        tagged(nlp.vocab, "AB")
        if target == "tag"
        else spanned(nlp.vocab, [[(0, 2, "A")]], target=target)
    )
    assert learn(nlp, [other_tokens(nlp.vocab), *more])[0] > 0.0


def test_annotation_of_another_text_is_an_error() -> None:
    nlp = make_nlp()
    predicted = Doc(nlp.vocab, words=["totally", "other"])
    reference = Doc(nlp.vocab, words=["Ann", "likes"], tags=["A", "B"])
    refuse(nlp, [Example(predicted, reference)], r"E949.*totally")
