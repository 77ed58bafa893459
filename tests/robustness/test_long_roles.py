"""Semantic roles in documents that are longer than anything one would write."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.models import srl as srl_model
from spacy_psa.models.srl import predict_in_parts, propositions
from spacy_psa.models.srl_ensemble import build_role_ensemble
from spacy_psa.pipeline.srl.predicates import set_predicates

from ..pipeline import srl_data


@given(st.integers(1, 300), st.integers(2, 40), st.data())
def test_predicates_of_a_long_sentence_have_context(
    n: int, max_length: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, max_length - 1))
    predicate = data.draw(st.integers(0, n - 1))
    doc = Doc(Vocab(), words=["a"] * n)
    ((token, start, end),) = propositions(doc, [predicate], max_length=max_length, overlap=overlap)
    assert token == predicate
    assert 0 <= start <= predicate < end <= n
    assert end - start == min(n, max_length)
    assert start == 0 or predicate - start >= overlap // 2
    assert end == n or end - 1 - predicate >= overlap // 2


def long_roles(nlp: Language) -> Doc:
    """Sentences with boundaries and all their predicates."""
    words = [word for _ in range(10) for sentence in srl_data.WORDS for word in sentence]
    starts = [i == 0 for _ in range(10) for s in srl_data.WORDS for i in range(len(s))]
    doc = Doc(nlp.vocab, words=words, sent_starts=starts)
    offsets = np.cumsum([0, *(len(sentence) for _ in range(10) for sentence in srl_data.WORDS)])
    set_predicates(
        doc,
        [
            int(offset) + frame.predicate
            for offset, frames in zip(offsets, srl_data.FRAMES * 10, strict=False)
            for frame in frames
        ],
    )
    return doc


def frames_of(doc: Doc) -> list[tuple[int, list[tuple[int, int, str]], float | None]]:
    return [
        (
            frame.predicate.i,
            [(span.start, span.end, span.label_) for span in frame.spans],
            None if frame.probability is None else round(frame.probability, 4),
        )
        for frame in doc._.frames
    ]


@pytest.mark.parametrize("max_positions", [1, 25, 100])
def test_roles_are_found_part_by_part(max_positions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = srl_data.trained_nlp(probabilities=True)
    whole = frames_of(nlp(long_roles(nlp)))
    assert len(whole) == 60
    assert all(arguments for _, arguments, _ in whole)
    monkeypatch.setattr(srl_model, "MAX_POSITIONS", max_positions)
    assert frames_of(nlp(long_roles(nlp))) == whole


def test_parts_are_of_bounded_size_and_make_up_the_whole() -> None:
    nlp = srl_data.initialized_nlp()
    model, doc = srl_data.srl_of(nlp).model, long_roles(nlp)
    inputs = ([doc, doc], [[1, 12], [5, 100, 3]])
    whole = model.predict(inputs)
    parts = list(predict_in_parts(model, *inputs, max_positions=20))
    assert all(part.n_tokens <= 20 for part in parts)
    assert len(parts) > 1
    assert sum((part.lengths for part in parts), ()) == whole.lengths
    torch.testing.assert_close(torch.cat([part.emissions for part in parts]), whole.emissions)


def test_an_ensemble_finds_roles_part_by_part() -> None:
    nlp = srl_data.initialized_nlp()
    model, doc = srl_data.srl_of(nlp).model, long_roles(nlp)
    ensemble = build_role_ensemble(model, model.copy())
    parts = list(predict_in_parts(ensemble, [doc], [[1, 12, 100]], max_positions=10))
    assert len(parts) == 3
    whole = ensemble.predict(([doc], [[1, 12, 100]]))
    torch.testing.assert_close(torch.cat([part.emissions for part in parts]), whole.emissions)


def test_models_of_an_ensemble_must_have_the_same_windows() -> None:
    one, other = (srl_data.srl_of(srl_data.initialized_nlp()).model for _ in range(2))
    other.attrs["overlap"] = 32
    with pytest.raises(ValueError, match=r"P405.*\(512, 32\) and \(512, 64\)"):
        build_role_ensemble(one, other)


def test_the_cost_of_roles_does_not_grow_with_the_length_of_the_document() -> None:
    nlp = srl_data.trained_nlp()
    component = srl_data.srl_of(nlp)
    component.model.attrs.update(max_length=16, overlap=8)
    doc = Doc(nlp.vocab, words=[word for _ in range(50) for word in srl_data.WORDS[0]])
    predicates = list(range(1, len(doc), len(srl_data.WORDS[0])))
    assert component.model.predict(([doc], [predicates])).lengths == (16,) * 50
    set_predicates(doc, predicates)
    with pytest.warns(UserWarning, match="W405.*max_length"):
        nlp(doc)
    assert [frame.predicate.i for frame in doc._.frames] == predicates
