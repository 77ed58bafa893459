"""Constraints that depend on the token, by copies of labels, against enumeration."""

import numpy as np
import pytest
import torch

from spacy_psa.annotation.schemes import SCHEMES, read_spans, transition_mask
from spacy_psa.inference import BACKENDS, Constraints, LinearChain, Potentials
from spacy_psa.inference.constraints import with_copies

from .brute_force import BruteForce, random_potentials
from .test_nbest import FIELDS

SPACES = np.array([False, True, True, False, True, False, True])
LENGTHS = (4, 0, 3)


def continues(previous: str, tag: str) -> bool:
    """Whether a tag goes on with the span of the previous one."""
    if previous[0] in "ES":
        return False  # conlleval goes on from E to B where tags are not well-formed
    return len(read_spans([previous, tag])) == 1 and "O" not in (previous, tag)


def inside_only(potentials: Potentials, tags: list[str]) -> tuple[Potentials, list[int]]:
    """White space is outside of spans, or has a copy of a tag, before and after which the span
    goes on.
    """
    n, inner = len(tags), range(1, len(tags))
    origins = [*range(n), *inner]
    goes_on = np.array([[continues(tags[i], tags[j]) for j in origins] for i in origins])
    is_copy = np.arange(len(origins)) >= n
    transitions = goes_on | ~(is_copy[:, None] | is_copy)
    copied = with_copies(
        potentials, torch.tensor(origins), Constraints(transitions, ~is_copy, ~is_copy)
    )
    possible = SPACES[:, None] == is_copy
    possible[:, 0] = True
    return copied.within(torch.from_numpy(possible)), origins


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
@pytest.mark.parametrize("scheme", ["IO", "IOB1", "BIO", "BIOES"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_span_begins_or_ends_at_white_space(scheme, fields, backend):
    tags = SCHEMES[scheme].tags(["X", "Y"] if scheme == "IO" else ["X"])
    potentials = random_potentials(len(tags), LENGTHS, fields=fields)
    well_formed = Constraints(*transition_mask(scheme, tags)).apply(potentials)
    brute = BruteForce(well_formed)
    first = 0
    for paths, scores in brute.chains:
        spaces = SPACES[first : first + paths.shape[1]]
        for row, path in enumerate(paths):
            spans = read_spans([tags[i] for i in path])
            if any(spaces[start] or spaces[end - 1] for start, end, _ in spans):
                scores[row] = -np.inf
        first += paths.shape[1]
    scores, origins = inside_only(well_formed, tags)
    chain = LinearChain(scores, backend=backend)
    np.testing.assert_allclose(chain.log_partition.numpy(), brute.log_partition, atol=1e-9)
    marginals = np.zeros((len(SPACES), len(tags)))
    np.add.at(marginals.T, origins, chain.marginals.numpy().T)
    np.testing.assert_allclose(marginals, brute.marginals, atol=1e-9)
    origins = np.array(origins)
    np.testing.assert_array_equal(origins[chain.argmax.numpy()], brute.argmax)
    best = chain.topk(5)
    for c, (_, expected) in enumerate(brute.chains):
        log_probs = np.sort(expected)[::-1][:5] - brute.log_partition[c]
        np.testing.assert_allclose(best.log_prob[c][: len(log_probs)], log_probs, atol=1e-9)
        p = np.exp(expected - brute.log_partition[c])
        entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
        assert float(chain.entropy[c]) == pytest.approx(entropy, abs=1e-9)
    drawn = origins[chain.sample(20).numpy()]
    for path in drawn.T:
        for i in np.flatnonzero(SPACES & (path > 0)):
            assert continues(tags[path[i - 1]], tags[path[i]])
            assert continues(tags[path[i]], tags[path[i + 1]])
