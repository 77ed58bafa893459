"""The LSTM with weights in oneDNN's order against PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from spacy_psa.layers import reordered_lstm
from spacy_psa.layers.reordered_lstm import ReorderedLSTM
from spacy_psa.layers.versions import forget_weights

from .helpers import normal, refusing

INPUT, WIDTH = 20, 24
SHAPES = [(1, 1), (1, 7), (5, 3), (33, 4)]
Change = Callable[[ReorderedLSTM], object]


def make(dtype: torch.dtype = torch.float32) -> ReorderedLSTM:
    torch.manual_seed(0)
    return ReorderedLSTM(INPUT, WIDTH).to(dtype).eval()


def plain(layer: ReorderedLSTM) -> nn.LSTM:
    """PyTorch's LSTM with the same parameters."""
    twin = nn.LSTM(INPUT, WIDTH, batch_first=True).to(layer.weight_hh_l0.dtype)
    twin.load_state_dict(layer.state_dict())
    return twin


def vectors(n_rows: int = 2, n: int = 5, dtype: torch.dtype = torch.float32) -> Tensor:
    return normal(n_rows, n, INPUT, seed=1).to(dtype)


needs_onednn = pytest.mark.skipif(
    not reordered_lstm.ORDERS_WEIGHTS, reason="PyTorch cannot put weights in order here"
)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows each time oneDNN runs with cached weights."""
    calls, run = [], reordered_lstm._run
    monkeypatch.setattr(
        reordered_lstm, "_run", lambda *arguments: calls.append(1) or run(*arguments)
    )
    return calls


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(("n_rows", "n"), SHAPES)
def test_states_are_those_of_pytorch(n_rows: int, n: int, dtype: torch.dtype) -> None:
    layer = make(dtype)
    x = vectors(n_rows, n, dtype)
    with torch.no_grad():
        (states, last), (expected, expected_last) = layer(x), plain(layer)(x)
    for one, other in zip((states, *last), (expected, *expected_last), strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype == dtype
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


@needs_onednn
def test_weights_are_put_in_order_once(counted: list[int]) -> None:
    layer = make()
    with torch.no_grad():
        layer(vectors())
        ordered = layer._ordered._kept
        layer(vectors(3, 2))
    assert len(counted) == 2
    assert layer._ordered._kept is ordered is not None


def in_place(layer: ReorderedLSTM) -> None:
    with torch.no_grad():
        layer.weight_hh_l0.mul_(-2.0)


def by_an_optimizer(layer: ReorderedLSTM) -> None:
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    with torch.enable_grad():
        layer(vectors())[0].sum().backward()
    optimizer.step()


def by_loading(layer: ReorderedLSTM) -> None:
    layer.load_state_dict({name: value + 0.1 for name, value in layer.state_dict().items()})


def as_the_shim_does(layer: ReorderedLSTM) -> None:
    layer.weight_ih_l0.data.numpy()[...] += 0.1
    forget_weights(nn.ModuleList([nn.Linear(1, 1), layer]))


def by_a_fused_optimizer(layer: ReorderedLSTM) -> None:
    optimizer = torch.optim.Adam(layer.train().parameters(), lr=0.5, fused=True)
    with torch.enable_grad():
        layer(vectors())[0].sum().backward()
    optimizer.step()
    layer.eval()


def by_another_tensor(layer: ReorderedLSTM) -> None:
    layer.weight_hh_l0 = nn.Parameter(layer.weight_hh_l0.detach() - 0.1)


@pytest.mark.parametrize(
    "change",
    [
        in_place,
        by_an_optimizer,
        by_loading,
        as_the_shim_does,
        by_a_fused_optimizer,
        by_another_tensor,
    ],
)
def test_other_weights_are_put_in_order_anew(change: Change) -> None:
    layer = make()
    with torch.no_grad():
        before = layer(vectors())[0]
        change(layer)
        after = layer(vectors())[0]
        torch.testing.assert_close(after, plain(layer)(vectors())[0], rtol=1e-6, atol=1e-6)
    assert not torch.allclose(before, after, atol=1e-4)


def test_biases_are_not_kept() -> None:
    layer = make()
    with torch.no_grad():
        layer(vectors())
        layer.bias_hh_l0.data.numpy()[...] += 1.0
        torch.testing.assert_close(layer(vectors())[0], plain(layer)(vectors())[0])


@pytest.mark.parametrize(
    "what", ["gradients", "first states", "float64", "autocast", "switched off"]
)
def test_otherwise_it_is_pytorchs(
    what: str, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", what != "switched off")
    layer = make(torch.float64 if what == "float64" else torch.float32)
    x = vectors(dtype=layer.weight_hh_l0.dtype)
    zeros = torch.zeros(1, len(x), WIDTH)
    with (
        torch.set_grad_enabled(what == "gradients"),
        torch.autocast("cpu", enabled=what == "autocast"),
    ):
        output, expected = (
            lstm(x, (zeros, zeros))[0] if what == "first states" else lstm(x)[0]
            for lstm in (layer, plain(layer))
        )
    assert torch.equal(output, expected)
    assert output.requires_grad == (what == "gradients")
    assert not counted


def test_where_onednn_has_no_lstm_it_is_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = refusing()
    name = "_reorder_mkldnn_rnn_layer_weight"
    monkeypatch.setattr(torch.ops.mkldnn, name, refuse, raising=False)
    layer = make()
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(layer(vectors())[0], plain(layer)(vectors())[0])
    assert refuse.call_count == reordered_lstm.ORDERS_WEIGHTS


def test_where_onednn_cannot_read_the_order_it_is_pytorchs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse = refusing()
    monkeypatch.setattr(reordered_lstm, "_run", refuse)
    layer = make()
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(layer(vectors())[0], plain(layer)(vectors())[0])
    assert refuse.call_count == reordered_lstm.ORDERS_WEIGHTS


def test_other_weights_for_a_call_are_for_that_call() -> None:
    layer, other = make(), make()
    in_place(other)
    with torch.no_grad():
        expected, mine = other(vectors())[0], layer(vectors())[0]
        found, _ = torch.func.functional_call(layer, dict(other.named_parameters()), vectors())
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(layer(vectors())[0], mine)


def test_inference_mode_is_no_other_network() -> None:
    layer = make()
    with torch.inference_mode():
        expected = layer(vectors())[0]
    with torch.no_grad():
        torch.testing.assert_close(layer(vectors())[0], expected.clone())
    layer(vectors())[0].sum().backward()
    assert layer.weight_hh_l0.grad is not None
    with torch.inference_mode():
        loaded = make()
        torch.testing.assert_close(loaded(vectors())[0], expected)


def test_nothing_to_read_is_an_error_of_pytorch_or_nothing() -> None:
    with torch.no_grad():
        try:
            expected = plain(make())(vectors(0, 3))[0].shape
        except RuntimeError:
            expected = None
        try:
            found = make()(vectors(0, 3))[0].shape
        except RuntimeError:
            found = None
    assert found == expected


def test_packed_sequences_are_read_as_well() -> None:
    layer, rows = make(), [vectors()[0], vectors()[1, :2]]
    with torch.no_grad():
        packed, _ = layer(pack_sequence(rows))
        expected, _ = plain(layer)(pack_sequence(rows))
    assert torch.equal(packed.data, expected.data)


def test_vectors_of_another_width_are_an_error() -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match=f"{INPUT}"):
        make()(torch.ones(2, 3, INPUT + 1))


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_nothing(make_copy: Callable[[ReorderedLSTM], ReorderedLSTM]) -> None:
    layer = make()
    with torch.no_grad():
        expected = layer(vectors())[0]
        other = make_copy(layer)
        assert other._ordered is not layer._ordered and other._ordered._kept is None
        in_place(layer)
        assert torch.equal(other(vectors())[0], expected)
    assert list(layer.state_dict()) == list(nn.LSTM(1, 1).state_dict())


def test_threads_share_the_weights() -> None:
    layer = make()

    def read(i: int) -> Tensor:
        with torch.no_grad():
            return layer(vectors(1 + i % 3, 4))[0]

    with ThreadPoolExecutor(4) as pool:
        for i, found in enumerate(pool.map(read, range(24))):
            torch.testing.assert_close(found, read(i), rtol=1e-6, atol=1e-6)
