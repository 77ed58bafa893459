"""Recording the internal values of a network."""

import pytest
import torch

from spacy_psa.analysis.activations import inspecting
from spacy_psa.layers import (
    BiLSTM,
    Chain,
    ContextFusion,
    PSABias,
    SequenceMask,
)

from ..layers.helpers import assert_close, batch_of, mask_of, randomized

LENGTHS, WIDTH = [4, 1, 3], 4


def make_network() -> Chain:
    return randomized(
        Chain(
            WIDTH,
            [
                ContextFusion(WIDTH, bias=PSABias),
                BiLSTM(WIDTH, hidden_width=6),
                ContextFusion(6, bias=PSABias),
            ],
        )
    )


def test_each_layer_is_recorded_with_its_own_input():
    network, x, mask = make_network(), batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    with inspecting(network) as found:
        network(x, mask)
    assert [inspection.layer for inspection in found] == ["encoders.0", "encoders.2"]
    assert all(inspection.mask is mask for inspection in found)
    middle = network.encoders[1](network.encoders[0](x, mask), mask)
    expected = network.encoders[2].inspect(middle, mask)
    assert found[1].values.keys() == expected.keys() == {"attention", "gate", "bias"}
    for name, value in expected.items():
        real = mask.positions  # rows of padding have no meaning
        assert_close(found[1].values[name][real], value[real], 1e-12)


def test_each_run_is_recorded():
    network, x = make_network(), batch_of(LENGTHS, WIDTH)
    with inspecting(network) as found:
        network(x, mask_of(LENGTHS))
        network(x[:1], SequenceMask(torch.tensor([2]), 4))
    assert [inspection.mask.lengths.tolist() for inspection in found] == [LENGTHS] * 2 + [[2]] * 2


def test_outputs_and_gradients_are_the_same():
    network, x, mask = make_network(), batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    expected = network(x, mask)
    with inspecting(network) as found:
        output = network(x, mask)
    assert torch.equal(output, expected)
    assert output.requires_grad
    assert not any(value.requires_grad for f in found for value in f.values.values())


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_behind(fails):
    network = make_network()
    mask = None if fails else mask_of(LENGTHS)
    try:
        with inspecting(network) as found:
            network(batch_of(LENGTHS, WIDTH), mask)
    except AttributeError:
        assert fails
    n = len(found)
    network(batch_of(LENGTHS, WIDTH), mask_of(LENGTHS))
    assert len(found) == n
    assert not any(module._forward_hooks for module in network.modules())
