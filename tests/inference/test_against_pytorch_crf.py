"""Loss, gradient and best paths equal those of an independent implementation."""

import pytest
import torch

from spacy_psa.inference import BACKENDS, LinearChain, Potentials

torchcrf = pytest.importorskip("torchcrf", reason="pytorch-crf is not installed")

LENGTHS = (7, 3, 1, 5)
N_LABELS = 6


@pytest.fixture
def batch():
    torch.manual_seed(3)
    crf = torchcrf.CRF(N_LABELS, batch_first=True).double()
    torch.nn.init.normal_(crf.transitions)
    emissions = torch.randn(len(LENGTHS), max(LENGTHS), N_LABELS, dtype=torch.float64)
    labels = torch.randint(N_LABELS, (len(LENGTHS), max(LENGTHS)))
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    return crf, emissions.requires_grad_(), labels, mask


def potentials_of(crf, emissions, mask) -> Potentials:
    return Potentials(
        emissions[mask], LENGTHS, crf.transitions, crf.start_transitions, crf.end_transitions
    )


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_loss_and_gradient(batch, backend):
    crf, emissions, labels, mask = batch
    inputs = [emissions, crf.transitions, crf.start_transitions, crf.end_transitions]
    expected = crf(emissions, labels, mask, reduction="none")
    actual = LinearChain(potentials_of(crf, emissions, mask), backend=backend).log_prob(
        labels[mask]
    )
    assert torch.allclose(actual, expected, rtol=1e-9)
    gradients = torch.autograd.grad(actual.sum(), inputs)
    for ours, theirs in zip(gradients, torch.autograd.grad(expected.sum(), inputs), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_best_paths(batch):
    crf, emissions, _, mask = batch
    labels = LinearChain(potentials_of(crf, emissions, mask)).argmax
    assert [part.tolist() for part in labels.split(LENGTHS)] == crf.decode(emissions, mask)
