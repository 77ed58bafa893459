"""Semantic roles of any documents, predicates and models: predicted, written, saved and learned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Adam

from spacy_psa.annotation.propositions import FRAMES_KEY, Frame, set_frames
from spacy_psa.annotation.schemes import SCHEMES, Span
from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.models.srl import labeled_propositions, predict_in_parts
from spacy_psa.pipeline.srl.decoding import GreedyDecoding
from spacy_psa.pipeline.srl.frames import format_frames
from spacy_psa.pipeline.srl.predicates import PREDICATES_KEY, VerbPredicates
from spacy_psa.pipeline.srl.role_rules import ConstrainedDecoding
from spacy_psa.pipeline.srl.scorer import score_examples

from .pipelines import weights_of
from .roles import (
    CASES,
    LABELS,
    NAME,
    Sentences,
    examples,
    frames,
    initialized,
    make_nlp,
    pipeline,
    probabilities,
    sentences,
    srl_of,
)
from .saving import WAYS, Way
from .strategies import Words, few_examples, labels, role_models

# Warnings about windows, and about overlapping gold arguments
pytestmark = [pytest.mark.filterwarnings(rf"ignore:\[{code}\]") for code in ("W405", "W321")]

# Labeling several documents twice takes 60 ms
some_of_them = settings(max_examples=max(1, settings.default.max_examples // 5))
pipelines = st.sampled_from(sorted(CASES)).map(pipeline)
batches = st.lists(sentences(), min_size=2, max_size=3)
BIO = SCHEMES["BIO"]


def chains(nlp: Language, doc: Doc, predicates: Sequence[int]) -> list[Potentials]:
    """Compute the scores for each predicate."""
    return list(predict_in_parts(srl_of(nlp).model, [doc], [list(predicates)], max_positions=1))


def assert_same_to_rounding(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Tolerate rounding: the float32 terms of a score may be ten times its size, and scaled."""
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def assert_equally_good(nlp: Language, some: Sentences, found: Doc, expected: Doc) -> None:
    """Compare frames and their probabilities. If two label sequences tie to six digits, rounding
    may decide between them.
    """
    ours, theirs = frames(found), frames(expected)
    assert [frame[:3] for frame in ours] == [frame[:3] for frame in theirs]
    if ours == theirs:
        np.testing.assert_allclose(probabilities(found), probabilities(expected), atol=1e-5)
        return
    srl, doc, predicates = srl_of(nlp), some.doc(nlp.vocab), [frame[0] for frame in theirs]
    places = labeled_propositions(srl.model, doc, predicates)
    ids = {tag: i for i, tag in enumerate(srl.tags)}

    def score(scores: Potentials, start: int, arguments: list[Span]) -> float:
        shifted = [(first - start, last - start, role) for first, last, role in arguments]
        tags = BIO.encode(shifted, scores.n_tokens)
        return float(LinearChain(scores).score(torch.tensor([ids[tag] for tag in tags])))

    for one, other, scores, place in zip(
        ours, theirs, chains(nlp, doc, predicates), places, strict=True
    ):
        if one == other:
            continue
        if isinstance(srl.decoding, GreedyDecoding):
            # A frame does not show which ill-formed sequence it was read from
            two = LinearChain(scores).topk(2).log_prob[0].tolist()
        else:
            two = [score(scores, place.start, frame[3]) for frame in (one, other)]
        assert two[0] == pytest.approx(two[1], rel=0.0, abs=1e-4)


@some_of_them
@given(nlp=pipelines, batch=batches, data=st.data())
def test_predictions_do_not_depend_on_the_batch(
    nlp: Language, batch: list[Sentences], data: st.DataObject
) -> None:
    alone = [nlp(some.doc(nlp.vocab)) for some in batch]
    order = data.draw(st.permutations(range(len(batch))))
    size = data.draw(st.integers(1, len(batch)))
    docs = [batch[i].doc(nlp.vocab) for i in order]
    for i, doc in zip(order, nlp.pipe(docs, batch_size=size), strict=True):
        assert_equally_good(nlp, batch[i], doc, alone[i])


@given(nlp=pipelines, some=sentences(), max_positions=st.integers(1, 200))
def test_scores_are_numbers_whatever_is_scored_together(
    nlp: Language, some: Sentences, max_positions: int
) -> None:
    doc, model = some.doc(nlp.vocab), srl_of(nlp).model
    # In any order: the component sorts them, but the model need not
    predicates = [predicate.token for predicate in some.predicates]
    whole = model.predict(([doc], [predicates]))
    places = labeled_propositions(model, doc, predicates)
    assert whole.lengths == tuple(place.end - place.start for place in places)
    assert all(tensor.isfinite().all() for tensor in whole.tensors().values())
    parts = list(predict_in_parts(model, [doc], [predicates], max_positions=max_positions))
    assert sum((part.lengths for part in parts), ()) == whole.lengths
    if parts:
        together = torch.cat([part.emissions for part in parts])
        assert_same_to_rounding(together, whole.emissions)


