import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.layers import SequenceMask, masked_softmax

from .helpers import DTYPES, TOLERANCE, assert_close, mask_of, normal

ALLOWED = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
some_lengths = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def test_positions_are_those_before_the_length(device):
    mask = mask_of([1, 3], device)
    assert mask.positions.tolist() == [[True, False, False], [True, True, True]]


@settings(deadline=None, derandomize=True)
@given(some_lengths, st.integers(0, 2))
def test_reversal_turns_each_row_around_and_leaves_its_padding(lengths, extra):
    width = max(lengths) + extra
    reversal = SequenceMask(torch.tensor(lengths), width).reversal
    expected = [[*range(n - 1, -1, -1), *range(n, width)] for n in lengths]
    assert reversal.tolist() == expected
    assert torch.equal(reversal.gather(1, reversal), torch.arange(width).expand_as(reversal))


@settings(deadline=None, derandomize=True)
@given(some_lengths, st.integers(0, 2))
def test_packing_leaves_padding_out_and_unpacking_puts_zeros_there(lengths, extra):
    width = max(lengths) + extra
    mask = SequenceMask(torch.tensor(lengths), width)
    x = normal(len(lengths), width, 3, seed=4)
    packed = mask.pack(x)
    assert torch.equal(packed, torch.cat([row[:n] for row, n in zip(x, lengths, strict=True)]))
    assert torch.equal(mask.unpack(packed), x.masked_fill(~mask.positions.unsqueeze(2), 0.0))


@pytest.mark.parametrize("lengths", [[3, 1], [2, 2]], ids=["padded", "not padded"])
def test_packing_and_unpacking_pass_gradcheck(lengths):
    mask = mask_of(lengths)
    x = normal(2, mask.width, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(mask.pack, x)
    tokens = normal(4, 2, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(mask.unpack, tokens)
    # Also used for higher-order gradients.
    assert torch.autograd.gradgradcheck(lambda x: mask.pack(x) ** 2, x)


@settings(deadline=None, derandomize=True)
@given(some_lengths, st.booleans())
def test_pairs_are_real_columns_and_perhaps_not_the_row_itself(lengths, include_self):
    mask = mask_of(lengths)
    n = mask.width
    pairs = mask.pairs(include_self=include_self).expand(len(lengths), n, n)
    for row, length in enumerate(lengths):
        for i in range(n):
            for j in range(n):
                assert pairs[row, i, j] == (j < length and (include_self or i != j))


@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_softmax_is_the_softmax_of_what_is_allowed(dtype, device):
    scores = normal(3, 3)
    weights = masked_softmax(scores.to(device, dtype), ALLOWED.to(device)).cpu()
    assert weights.dtype == dtype
    for row in (0, 2):
        expected = scores[row][ALLOWED[row]].exp()
        assert_close(weights[row][ALLOWED[row]], expected / expected.sum(), TOLERANCE[dtype])
    assert not weights[~ALLOWED].any()


def test_masked_softmax_over_nothing_is_zero_with_zero_gradient():
    scores = normal(3, 3).requires_grad_()
    weights = masked_softmax(scores, ALLOWED)
    weights.square().sum().backward()
    assert not weights[1].any()
    assert not scores.grad[1].any()
    assert scores.grad[0].any()


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan, 1e38])
def test_masked_softmax_never_looks_at_what_is_not_allowed(value):
    scores = normal(3, 3).float()
    changed = scores.masked_fill(~ALLOWED, value)
    assert torch.equal(masked_softmax(changed, ALLOWED), masked_softmax(scores, ALLOWED))


def test_masked_softmax_survives_scores_of_any_size():
    scores = torch.tensor([[1e30, -1e30, -1e30], [0.0, 0.0, 0.0], [-1e30, -1e30, -1e30]])
    weights = masked_softmax(scores, ALLOWED)
    assert_close(weights, torch.tensor([[1, 0, 0], [0, 0, 0], [1 / 3] * 3]), 1e-6)


def test_masked_softmax_broadcasts_what_is_allowed():
    weights = masked_softmax(torch.zeros(2, 3, 3), torch.tensor([[[True, True, False]]]))
    assert torch.equal(weights, torch.tensor([0.5, 0.5, 0.0]).expand(2, 3, 3))


def test_masked_softmax_passes_gradcheck():
    assert torch.autograd.gradcheck(
        lambda scores: masked_softmax(scores, ALLOWED), (normal(3, 3).requires_grad_(),)
    )
