"""Both directions of an LSTM over sequences without padding, in oneDNN's own calls."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from spacy_psa.layers import BiLSTM, reordered_lstm
from spacy_psa.layers.mask import SequenceMask
from spacy_psa.layers.reordered_lstm import ReorderedLSTM, read_unpadded

from .helpers import normal, refusing

INPUT, LEFT, RIGHT = 20, 24, 17
SHAPES = [(1, 1), (1, 7), (5, 3), (33, 4)]
DTYPES = [torch.float32, torch.bfloat16]

needs_onednn = pytest.mark.skipif(
    not reordered_lstm.ORDERS_WEIGHTS, reason="PyTorch cannot put weights in order here"
)


def directions(dtype: torch.dtype = torch.float32) -> tuple[ReorderedLSTM, ReorderedLSTM]:
    torch.manual_seed(0)
    left, right = (ReorderedLSTM(INPUT, width).to(dtype).eval() for width in (LEFT, RIGHT))
    return left, right


def vectors(n_rows: int = 2, n: int = 5, dtype: torch.dtype = torch.float32) -> Tensor:
    return normal(n_rows, n, INPUT, seed=1).to(dtype)


def called(x: Tensor, left: nn.LSTM, right: nn.LSTM) -> Tensor:
    """What PyTorch's layers return, the second for the sequences read from the end."""
    twins = [
        nn.LSTM(INPUT, lstm.hidden_size, batch_first=True).to(x.dtype) for lstm in (left, right)
    ]
    for twin, lstm in zip(twins, (left, right), strict=True):
        twin.load_state_dict(lstm.state_dict())
    return torch.cat([twins[0](x)[0], twins[1](x.flip(1))[0].flip(1)], dim=2)


@needs_onednn
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_rows", "n"), SHAPES)
def test_states_are_those_of_both_layers(n_rows: int, n: int, dtype: torch.dtype) -> None:
    x = vectors(n_rows, n, dtype)
    with torch.no_grad():
        found, expected = read_unpadded(x, *directions(dtype)), called(x, *directions(dtype))
    assert found is not None and found.shape == (n_rows, n, LEFT + RIGHT) and found.dtype == dtype
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@needs_onednn
@pytest.mark.parametrize("which", [0, 1])
def test_changed_weights_count(which: int) -> None:
    layers = directions()
    with torch.no_grad():
        before = read_unpadded(vectors(), *layers)
        layers[which].weight_hh_l0.mul_(-2.0)
        after = read_unpadded(vectors(), *layers)
        torch.testing.assert_close(after, called(vectors(), *layers), rtol=1e-6, atol=1e-6)
    assert before is not None and not torch.allclose(before, after, atol=1e-4)


@pytest.mark.parametrize("what", ["gradients", "float64", "autocast", "switched off", "subclass"])
def test_layers_are_to_be_called_if_onednn_may_not_read(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", what != "switched off")
    dtype = torch.float64 if what == "float64" else torch.float32
    left, right = directions(dtype)
    if what == "subclass":
        right.__class__ = type("Other", (ReorderedLSTM,), {})
    with (
        torch.set_grad_enabled(what == "gradients"),
        torch.autocast("cpu", enabled=what == "autocast"),
    ):
        assert read_unpadded(vectors(dtype=dtype), left, right) is None


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", ["hook", "pre-hook", "global hook", "global pre-hook"])
def test_hooks_of_the_layers_run(kind: str, which: int) -> None:
    layer = BiLSTM(INPUT, hidden_width=LEFT).eval()
    lstm = (layer.forwards, layer.backwards)[which][0]
    seen = Mock(return_value=None)
    register = {
        "hook": lstm.register_forward_hook,
        "pre-hook": lstm.register_forward_pre_hook,
        "global hook": register_module_forward_hook,
        "global pre-hook": register_module_forward_pre_hook,
    }[kind]
    handle = register(seen)
    try:
        with torch.no_grad():
            layer(vectors(), SequenceMask(torch.tensor([5, 5]), 5))
    finally:
        handle.remove()
    assert lstm in [call.args[0] for call in seen.call_args_list]


@needs_onednn
@pytest.mark.parametrize("failing", ["_in_order", "RUN_LAYER"])
def test_where_onednn_fails_the_layers_are_called(
    failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, mask = BiLSTM(INPUT, hidden_width=LEFT).eval(), SequenceMask(torch.tensor([5, 5]), 5)
    with torch.no_grad():
        expected = layer(vectors(), mask)
        layer.eval()  # forgets the weights in order
        monkeypatch.setattr(reordered_lstm, failing, refusing())
        for _ in range(2):
            torch.testing.assert_close(layer(vectors(), mask), expected, rtol=1e-6, atol=1e-6)


@needs_onednn
def test_a_bilstm_reads_sentences_without_padding_in_this_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer, calls = BiLSTM(INPUT, hidden_width=LEFT).eval(), Mock(wraps=reordered_lstm.RUN_LAYER)
    monkeypatch.setattr(reordered_lstm, "RUN_LAYER", calls)
    with torch.no_grad():
        together = layer(vectors(), SequenceMask(torch.tensor([5, 3]), 5))
        backwards = [call.args[7] for call in calls.call_args_list]
        alone = layer(vectors()[1:, :3], SequenceMask(torch.tensor([3]), 3))
    assert not any(backwards)
    assert [call.args[7] for call in calls.call_args_list[len(backwards) :]] == [False, True]
    torch.testing.assert_close(alone[0], together[1, :3], rtol=1e-6, atol=1e-6)


def test_vectors_of_another_width_are_an_error() -> None:
    layer = BiLSTM(INPUT, hidden_width=LEFT).eval()
    with torch.no_grad(), pytest.raises(RuntimeError, match=f"{INPUT}"):
        layer(torch.ones(2, 3, INPUT + 1), SequenceMask(torch.tensor([3, 3]), 3))