@given(nlp=pipelines, some=sentences())
def test_each_predicate_has_a_frame_and_the_rest_stays(nlp: Language, some: Sentences) -> None:
    before, doc = some.doc(nlp.vocab), nlp(some.doc(nlp.vocab))
    assert doc.text == before.text
    attributes = ["ORTH", "NORM", "SPACY", "SENT_START", "LEMMA", "POS", "TAG", "HEAD", "DEP"]
    assert doc.to_array(attributes).tolist() == before.to_array(attributes).tolist()
    # White space can be given as a predicate, but a tag does not make it one
    by_tag = isinstance(srl_of(nlp).predicates, VerbPredicates)
    given = (predicate.token for predicate in some.predicates)
    expected = sorted(i for i in given if not (by_tag and before[i].is_space))
    assert [frame.predicate.i for frame in doc._.frames] == expected
    assert [span.start for span in doc.spans[FRAMES_KEY]] == expected
    assert all(len(span) == 1 and span.label_ for span in doc.spans[FRAMES_KEY])
    # Code that does not know our frames finds only these groups, and JSON can represent them
    keys = {FRAMES_KEY, PREDICATES_KEY, *(frame.key for frame in doc._.frames)}
    assert set(doc.spans) == keys
    attrs = [group.attrs for group in doc.spans.values()]
    assert json.loads(json.dumps(attrs)) == attrs


@given(nlp=pipelines, some=sentences())
def test_arguments_are_known_and_probable_and_do_not_overlap(
    nlp: Language, some: Sentences
) -> None:
    srl, doc = srl_of(nlp), nlp(some.doc(nlp.vocab))
    predicates = [frame.predicate.i for frame in doc._.frames]
    places = labeled_propositions(srl.model, doc, predicates)
    for frame, (_, start, end) in zip(doc._.frames, places, strict=True):
        spans, of_spans = frame.spans, frame.group.attrs["probabilities"]
        assert {span.label_ for span in spans} <= set(srl.labels)
        # No argument crosses a sentence boundary or leaves the window
        assert all(start <= span.start < span.end <= end for span in spans)
        assert all(one.end <= other.start for one, other in pairwise(spans))
        if isinstance(srl.decoding, ConstrainedDecoding):
            arguments = [(span.start, span.end, span.label_) for span in spans]
            assert srl.decoding.rules.repaired(arguments, [0.0] * len(arguments)) == arguments
        pieces = [span for argument in frame.arguments for span in argument.spans]
        of_predicate = [span for span in spans if span.label_ == "V"]
        assert sorted([*pieces, *of_predicate]) == spans
        assert len(of_spans) == len(spans)
        assert all(0.0 <= p <= 1.0 for p in (frame.probability, *of_spans))
        # The whole frame is at most as probable as any of its parts
        assert frame.probability <= min(of_spans, default=1.0) + 1e-6


@given(nlp=pipelines, some=sentences())
def test_what_is_saved_labeled_again_or_drawn_is_the_same(nlp: Language, some: Sentences) -> None:
    doc = nlp(some.doc(nlp.vocab))
    written = frames(doc), probabilities(doc)
    binary = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (unpacked,) = DocBin().from_bytes(binary).get_docs(Vocab())
    table = format_frames(doc)
    assert bool(table) == bool(some.predicates)
    for copy in (unpacked, doc.copy()):
        assert (frames(copy), probabilities(copy)) == written
        assert format_frames(copy) == table
    assert all(repr(frame) for frame in unpacked._.frames)
    again = nlp(doc)
    assert (frames(again), probabilities(again)) == written


@st.composite
def annotated(draw: st.DrawFn) -> tuple[Words, list[Frame]]:
    """Documents with arguments of any length, which may overlap and cross sentence boundaries."""
    some = draw(sentences())
    place = st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from(LABELS))
    places = draw(st.lists(place, min_size=1, max_size=6))
    n = len(some.words.words)
    spans = [(first % n, min(first % n + size, n), role) for first, size, role in places if n]
    found = [
        Frame(*predicate, sorted(spans[i % 3 : i % 3 + 3]))
        for i, predicate in enumerate(some.predicates)
    ]
    return some.words, found


