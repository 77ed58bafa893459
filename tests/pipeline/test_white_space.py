"""No span begins or ends with white space, in the text that users have."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_psa.annotation.frame_tags import read_roles, role_tags
from spacy_psa.annotation.propositions import Frame
from spacy_psa.annotation.rules import Rule
from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.inference import Potentials
from spacy_psa.pipeline.srl.decoding import (
    RoleDecoding,
    create_greedy_decoding,
    create_viterbi_decoding,
)
from spacy_psa.pipeline.srl.frames import FramePrediction
from spacy_psa.pipeline.srl.predicates import set_predicates
from spacy_psa.pipeline.srl.probabilities import span_probabilities
from spacy_psa.pipeline.srl.role_rules import create_constrained_decoding
from spacy_psa.pipeline.srl.roles import without_space

from ..inference.brute_force import random_potentials
from . import srl_data
from .conftest import initialized_nlp, tagger_of
from .srl.test_decoding import keeps_rules
from .tagger.enumeration import Labelings, all_labelings, random_nlp, touches_space

RAW = ["Ann", "\n\n", "Lee", " "]
PLAIN = ["Ann", "saw", "Lee", "."]


def raw_doc(nlp: Language, words: list[str] = RAW) -> Doc:
    return Doc(nlp.vocab, words=words)


def best_of(labelings: Labelings) -> list[str]:
    return list(max(labelings, key=lambda tags: labelings[tags]))


# Entities and span groups. tagger/test_probabilities.py and tagger/test_nbest.py compare all
# queries with an enumeration, also for a document with white space.


@pytest.mark.parametrize("decoder", ["CRF", "PairwiseCRF", "Softmax"])
@pytest.mark.parametrize("target", ["ents", "spans"])
@pytest.mark.parametrize("allow", [False, True])
def test_the_best_labeling_is_that_of_the_enumeration(
    target: str, decoder: str, allow: bool
) -> None:
    nlp = random_nlp(target, decoder, allow_space=allow)
    tagger, doc = tagger_of(nlp), raw_doc(nlp)
    (found,) = tagger.predict([doc])
    assert [tagger.tags[i] for i in found.ids] == best_of(all_labelings(tagger, doc))


def test_if_white_space_is_allowed_the_scores_are_those_of_the_model() -> None:
    nlp = random_nlp("ents", allow_space=True)
    tagger, doc = tagger_of(nlp), raw_doc(nlp)
    scores = tagger.model.predict([doc])
    assert torch.equal(tagger.distribution([doc]).potentials.emissions, scores.emissions)


def test_without_white_space_the_scores_are_those_of_the_model() -> None:
    nlp = random_nlp("ents")
    tagger, docs = tagger_of(nlp), [raw_doc(nlp, PLAIN), raw_doc(nlp)]
    scores = tagger.model.predict(docs)
    found = tagger.distribution(docs).potentials.emissions
    assert torch.equal(found[: len(PLAIN)], scores.emissions[: len(PLAIN)])
    assert (found[len(PLAIN) :] == -inf).any()
    assert torch.equal(tagger.condition(scores, docs[:1]).emissions, scores.emissions)


def test_samples_keep_it() -> None:
    nlp = random_nlp("ents")
    tagger, doc = tagger_of(nlp), raw_doc(nlp)
    (drawn,) = tagger.sample([doc], 200)
    assert not any(touches_space(doc, tagger, tags) for tags in drawn)
    assert any(tags[1].startswith("I-") for tags in drawn)


def test_entropies_are_those_of_the_distribution_that_is_left() -> None:
    nlp = random_nlp("ents")
    tagger, doc = tagger_of(nlp), raw_doc(nlp)
    p = np.array(list(all_labelings(tagger, doc).values()))
    assert tagger.entropy([doc]) == pytest.approx([-(p * np.log(p)).sum()], abs=1e-4)


def test_token_attributes_do_not_know_white_space() -> None:
    nlp = random_nlp("tag")
    doc = nlp(raw_doc(nlp))
    assert all(token.tag_ for token in doc)


def test_existing_annotation_wins() -> None:
    nlp = random_nlp("ents")
    doc = raw_doc(nlp)
    doc.set_ents([Span(doc, 0, 2, "PER")], default="missing")
    found = {(ent.start, ent.end) for ent in nlp(doc).ents}
    assert (0, 2) in found
    assert all(not doc[end - 1].is_space for start, end in found - {(0, 2)})


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule(0, 2, "PER"), (0, 2, "PER")),
        (Rule(1, 2, "LOC", whole=False), None),
        (Rule(1, 2, "O", -inf), None),
    ],
    ids=["span", "token", "not outside"],
)
def test_rules_that_require_a_span_win(rule: Rule, expected: tuple[int, int, str] | None) -> None:
    nlp = random_nlp("ents")
    tagger_of(nlp).rules = lambda doc: [rule]
    doc = nlp(raw_doc(nlp))
    found = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    assert any(start <= 1 < end for start, end, _ in found)
    assert expected is None or expected in found


@pytest.mark.parametrize("score", [5.0, -5.0, -inf])
def test_rules_that_only_favor_do_not_win(score: float) -> None:
    nlp = random_nlp("ents")
    tagger_of(nlp).rules = lambda doc: [Rule(0, 2, "PER", score)]
    doc = nlp(raw_doc(nlp))
    assert not any(ent[0].is_space or ent[-1].is_space for ent in doc.ents)


def test_nothing_but_white_space() -> None:
    nlp = random_nlp("ents")
    assert not nlp(raw_doc(nlp, ["\n", " ", "\u00a0"])).ents


# Training


def loss_of(nlp: Language, spans: list[tuple[int, int, str]], words: list[str] = RAW) -> float:
    gold = raw_doc(nlp, words)
    gold.set_ents([Span(gold, *span) for span in spans])
    return nlp.update([Example(raw_doc(nlp, words), gold)], sgd=None)["psa_tagger"]


def test_training_does_not_care_about_white_space() -> None:
    losses = []
    for allow in (False, True):
        nlp = initialized_nlp("ents", allow_space=allow)
        losses.append(loss_of(nlp, [(0, 1, "PER")]))
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    "spans", [[(0, 1, "PER")], [(0, 2, "PER")], [(1, 2, "LOC")], [(0, 3, "PER")]]
)
def test_with_constraints_it_leaves_out_what_is_not_annotated(
    spans: list[tuple[int, int, str]],
) -> None:
    nlp = initialized_nlp("ents", constrain_training=True, allow_space=True)
    tagger, doc = tagger_of(nlp), raw_doc(nlp)
    labelings = all_labelings(tagger, doc)
    tags = tuple(SCHEMES["BIOES"].encode(spans, len(doc)))
    edges = {i for start, end, _ in spans for i in (start, end - 1)}

    def is_left(names: tuple[str, ...]) -> bool:
        """Whether white space is at the edges of spans only where it is annotated so."""
        return not any(
            token.is_space and names[token.i][0] in "BES" and names[token.i] != tags[token.i]
            for token in doc
        )

    total = sum(p for names, p in labelings.items() if is_left(names))
    tagger.cfg["allow_space"] = False
    assert edges
    assert loss_of(nlp, spans) == pytest.approx(-np.log(labelings[tags] / total), rel=1e-4)


# Semantic roles

TAGS = role_tags(["A0", "R-A0"])
SPACES = np.array([False, True, True, False, False, True])
DECODINGS = {
    "greedy": create_greedy_decoding(),
    "viterbi": create_viterbi_decoding(),
    "constrained": create_constrained_decoding(),
}
DECODERS = [(), ("transitions",), ("transitions", "start", "end"), ("pairwise",)]


def keeps_out(arguments: list[tuple[int, int, str]]) -> bool:
    return not any(SPACES[start] or SPACES[end - 1] for start, end, _ in arguments)


def score_of(potentials: Potentials, labels: tuple[int, ...]) -> float:
    fields = {name: tensor.numpy() for name, tensor in potentials.tensors().items()}
    score = sum(fields["emissions"][t, i] for t, i in enumerate(labels))
    score += fields["start"][labels[0]] + fields["end"][labels[-1]] if "start" in fields else 0.0
    for t in range(1, len(labels)):
        pair = labels[t - 1 : t + 1]
        score += fields["transitions"][pair] if "transitions" in fields else 0.0
        score += fields["pairwise"][t][pair] if "pairwise" in fields else 0.0
    return float(score)


@pytest.mark.parametrize("fields", DECODERS, ids=lambda f: "+".join(f) or "softmax")
@pytest.mark.parametrize("name", DECODINGS)
@pytest.mark.parametrize("seed", range(2))
def test_arguments_are_those_of_the_enumeration(
    name: str, fields: tuple[str, ...], seed: int
) -> None:
    potentials = random_potentials(len(TAGS), (6,), seed=seed, fields=fields)
    best, expected = -inf, ()
    for labels in product(range(len(TAGS)), repeat=6):
        tags = [TAGS[i] for i in labels]
        if not keeps_out(read_roles(tags)):
            continue
        if name != "greedy" and SCHEMES["BIO"].problems(tags):
            continue
        if name == "constrained" and not keeps_rules(tags):
            continue
        if (score := score_of(potentials, labels)) > best:
            best, expected = score, tags
    ((_, scores, names),) = without_space(potentials, TAGS, [SPACES])
    found = [names[i] for i in DECODINGS[name].best(scores, names).tolist()]
    assert found == expected


@pytest.mark.parametrize("fields", DECODERS, ids=lambda f: "+".join(f) or "softmax")
def test_their_probabilities_are_sums_over_what_is_left(fields: tuple[str, ...]) -> None:
    potentials = random_potentials(len(TAGS), (6,), seed=5, fields=fields)
    # The second one has white space inside, the third is followed by it
    asked = [[(0, 1, "A0")], [(0, 4, "A0")], [(0, 1, "A0"), (3, 5, "R-A0")], []]
    total = np.zeros(1 + 2 * len(asked))
    for labels in product(range(len(TAGS)), repeat=6):
        tags = [TAGS[i] for i in labels]
        spans = read_roles(tags)
        if SCHEMES["BIO"].problems(tags) or not keeps_out(spans):
            continue
        holds = [True, *(spans == one for one in asked), *(set(one) <= {*spans} for one in asked)]
        total += np.exp(score_of(potentials, labels)) * np.array(holds)
    ((_, scores, names),) = without_space(potentials, TAGS, [SPACES])
    frames = [FramePrediction(Frame(0, None, None, arguments)) for arguments in asked]
    found = span_probabilities(scores.select([0] * 4), names, frames, [0] * 4)
    assert [frame.probability for frame in found] == pytest.approx(total[1:5] / total[0])
    for frame, p in zip(found[:2], total[5:7] / total[0], strict=True):
        assert frame.probabilities == pytest.approx([p])


def test_other_sentences_of_a_batch_keep_their_scores() -> None:
    potentials = random_potentials(len(TAGS), (6, 2, 6, 1), fields=("transitions",))
    nothing = np.zeros(6, dtype=bool)
    parts = list(without_space(potentials, TAGS, [SPACES, nothing[:2], nothing, nothing[:1]]))
    assert [chains for chains, _, _ in parts] == [[1, 2, 3], [0]]
    assert torch.equal(parts[0].potentials.emissions, potentials.emissions[6:])
    assert parts[0].tags == TAGS
    ((chains, same, _),) = without_space(potentials.select([1, 2]), TAGS, [nothing[:2], nothing])
    assert chains == [0, 1]
    assert torch.equal(same.emissions, potentials.emissions[6:14])


ROLES = ["Mary", " ", "borrowed", "a", "\n", "book", "\n\n"]


def frames_of(nlp: Language, docs: list[Doc]) -> list[list[FramePrediction]]:
    for doc in docs:
        set_predicates(doc, [2])
    return srl_data.srl_of(nlp).predict(docs)


@pytest.mark.parametrize("name", DECODINGS)
def test_no_argument_begins_or_ends_with_white_space(name: str) -> None:
    nlp = srl_data.initialized_nlp(probabilities=True)
    for node in srl_data.srl_of(nlp).model.walk():
        for shim in node.shims:
            for parameter in shim._model.parameters():
                torch.nn.init.normal_(parameter, std=0.7)
    srl = srl_data.srl_of(nlp)
    decoding: RoleDecoding = DECODINGS[name]
    srl.decoding = decoding
    n_at_edges = 0
    for shift in range(len(ROLES)):
        words = ROLES[shift:] + ROLES[:shift]
        docs = [raw_doc(nlp, words), raw_doc(nlp, srl_data.WORDS[1])]
        both = frames_of(nlp, docs)
        for doc, found in zip(docs, both, strict=True):
            (alone,) = frames_of(nlp, [doc])
            assert [one.frame for one in alone] == [one.frame for one in found]
            for start, end, _ in found[0].frame.arguments:
                assert not doc[start].is_space
                assert not doc[end - 1].is_space
        srl.cfg["allow_space"] = True
        (allowed,), _ = frames_of(nlp, docs)
        n_at_edges += sum(
            docs[0][start].is_space or docs[0][end - 1].is_space
            for start, end, _ in allowed.frame.arguments
        )
        srl.cfg["allow_space"] = False
    assert n_at_edges
