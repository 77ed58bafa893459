"""The results for a chain do not depend on the other chains in the batch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import BACKENDS, LinearChain, Potentials

from .brute_force import random_potentials

lengths_strategy = st.lists(st.integers(0, 12), min_size=1, max_size=6)
batches = given(
    lengths=lengths_strategy,
    n_labels=st.integers(1, 6),
    seed=st.integers(0, 1000),
    fields=st.sampled_from([("transitions", "start", "end"), ("transitions",), ("pairwise",), ()]),
)
# The largest batch, in tokens, for interpreted GPU kernels, which are slow
INTERPRETED = 6


def one_by_one(potentials: Potentials) -> list[Potentials]:
    tensors = potentials.tensors()
    by_token = {name: tensors.pop(name) for name in ("emissions", "pairwise") if name in tensors}
    parts = zip(*(tensor.split(potentials.lengths) for tensor in by_token.values()), strict=True)
    return [
        Potentials(lengths=(len(part[0]),), **dict(zip(by_token, part, strict=True)), **tensors)
        for part in parts
    ]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@settings(max_examples=40, deadline=None, derandomize=True)
@batches
def test_sums_over_sequences(backend, lengths, n_labels, seed, fields):
    if backend == "fused" and sum(lengths) > INTERPRETED:
        lengths = lengths[:1]
    potentials = random_potentials(n_labels, lengths, seed=seed, fields=fields)
    batch = LinearChain(potentials, backend=backend)
    alone = [LinearChain(part, backend=backend) for part in one_by_one(potentials)]
    log_z = torch.cat([chain.log_partition for chain in alone])
    assert torch.allclose(batch.log_partition, log_z, rtol=1e-9, atol=1e-12)
    marginals = torch.cat([chain.marginals for chain in alone])
    assert torch.allclose(batch.marginals, marginals, rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@batches
def test_best_sequences_are_identical_even_with_ties(lengths, n_labels, seed, fields):
    potentials = random_potentials(n_labels, lengths, seed=seed, fields=fields, scale=0)
    alone = [LinearChain(part).argmax for part in one_by_one(potentials)]
    assert torch.equal(LinearChain(potentials).argmax, torch.cat(alone))


@settings(max_examples=40, deadline=None, derandomize=True)
@batches
def test_backends_agree(lengths, n_labels, seed, fields):
    potentials = random_potentials(n_labels, lengths, seed=seed, fields=fields, scale=4.0)
    results = []
    for backend in sorted(BACKENDS):
        if backend == "fused" and sum(lengths) > INTERPRETED:
            continue
        leaf, other = potentials.requires_grad_(), potentials.requires_grad_()
        log_z = LinearChain(leaf, backend=backend).log_partition
        log_z.sum().backward()
        marginals = LinearChain(other, backend=backend).marginals
        (marginals**3).sum().backward()
        gradients = [*leaf.gradients().values(), *other.gradients().values()]
        results.append([log_z.detach(), marginals.detach(), *gradients])
    for values in zip(*results, strict=True):
        for other in values[1:]:
            assert torch.allclose(values[0], other, rtol=1e-9, atol=1e-11)