def without_overlap(arguments: Sequence[Span]) -> list[Span]:
    """Drop arguments that overlap an earlier one."""
    kept: list[Span] = []
    for span in sorted(arguments):
        if not kept or kept[-1][1] <= span[0]:
            kept.append(span)
    return kept


@given(document=annotated())
def test_frames_compared_with_themselves_are_perfect(document: tuple[Words, list[Frame]]) -> None:
    words, found = document
    found = [frame._replace(arguments=without_overlap(frame.arguments)) for frame in found]
    doc = words.doc(Vocab())
    set_frames(doc, found)
    result = score_examples([Example(doc.copy(), doc)])
    assert result.perfect == result.propositions == len(found)
    # The same without white space tokens
    kept = [i for i, word in enumerate(words.words) if not word.isspace()]
    place = [sum(i < j for i in kept) for j in range(len(doc) + 1)]
    fewer = Doc(doc.vocab, words=[words.words[i] for i in kept])
    moved = [
        frame._replace(
            predicate=place[frame.predicate],
            arguments=[
                (place[start], place[end], role)
                for start, end, role in frame.arguments
                if place[start] < place[end]
            ],
        )
        for frame in found
        if frame.predicate in kept
    ]
    set_frames(fewer, moved)
    if len(fewer) < len(doc):
        for pair in (Example(fewer, doc), Example(doc, fewer)):
            result = score_examples([pair])
            assert result.perfect == result.propositions == len(moved)
            assert result.skipped == 0


# Saving and learning


def assert_same(loaded: Language, saved: Language) -> None:
    """Compare weights, settings and labels exactly."""
    one, other = srl_of(loaded), srl_of(saved)
    expected, found = weights_of(other.model), weights_of(one.model)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert (one.cfg, one.labels, one.tags) == (other.cfg, other.labels, other.tags)


settings_of_component = st.fixed_dictionaries(
    {
        "label_smoothing": st.floats(0.0, 1.0, exclude_max=True),
        "max_grad_norm": st.one_of(st.none(), st.floats(1e-30, 1e30)),
    }
)


@few_examples
@given(
    model=role_models(),
    names=labels(),
    some=sentences(),
    cfg=settings_of_component,
    way=st.sampled_from(WAYS),
)
def test_any_configuration(
    model: dict[str, Any], names: list[str], some: Sentences, cfg: dict[str, Any], way: Way
) -> None:
    saved = initialized(model, names)
    assert srl_of(saved).labels == tuple(names)
    srl_of(saved).cfg.update(cfg)
    loaded = way(saved, lambda: make_nlp(model))
    assert_same(loaded, saved)
    docs = [nlp(some.doc(nlp.vocab)) for nlp in (loaded, saved)]
    assert (frames(docs[0]), probabilities(docs[0])) == (frames(docs[1]), probabilities(docs[1]))
    assert srl_of(loaded).to_bytes() == srl_of(saved).to_bytes()


@few_examples
@given(model=role_models(), names=labels(), batch=batches)
def test_no_model_mixes_documents(
    model: dict[str, Any], names: list[str], batch: list[Sentences]
) -> None:
    nlp = initialized(model, names)
    docs = [some.doc(nlp.vocab) for some in batch]
    predicates = [[predicate.token for predicate in some.predicates] for some in batch]
    network = srl_of(nlp).model
    together = network.predict((docs, predicates)).emissions
    alone = [
        network.predict(([doc], [tokens])).emissions
        for doc, tokens in zip(docs, predicates, strict=True)
    ]
    assert_same_to_rounding(torch.cat(alone), together)


@few_examples
@given(model=role_models(), batch=st.lists(annotated(), min_size=1, max_size=3))
def test_any_frames_can_be_learnt(
    model: dict[str, Any], batch: list[tuple[Words, list[Frame]]]
) -> None:
    nlp = initialized(model, LABELS)
    found = examples(nlp, LABELS)
    for words, frames_of_words in batch:
        gold = words.doc(nlp.vocab)
        set_frames(gold, frames_of_words)
        found.append(Example(words.doc(nlp.vocab), gold))
    before, optimizer = weights_of(srl_of(nlp).model), Adam(0.01)
    for _ in range(2):
        losses = nlp.update(found, sgd=optimizer)
        assert np.isfinite(losses[NAME]) and losses[NAME] >= 0.0
    after = weights_of(srl_of(nlp).model)
    assert all(np.isfinite(values).all() for values in after.values())
    assert any((after[name] != before[name]).any() for name in before)
