import numpy as np
import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.layers import CRFDecoder, PairwiseCRFDecoder, SoftmaxDecoder

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, randomized, state_of
from .reference import product

LENGTHS, WIDTH, LABELS = [3, 1], 4, 5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [SoftmaxDecoder, CRFDecoder])
def test_emissions_are_linear_in_the_token(make, dtype, device):
    layer = randomized(make(WIDTH, LABELS))
    x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.shape == (2, 3, LABELS)
    for row, n in enumerate(LENGTHS):
        for i in range(n):
            expected = product(state["emission.weight"], x[row, i].numpy())
            assert_close(output[row, i], expected + state["emission.bias"], TOLERANCE[dtype])


def test_a_softmax_may_have_no_bias() -> None:
    decoder = randomized(SoftmaxDecoder(3, 4, bias=False))
    assert [name for name, _ in decoder.named_parameters()] == ["emission.weight"]
    x = torch.randn(1, 2, 3, dtype=torch.float64)
    emissions = decoder(x, mask_of([2]))
    assert_close(emissions, x @ decoder.label_vectors().T, 1e-12)


def test_softmax_has_no_transition_scores():
    assert SoftmaxDecoder(WIDTH, LABELS).transition_scores() == {}


def test_crf_has_trainable_transition_start_and_end_scores():
    layer = CRFDecoder(WIDTH, LABELS)
    scores = layer.transition_scores()
    assert {name: tuple(score.shape) for name, score in scores.items()} == {
        "transitions": (LABELS, LABELS),
        "start": (LABELS,),
        "end": (LABELS,),
    }
    own = dict(layer.named_parameters())
    assert all(score is own[name] for name, score in scores.items())


def test_crf_starts_and_ends_without_preference():
    scores = CRFDecoder(WIDTH, LABELS).transition_scores()
    assert not scores["start"].any()
    assert not scores["end"].any()
    assert scores["transitions"].any()


@pytest.mark.parametrize("make", [SoftmaxDecoder, CRFDecoder])
def test_scores_are_those_that_potentials_take(make):
    layer = randomized(make(WIDTH, LABELS))
    mask = mask_of(LENGTHS)
    emissions = layer(batch_of(LENGTHS, WIDTH), mask)[mask.positions]
    potentials = Potentials(emissions, LENGTHS, **layer.transition_scores())
    assert potentials.emissions.shape == (sum(LENGTHS), LABELS)


def test_probabilities_of_sequences_follow_equations_1_and_2():
    layer = randomized(CRFDecoder(WIDTH, 2))
    emissions = layer(batch_of([2], WIDTH), mask_of([2]))[0].detach()
    scores = layer.transition_scores()
    chain = LinearChain(Potentials(emissions, (2,), **scores))
    start, end, A = (scores[name].detach().numpy() for name in ("start", "end", "transitions"))
    e = emissions.numpy()
    # exp of the sum of log φ, for each of the four label sequences.
    products = {
        (a, b): np.exp(start[a] + e[0, a] + A[a, b] + e[1, b] + end[b])
        for a in range(2)
        for b in range(2)
    }
    for labels, weight in products.items():
        expected = np.log(weight / sum(products.values()))
        assert_close(chain.log_prob(torch.tensor(labels)), np.array([expected]), 1e-10)


class TestPairwise:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_scores_are_linear_in_the_token_pair_by_pair(self, dtype, device):
        layer = randomized(PairwiseCRFDecoder(WIDTH, LABELS))
        x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
        output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
        for row, n in enumerate(LENGTHS):
            for t in range(n):
                z = x[row, t].numpy()
                emissions = product(state["emission.weight"], z) + state["emission.bias"]
                assert_close(output["emissions"][row, t], emissions, TOLERANCE[dtype])
                for i in range(LABELS):
                    for j in range(LABELS):
                        expected = state["pair.weight"][i * LABELS + j] @ z
                        found = output["pairwise"][row, t, i, j]
                        assert_close(found, np.array(expected), TOLERANCE[dtype])

    def test_gradients(self):
        layer, mask = randomized(PairwiseCRFDecoder(2, 3)), mask_of(LENGTHS)

        def function(x, *parameters):
            return (*layer(x, mask).values(), *(s * 1 for s in layer.transition_scores().values()))

        inputs = (batch_of(LENGTHS, 2).requires_grad_(), *layer.parameters())
        assert torch.autograd.gradcheck(function, inputs)

    def test_each_token_is_scored_on_its_own(self):
        layer, x = randomized(PairwiseCRFDecoder(WIDTH, LABELS)), batch_of(LENGTHS, WIDTH)
        changed = x.clone()
        changed[0, 1] += 1.0
        mask = mask_of(LENGTHS)
        for before, after in zip(
            layer(x, mask).values(), layer(changed, mask).values(), strict=True
        ):
            different = (before != after).flatten(2).any(dim=2)
            assert different.nonzero().tolist() == [[0, 1]]

    def test_the_bias_of_a_pair_is_its_transition(self):
        layer = PairwiseCRFDecoder(WIDTH, LABELS)
        assert layer.pair.bias is None
        assert set(layer.transition_scores()) == {"transitions", "start", "end"}

    def test_probabilities_of_sequences_follow_equation_2(self):
        layer, x = randomized(PairwiseCRFDecoder(WIDTH, 2)), batch_of([3], WIDTH)
        fields = {name: scores[0].detach() for name, scores in layer(x, mask_of([3])).items()}
        scores, s, z = layer.transition_scores(), state_of(layer), x[0].numpy()
        chain = LinearChain(Potentials(lengths=(3,), **fields, **scores))

        def potential(i: int, j: int, t: int) -> float:
            weights = s["emission.weight"][j] + s["pair.weight"][2 * i + j]
            return np.exp(weights @ z[t] + s["emission.bias"][j] + s["transitions"][i, j])

        products = {}
        for labels in np.ndindex(2, 2, 2):
            first = s["emission.weight"][labels[0]] @ z[0] + s["emission.bias"][labels[0]]
            weight = np.exp(s["start"][labels[0]] + first + s["end"][labels[2]])
            weight *= potential(labels[0], labels[1], 1) * potential(labels[1], labels[2], 2)
            products[labels] = weight
        for labels, weight in products.items():
            expected = np.log(weight / sum(products.values()))
            assert_close(chain.log_prob(torch.tensor(labels)), np.array([expected]), 1e-10)
