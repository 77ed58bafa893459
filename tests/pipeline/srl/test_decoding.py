"""Which label sequences are chosen, and their probabilities."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.util import registry

from spacy_psa.annotation.frame_tags import read_roles, role_tags
from spacy_psa.annotation.propositions import Frame
from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.inference import Potentials
from spacy_psa.pipeline.srl.decoding import create_greedy_decoding, create_viterbi_decoding
from spacy_psa.pipeline.srl.frames import FramePrediction
from spacy_psa.pipeline.srl.probabilities import span_probabilities
from spacy_psa.pipeline.srl.role_rules import RoleRules, create_constrained_decoding

TAGS = role_tags(["A0", "C-A0", "R-A0"])
RULES = RoleRules(unique=True, continuation=True, reference=True, core=frozenset(("A0",)))


def scores(*wanted: str, tags: list[str] = TAGS, seed: int | None = None) -> Potentials:
    """Emissions that prefer one tag per token, later tokens more strongly."""
    emissions = torch.zeros(len(wanted), len(tags))
    for t, tag in enumerate(wanted):
        emissions[t, tags.index(tag)] = 2.0 + t
    return Potentials(emissions, (len(wanted),))


def found(decoding, potentials: Potentials, tags: list[str] = TAGS) -> list[str]:
    return [tags[i] for i in decoding.best(potentials, tags).tolist()]


def keeps_rules(tags) -> bool:
    """Whether tags keep the rules, checked in a different way."""
    roles = [role for _, _, role in read_roles(tags)]
    begun: list[str] = []
    for role in roles:
        if role.startswith("C-") and role[2:] not in begun:
            return False
        if role == "A0" and "A0" in begun:
            return False
        begun.append(role)
    return all(role[2:] in roles for role in roles if role.startswith("R-"))


def random_potentials(n_tokens: int, seed: int, transitions: bool) -> Potentials:
    generator = torch.Generator().manual_seed(seed)
    emissions = torch.randn(n_tokens, len(TAGS), generator=generator) * 2
    fields = {}
    if transitions:
        fields["transitions"] = torch.randn(len(TAGS), len(TAGS), generator=generator)
    return Potentials(emissions, (n_tokens,), **fields)


def score_of(potentials: Potentials, labels) -> float:
    value = sum(float(potentials.emissions[t, y]) for t, y in enumerate(labels))
    if potentials.transitions is not None:
        value += sum(float(potentials.transitions[a, b]) for a, b in pairwise(labels))
    return value


def test_greedy_decoding_takes_the_best_tags():
    assert found(create_greedy_decoding(), scores("I-A0", "B-A0", "I-R-A0")) == [
        "I-A0",
        "B-A0",
        "I-R-A0",
    ]


def test_viterbi_decoding_takes_well_formed_tags():
    tags = found(create_viterbi_decoding(), scores("I-A0", "B-A0", "I-R-A0"))
    assert SCHEMES["BIO"].problems(tags) == []
    assert tags[1:] != ["B-A0", "I-R-A0"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("B-A0", "O", "B-A0"), ("O", "O", "B-A0")),
        (("B-C-A0", "O", "B-A0"), ("O", "O", "B-A0")),
        (("O", "O", "B-R-A0"), ("B-A0", "O", "B-R-A0")),
        (("B-A0", "B-R-A0", "B-C-A0"), ("B-A0", "B-R-A0", "B-C-A0")),
        (("B-R-A0", "O", "B-A0"), ("B-R-A0", "O", "B-A0")),
    ],
    ids=["unique", "continuation", "reference", "all is well", "reference before"],
)
def test_rules_are_kept(wanted, expected):
    assert keeps_rules(expected)
    potentials = scores(*wanted)
    tags = found(create_constrained_decoding(), potentials)
    assert keeps_rules(tags)
    ids = [[TAGS.index(tag) for tag in sequence] for sequence in (tags, expected)]
    assert score_of(potentials, ids[0]) == pytest.approx(score_of(potentials, ids[1]))


@settings(max_examples=40, deadline=None)
@given(n_tokens=st.integers(1, 4), seed=st.integers(0, 10_000), transitions=st.booleans())
def test_constrained_decoding_is_exact(n_tokens, seed, transitions):
    potentials = random_potentials(n_tokens, seed, transitions)
    best = max(
        score_of(potentials, labels)
        for labels in product(range(len(TAGS)), repeat=n_tokens)
        if keeps_rules(tags := [TAGS[i] for i in labels]) and not SCHEMES["BIO"].problems(tags)
    )
    labels = create_constrained_decoding().best(potentials, TAGS).tolist()
    assert keeps_rules([TAGS[i] for i in labels])
    assert score_of(potentials, labels) == pytest.approx(best, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(n_tokens=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_rules_are_kept_where_the_search_gives_up(n_tokens, seed):
    potentials = random_potentials(n_tokens, seed, transitions=True)
    tags = found(create_constrained_decoding(max_steps=1), potentials)
    assert keeps_rules(tags)
    assert SCHEMES["BIO"].problems(tags) == []


def test_chains_are_decoded_one_by_one():
    emissions = torch.cat([scores("B-A0", "O", "B-A0").emissions, scores("B-A0", "O").emissions])
    tags = found(create_constrained_decoding(), Potentials(emissions, (3, 2)))
    assert tags[3:] == ["B-A0", "O"]


def test_rules_can_be_left_out():
    decoding = create_constrained_decoding(unique=False, continuation=False, reference=False)
    wanted = ["B-R-A0", "B-C-A0", "B-A0", "O", "B-A0"]
    assert found(decoding, scores(*wanted)) == wanted


def test_what_breaks_the_rules_is_left_out():
    arguments = [(0, 1, "C-A0"), (1, 2, "A0"), (2, 3, "A0"), (3, 4, "C-A0"), (4, 5, "R-A1")]
    kept = RULES.repaired(arguments, [1.0, 1.0, 3.0, 1.0, 1.0])
    assert kept == [(2, 3, "A0"), (3, 4, "C-A0")]


def test_roles_that_are_called_like_a_prefix_need_no_other():
    tags = role_tags(["C", "R", "C-", "R-"])
    wanted = ["B-C", "B-R", "B-C-", "B-R-"]
    assert found(create_constrained_decoding(), scores(*wanted, tags=tags), tags) == wanted
    arguments = [(i, i + 1, tag[2:]) for i, tag in enumerate(wanted)]
    assert RULES.repaired(arguments, [1.0] * 4) == arguments


def test_steps_out_of_range_are_refused():
    with pytest.raises(ValueError, match="P210"):
        create_constrained_decoding(max_steps=0)


@pytest.mark.parametrize("name", ["Greedy", "Viterbi", "Constrained"])
def test_decodings_are_registered(name):
    decoding = registry.misc.get(f"spacy_psa.{name}Decoding.v1")()
    assert found(decoding, scores("B-A0", "I-A0", "O")) == ["B-A0", "I-A0", "O"]


@pytest.mark.parametrize("transitions", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_sums_over_all_sequences(seed, transitions):
    potentials = random_potentials(4, seed, transitions)
    arguments = [(0, 1, "A0"), (2, 4, "A0")]
    first = FramePrediction(Frame(1, None, None, [(s + 7, e + 7, r) for s, e, r in arguments]))
    empty = FramePrediction(Frame(1, None, None, []))
    both = Potentials(potentials.emissions.repeat(2, 1), (4, 4), transitions=potentials.transitions)
    found_first, found_empty = span_probabilities(both, TAGS, [first, empty], [7, 0])
    total = np.zeros(4)
    for labels in product(range(len(TAGS)), repeat=4):
        tags = [TAGS[i] for i in labels]
        if SCHEMES["BIO"].problems(tags):
            continue
        spans = read_roles(tags)
        holds = [True, spans == arguments, *(a in spans for a in arguments)]
        total += np.exp(score_of(potentials, labels)) * np.array(holds)
    wanted = total[1:] / total[0]
    assert found_first.probability == pytest.approx(wanted[0], rel=1e-4)
    assert found_first.probabilities == pytest.approx(list(wanted[1:]), rel=1e-4)
    assert found_empty.probabilities == []
    assert 0.0 < found_empty.probability < 1.0
