from dataclasses import replace

import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.engines.max_product import viterbi_fused, viterbi_numpy
from spacy_psa.inference.engines.triton.backend import have_kernels

from .brute_force import BruteForce, random_potentials

FIELDS = [
    ("transitions", "start", "end"),
    ("transitions",),
    ("end",),
    ("transitions", "start", "end", "pairwise"),
    ("pairwise",),
]


def viterbi_interpreted(potentials: Potentials) -> torch.Tensor:
    """The GPU kernel, if Triton can interpret it and there are tokens."""
    if not have_kernels(potentials.emissions):
        if potentials.n_tokens:
            pytest.skip("no Triton that interprets kernels")
        return viterbi_numpy(potentials)
    return viterbi_fused(potentials)


kernels = pytest.mark.parametrize("kernel", [viterbi_numpy, viterbi_interpreted])


@kernels
@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("lengths", [(4, 0, 2, 1, 5), (5,), (0, 2, 0), (1,), (0, 0), ()])
@pytest.mark.parametrize("scale", [1.0, 0])
def test_kernels_against_enumeration(kernel, fields, lengths, scale):
    potentials = random_potentials(3, lengths, fields=fields, scale=scale)
    assert kernel(potentials).tolist() == BruteForce(potentials).argmax.tolist()


@kernels
def test_kernels_leave_the_potentials_as_they_were(kernel):
    potentials = random_potentials(3, (4, 2))
    before = {name: scores.clone() for name, scores in potentials.tensors().items()}
    kernel(potentials)
    assert all(torch.equal(scores, before[name]) for name, scores in potentials.tensors().items())


@pytest.mark.parametrize("fields", [FIELDS[0], FIELDS[3]], ids=["shared", "pairwise"])
def test_numpy_kernel_in_small_pieces(monkeypatch, fields):
    potentials = random_potentials(3, (4, 4, 3, 2, 2, 1), scale=0, fields=fields)
    monkeypatch.setattr("spacy_psa.inference.engines.max_product.CHUNK", 18)
    assert viterbi_numpy(potentials).tolist() == BruteForce(potentials).argmax.tolist()


@pytest.mark.parametrize("fields", FIELDS, ids=str)
@pytest.mark.parametrize("many", [0, 40, 1 << 60])
def test_numpy_kernel_where_pytorch_adds_and_compares(monkeypatch, fields, many):
    potentials = random_potentials(3, (4, 4, 3, 2, 2, 1), scale=3, fields=fields)
    potentials.emissions[4, [0, 2]] = -torch.inf
    monkeypatch.setattr("spacy_psa.inference.engines.max_product.MANY", many)
    assert viterbi_numpy(potentials).tolist() == BruteForce(potentials).argmax.tolist()


@kernels
def test_kernels_agree_at_realistic_sizes(kernel):
    potentials = random_potentials(30, (40, 7, 25, 25), dtype=torch.float32)
    chain = LinearChain(potentials)
    labels = kernel(potentials)
    assert torch.allclose(chain.score(labels), chain.max_score, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 0])
def test_a_chain_has_the_labels_that_it_has_among_others(scale):
    potentials = random_potentials(30, (40, 7, 25), dtype=torch.float32, scale=scale)
    parts = potentials.emissions.split(potentials.lengths)
    alone = [
        viterbi_numpy(replace(potentials, emissions=part, lengths=(len(part),))) for part in parts
    ]
    assert torch.cat(alone).tolist() == viterbi_numpy(potentials).tolist()


@kernels
def test_forbidden_transitions_are_never_taken(kernel):
    potentials = Potentials(
        torch.tensor([[5.0, 0.0], [0.0, 5.0], [5.0, 0.0]]),
        (3,),
        transitions=torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]),
    )
    assert kernel(potentials).tolist() == [0, 0, 0]


@kernels
def test_small_differences_between_large_float32_scores_count(kernel):
    # In float32, 1e6 + 0.01 is 1e6: only sums in float64 distinguish the labels
    potentials = Potentials(
        torch.tensor([[0.0, 0.01], [1e6, 1e6]]),
        (2,),
        transitions=torch.tensor([[0.0, -1e3], [-1e3, 0.0]]),
    )
    assert kernel(potentials).tolist() == [1, 1]


@pytest.mark.parametrize("fields", [FIELDS[0], FIELDS[3]], ids=["shared", "pairwise"])
@pytest.mark.parametrize("numbers", [16, 64])
def test_interpreted_kernel_in_small_tiles(monkeypatch, fields, numbers):
    pytest.importorskip("triton", reason="Triton is not installed")
    monkeypatch.setattr("spacy_psa.inference.engines.triton.chains.TILE", numbers)
    potentials = random_potentials(11, (6, 3, 1), scale=0, fields=fields)
    assert viterbi_interpreted(potentials).tolist() == viterbi_numpy(potentials).tolist()


def test_interpreted_kernel_stays_within_the_labels_where_there_is_no_number():
    potentials = random_potentials(3, (4, 2))
    potentials.emissions[2] = torch.nan
    labels = viterbi_interpreted(potentials)
    assert bool(((labels >= 0) & (labels < 3)).all())
    assert labels[4:].tolist() == viterbi_numpy(potentials)[4:].tolist()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_equals_cpu():
    potentials = random_potentials(9, (12, 0, 7, 3), dtype=torch.float32)
    moved = Potentials(
        lengths=potentials.lengths, **{k: t.cuda() for k, t in potentials.tensors().items()}
    )
    chain, on_cuda = LinearChain(potentials), LinearChain(moved)
    assert torch.equal(on_cuda.argmax.cpu(), chain.argmax)
    assert torch.allclose(on_cuda.log_partition.cpu().double(), chain.log_partition, rtol=1e-5)
    assert torch.allclose(on_cuda.marginals.cpu(), chain.marginals, atol=1e-5)
