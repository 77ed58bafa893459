"""Values and gradients of structured attention against sums over all label sequences."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.layers import LabelCRFDecoder, LabelEmbeddings, LabelMarginals, LabelTransitions

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, randomized, state_of
from .label_reference import equation_9, equation_10

LENGTHS, WIDTH, LABELS = [4, 1, 2], 3, 3


def make_marginals(n_labels: int = LABELS, **config) -> LabelMarginals:
    labels, transitions = LabelEmbeddings(n_labels, WIDTH), LabelTransitions(n_labels)
    return randomized(LabelMarginals(labels, transitions), **config)


def enumerated(layer: LabelMarginals, h: torch.Tensor) -> torch.Tensor:
    """ĥ of one sentence by enumerating label sequences, differentiable by autograd."""
    scores, marginals = [], 0
    A = layer.transitions
    sequences = list(itertools.product(range(layer.labels.n_labels), repeat=len(h)))
    for labels in sequences:
        score = A.start[labels[0]] + A.end[labels[-1]]
        for t, y in enumerate(labels):
            score = score + h[t] @ layer.labels.weight[y]
            score = score + (A.between[labels[t - 1], y] if t else 0)
        scores.append(score)
    for probability, labels in zip(torch.softmax(torch.stack(scores), 0), sequences, strict=True):
        marginals = marginals + probability * one_hot(labels, layer.labels.n_labels)
    return marginals @ (layer.labels.weight @ layer.value.weight.T + layer.value.bias)


def one_hot(labels: tuple[int, ...], n_labels: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(labels), n_labels).double()


@pytest.mark.parametrize("dtype", DTYPES)
def test_marginals_and_values_equal_loops(dtype, device):
    layer = make_marginals()
    x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
    layer.to(device, dtype)
    output, marginals = layer(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.dtype == marginals.dtype == dtype
    assert marginals.shape == (3, 4, 1, LABELS)
    for row, n in enumerate(LENGTHS):
        expected = equation_9(x[row, :n].numpy(), state)
        assert_close(marginals[row, :n, 0], expected, TOLERANCE[dtype])
        assert_close(output[row, :n], equation_10(expected, state), TOLERANCE[dtype])


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    n_labels=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_gradients_equal_those_of_enumeration(lengths, n_labels, seed):
    layer = make_marginals(n_labels, seed=seed)
    x, weights = batch_of(lengths, WIDTH, seed=seed), batch_of(lengths, WIDTH, seed=seed + 1)
    mask = mask_of(lengths)

    def gradients(total: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)

    inputs = [x.requires_grad_(), *layer.parameters()]
    found = gradients((layer(x, mask)[0] * weights)[mask.positions].sum())
    rows = [
        (enumerated(layer, x[row, :n]) * weights[row, :n]).sum() for row, n in enumerate(lengths)
    ]
    for one, other in zip(found, gradients(torch.stack(rows).sum()), strict=True):
        assert_close(one, other, 1e-10)


def test_marginals_are_distributions_and_zero_in_the_padding():
    mask = mask_of(LENGTHS)
    marginals = make_marginals().distributions(batch_of(LENGTHS, WIDTH), mask)
    assert_close(marginals.sum(dim=3).squeeze(2), mask.positions.double(), 1e-12)


def test_labels_at_other_tokens_matter():
    # The point of the paper: locally normalized attention would not change.
    layer, x = make_marginals(), batch_of([4], WIDTH)
    changed = x.clone()
    changed[0, 3] += 1.0
    difference = layer.distributions(changed, mask_of([4])) - layer.distributions(x, mask_of([4]))
    assert (difference.abs().amax(dim=3) > 1e-9).all()


def test_without_transitions_the_marginals_are_a_softmax():
    layer, x = make_marginals(), batch_of([4], WIDTH)
    with torch.no_grad():
        for parameter in layer.transitions.parameters():
            parameter.zero_()
    marginals = layer.distributions(x, mask_of([4]))[:, :, 0]
    assert_close(marginals, torch.softmax(layer.labels(x), dim=2), 1e-12)


def test_inspection_shows_the_marginals():
    layer, x, mask = make_marginals(), batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    assert torch.equal(layer.inspect(x, mask)["labels"], layer(x, mask)[1])


def test_inference_is_not_done_in_half_precision():
    layer = make_marginals().to(torch.bfloat16)
    x, mask = batch_of(LENGTHS, WIDTH).to(torch.bfloat16), mask_of(LENGTHS)
    output, marginals = layer(x, mask)
    assert output.dtype == marginals.dtype == torch.bfloat16
    scores = {name: score.float() for name, score in layer.transitions.scores().items()}
    emissions = layer.labels(x)[mask.positions].float()
    expected = LinearChain(Potentials(emissions, LENGTHS, **scores)).marginals
    assert torch.equal(marginals[mask.positions].squeeze(1), expected.to(torch.bfloat16))


def test_decoder_has_the_emissions_and_transitions_of_equation_6():
    layer = make_marginals()
    decoder = LabelCRFDecoder(layer.labels, layer.transitions)
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    emissions = decoder(x, mask)
    assert_close(emissions, x @ layer.labels.weight.T, 1e-12)
    potentials = Potentials(emissions[mask.positions], LENGTHS, **decoder.transition_scores())
    assert potentials.transitions is layer.transitions.between
    assert potentials.start is layer.transitions.start
    assert potentials.end is layer.transitions.end
