import pytest
import torch

from spacy_psa.layers import BiLSTM, Chain, ContextFusion, PSABias

from .helpers import assert_close, batch_of, mask_of, randomized

LENGTHS, WIDTH = [4, 2], 3


def make_psa() -> Chain:
    fusion = ContextFusion(WIDTH, bias=PSABias)
    return randomized(
        Chain(WIDTH, [fusion, BiLSTM(WIDTH, hidden_width=6), ContextFusion(6, bias=PSABias)])
    )


def test_chain_feeds_each_encoder_with_the_output_of_the_one_before():
    chain, mask = make_psa(), mask_of(LENGTHS)
    x = batch_of(LENGTHS, WIDTH)
    first, second, third = chain.encoders
    expected = third(second(first(x, mask), mask), mask)
    assert_close(chain(x, mask), expected, 0.0)


def test_chain_is_as_wide_as_its_last_encoder():
    assert make_psa().width == 6
    assert make_psa()(batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)).shape == (2, 4, 6)


def test_empty_chain_passes_its_input_on():
    chain, x = Chain(WIDTH, []), batch_of(LENGTHS, WIDTH)
    assert chain.width == WIDTH
    assert chain(x, mask_of(LENGTHS)) is x
    assert not list(chain.parameters())


def test_chain_trains_all_its_encoders():
    chain, mask = make_psa(), mask_of(LENGTHS)
    chain(batch_of(LENGTHS, WIDTH), mask)[mask.positions].square().sum().backward()
    for name, parameter in chain.named_parameters():
        assert parameter.grad is not None, name
        # A softmax is invariant to adding a constant to all scores, such as b in equation 11
        if not name.endswith("token_position.bias"):
            assert parameter.grad.any(), name


def test_chain_takes_any_iterable_of_encoders():
    chain = Chain(WIDTH, (BiLSTM(width, hidden_width=4) for width in (WIDTH, 4)))
    assert len(chain.encoders) == 2
    assert chain.width == 4


@pytest.mark.parametrize("mode", [True, False])
def test_chain_hands_the_mode_on(mode):
    chain = make_psa().train(mode)
    assert all(module.training is mode for module in chain.modules())


def test_chain_in_training_is_repeatable_from_a_seed():
    chain, x, mask = make_psa().train(), batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    torch.manual_seed(3)
    first = chain(x, mask)
    torch.manual_seed(3)
    assert torch.equal(chain(x, mask), first)
    assert not torch.equal(chain(x, mask), first)
