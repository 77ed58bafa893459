"""Labels known only as sets, against enumeration."""

import numpy as np
import pytest
import torch

from spacy_psa.annotation.schemes import SCHEMES, transition_mask
from spacy_psa.inference import BACKENDS, Constraints, LinearChain, Potentials
from spacy_psa.inference.losses import log_prob_of_sets

from .brute_force import BruteForce, random_potentials, split
from .test_nbest import FIELDS

LENGTHS = (4, 0, 1, 3)
LABELS = torch.tensor([-1, -1, -1, 0, -1, -1, 1, -1])
SETS = {0: [0, 2], 1: [1, 2], 2: [0, 1], 4: [1, 2], 5: [0, 1]}
# The transitions allowed between adjacent sets
CONSTRAINTS = Constraints(
    np.array([[True, False, True], [True, True, False], [False, True, True]]),
    np.array([False, False, False]),
    np.array([False, False, False]),
)
all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")


def enumerated(potentials, labels, sets, constraints):
    """The same, by checking each sequence token by token."""
    found = []
    tokens = split(np.arange(potentials.n_tokens), potentials)
    for (paths, scores), places in zip(BruteForce(potentials).chains, tokens, strict=True):
        agrees = np.ones(len(paths), dtype=bool)
        for row, path in enumerate(paths):
            for at, token in enumerate(places):
                if token in sets:
                    agrees[row] &= path[at] in sets[token]
                    if constraints is not None and at and token - 1 in sets:
                        agrees[row] &= bool(constraints.transitions[path[at - 1], path[at]])
                elif labels[token] >= 0:
                    agrees[row] &= path[at] == labels[token]
        inside = scores[agrees]
        whole = np.logaddexp.reduce(scores)
        found.append((np.logaddexp.reduce(inside) if len(inside) else -np.inf) - whole)
    return np.array(found)


@all_fields
@pytest.mark.parametrize("constraints", [None, CONSTRAINTS], ids=["free", "constrained"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_all_sequences_that_agree_are_summed_over(fields, constraints, backend):
    potentials = random_potentials(3, LENGTHS, fields=fields)
    chain = LinearChain(potentials, backend=backend)
    log_prob = log_prob_of_sets(chain, LABELS, SETS, constraints)
    expected = enumerated(potentials, LABELS.numpy(), SETS, constraints)
    np.testing.assert_allclose(log_prob.numpy(), expected, atol=1e-10)


def test_constraints_leave_known_and_unknown_labels_alone():
    potentials = random_potentials(3, (3,))
    nothing = Constraints(*(np.zeros(shape, dtype=bool) for shape in ((3, 3), 3, 3)))
    labels = torch.tensor([-1, 2, -1])
    chain = LinearChain(potentials)
    found = log_prob_of_sets(chain, labels, {0: [0, 1]}, nothing)
    allowed = torch.tensor([[True, True, False], [False, False, True], [True, True, True]])
    torch.testing.assert_close(found, chain.log_prob_of(allowed))


def test_a_span_of_two_possible_labels_has_just_two_sequences():
    tags = SCHEMES["BIOES"].tags(["A", "B"])
    ids = {tag: i for i, tag in enumerate(tags)}
    potentials = random_potentials(len(tags), (5,))
    chain = LinearChain(potentials)
    sets = {at: [ids[f"{p}-A"], ids[f"{p}-B"]] for at, p in ((1, "B"), (2, "I"), (3, "E"))}
    labels = torch.tensor([ids["O"], -1, -1, -1, ids["S-A"]])
    constraints = Constraints(*transition_mask("BIOES", tags))
    found = log_prob_of_sets(chain, labels, sets, constraints)
    both = [
        chain.log_prob(torch.tensor([ids[t] for t in ("O", *(f"{p}-{x}" for p in "BIE"), "S-A")]))
        for x in "AB"
    ]
    torch.testing.assert_close(found, torch.logaddexp(*both))
    assert float(found) < float(log_prob_of_sets(chain, labels, sets))


def test_no_sequence_left_is_minus_infinity_with_no_gradient():
    emissions = torch.zeros(2, 2, requires_grad=True)
    nothing = Constraints(torch.zeros(2, 2, dtype=torch.bool), *[torch.ones(2) > 0] * 2)
    chain = LinearChain(Potentials(emissions, (2,)))
    found = log_prob_of_sets(chain, torch.tensor([-1, -1]), {0: [0, 1], 1: [0, 1]}, nothing)
    assert found.tolist() == [-np.inf]
    found.sum().backward()
    assert not emissions.grad.any()


@all_fields
@pytest.mark.parametrize("backend", ["scaled", "logspace"])
def test_gradients(fields, backend):
    potentials = random_potentials(3, LENGTHS, fields=fields)
    names, tensors = zip(*potentials.tensors().items(), strict=True)

    def log_prob(*scores):
        leaf = Potentials(lengths=LENGTHS, **dict(zip(names, scores, strict=True)))
        return log_prob_of_sets(LinearChain(leaf, backend=backend), LABELS, SETS, CONSTRAINTS)

    assert torch.autograd.gradcheck(log_prob, tuple(t.requires_grad_() for t in tensors))


def test_it_does_not_depend_on_batch_mates():
    potentials = random_potentials(3, (4, 3))
    labels, sets = torch.tensor([-1, -1, 0, -1, 1, -1, -1]), {0: [0, 1], 1: [1, 2], 5: [0, 2]}
    whole = log_prob_of_sets(LinearChain(potentials), labels, sets, CONSTRAINTS)
    first, second = (
        Potentials(
            potentials.emissions[rows],
            (n,),
            potentials.transitions,
            potentials.start,
            potentials.end,
        )
        for rows, n in ((slice(4), 4), (slice(4, 7), 3))
    )
    one = log_prob_of_sets(LinearChain(first), labels[:4], {0: [0, 1], 1: [1, 2]}, CONSTRAINTS)
    other = log_prob_of_sets(LinearChain(second), labels[4:], {1: [0, 2]}, CONSTRAINTS)
    torch.testing.assert_close(whole, torch.cat([one, other]))


def test_without_sets_it_is_the_log_prob_of_labels():
    chain = LinearChain(random_potentials(3, LENGTHS))
    torch.testing.assert_close(
        log_prob_of_sets(chain, LABELS, {}, CONSTRAINTS), chain.log_prob(LABELS)
    )


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="P003"):
        log_prob_of_sets(LinearChain(random_potentials(3, (2,))), torch.tensor([0, 3]), {})
