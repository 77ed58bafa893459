"""Neither padding nor other sentences in a batch change the results."""

import pytest
import torch
from torch import nn

from spacy_psa.layers import SequenceMask

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, normal, randomized
from .test_gradients import ENCODERS, WIDTH
from .test_refinement import SYSTEMS

LENGTHS = [4, 1, 6, 2]
MODULES = ENCODERS | SYSTEMS


def make(name: str) -> nn.Module:
    """A module in training mode, which cuDNN's LSTM needs for gradients, but without dropout."""
    module = randomized(MODULES[name]())
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return module.train()


def run(module: nn.Module, x: torch.Tensor, lengths: list[int]) -> tuple[torch.Tensor, list]:
    """The outputs at real positions, and the gradients of input and parameters."""
    mask = mask_of(lengths, x.device)
    x = x.clone().requires_grad_()
    module.zero_grad()
    output = module(x, mask)[mask.positions]
    output.square().sum().backward()
    return output, [x.grad, *(p.grad for p in module.parameters() if p.grad is not None)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("garbage", [1e6, -1e6, 0.0])
@pytest.mark.parametrize("name", MODULES)
def test_content_of_padding_changes_neither_outputs_nor_gradients(name, garbage, dtype, device):
    module = make(name).to(device, dtype)
    x = batch_of(LENGTHS, WIDTH).to(device, dtype)
    dirty = x.clone()
    dirty[~mask_of(LENGTHS, device).positions] = garbage
    clean_output, clean_gradients = run(module, x, LENGTHS)
    dirty_output, dirty_gradients = run(module, dirty, LENGTHS)
    assert_close(dirty_output, clean_output, TOLERANCE[dtype])
    assert len(clean_gradients) > 1
    for dirty_gradient, clean_gradient in zip(dirty_gradients, clean_gradients, strict=True):
        assert_close(dirty_gradient, clean_gradient, 10 * TOLERANCE[dtype])


@pytest.mark.parametrize("name", MODULES)
def test_padding_gets_no_gradient(name):
    module, x = make(name), batch_of(LENGTHS, WIDTH)
    _, (gradient, *_) = run(module, x, LENGTHS)
    positions = mask_of(LENGTHS).positions
    assert not gradient[~positions].any()
    assert gradient[positions].any()


@pytest.mark.parametrize("name", MODULES)
def test_sentences_alone_come_out_as_in_a_batch(name):
    module, x = make(name), batch_of(LENGTHS, WIDTH)
    output = module(x, mask_of(LENGTHS))
    for row, n in enumerate(LENGTHS):
        alone = module(x[row : row + 1, :n], mask_of([n]))
        assert_close(output[row, :n], alone[0], 1e-12)


@pytest.mark.parametrize("name", MODULES)
def test_order_of_the_batch_only_orders_the_output(name):
    module, x = make(name), batch_of(LENGTHS, WIDTH)
    order = [2, 0, 3, 1]
    output = module(x, mask_of(LENGTHS))
    shuffled = module(x[order], mask_of([LENGTHS[row] for row in order]))
    for place, row in enumerate(order):
        n = LENGTHS[row]
        assert_close(shuffled[place, :n], output[row, :n], 1e-12)


@pytest.mark.parametrize("name", [name for name in ENCODERS if "decoder" not in name])
def test_what_a_sentence_holds_does_change_it(name):
    # The tests above cannot fail for a module that ignores its input.
    module, x = make(name), batch_of(LENGTHS, WIDTH)
    changed = x.clone()
    changed[2, 5] += normal(WIDTH)
    difference = (module(changed, mask_of(LENGTHS)) - module(x, mask_of(LENGTHS))).abs()
    assert difference[2, 0].sum() > 1e-9
    assert not difference[[0, 1, 3]].any()


@pytest.mark.parametrize("name", ENCODERS)
def test_shapes_are_found_without_numbers(name):
    x, lengths = batch_of(LENGTHS, WIDTH), torch.tensor(LENGTHS, device="meta")
    found = make(name).to("meta")(x.to("meta"), SequenceMask(lengths, max(LENGTHS)))
    assert found.is_meta and found.shape == make(name)(x, mask_of(LENGTHS)).shape


@pytest.mark.parametrize("name", MODULES)
def test_a_batch_may_have_no_sentences(name):
    x = normal(0, 3, WIDTH).requires_grad_()
    output = make(name)(x, SequenceMask(torch.zeros(0, dtype=torch.long), 3))
    output.sum().backward()
    assert output.shape[:2] == (0, 3)
