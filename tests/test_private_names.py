"""What private names of PyTorch, thinc and spaCy give, and what is done without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from spacy.cli import _util
from thinc.api import Linear, PyTorchShim
from torch import nn
from torch.nn.modules import module as torch_module

from spacy_psa import private_names as names

from .cli.commands import run
from .pipeline.conftest import trained_nlp

FOREACH: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add", (0.5,), {}),
    ("add_", ("others",), {"alpha": 2.0}),
    ("mul_", (3.0,), {}),
    ("div_", ("others",), {}),
    ("sqrt_", (), {}),
    ("zero_", (), {}),
    ("copy_", ("others",), {}),
    ("lerp_", ("others", 0.25), {}),
    ("addcmul_", ("others", "others"), {"value": 0.5}),
    ("norm", (), {}),
    ("norm", (torch.inf,), {}),
]


@pytest.mark.parametrize(("name", "others", "settings"), FOREACH)
def test_operations_on_many_tensors_are_the_same_one_by_one(
    name: str, others: tuple[Any, ...], settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def results() -> list[torch.Tensor]:
        tensors = [torch.arange(1.0, 4.0), torch.ones(2, 2)]
        given = [[x + 1.0 for x in tensors] if other == "others" else other for other in others]
        found = names.foreach(name, tensors, *given, **settings)
        assert not name.endswith("_") or all(
            torch.equal(one, other) for one, other in zip(found, tensors, strict=True)
        )
        return list(found)

    expected = results()
    monkeypatch.delattr(torch, f"_foreach_{name}")
    assert all(torch.equal(one, other) for one, other in zip(results(), expected, strict=True))


class OtherShim:
    """A shim of a thinc that keeps everything elsewhere."""

    model = nn.Linear(1, 1)


@pytest.mark.parametrize(
    ("where", "private", "ask", "expected"),
    [
        (torch.cpu, "_is_amx_tile_supported", names.has_amx, False),
        (torch._C, "_len_torch_dispatch_stack", names.is_dispatched, True),
        (torch_module, "_global_forward_hooks", lambda: names.is_watched(nn.Linear(1, 1)), True),
        (_util, "setup_gpu", lambda: names.setup_gpu(-1), None),
        (_util, "import_code", lambda: names.import_code(None), None),
        (
            _util,
            "parse_config_overrides",
            lambda: names.config_overrides(["--a.b", "1", "--c.d", "x"]),
            {"a.b": 1, "c.d": "x"},
        ),
    ],
)
def test_names_that_are_gone(
    where: Any, private: str, ask: Callable[[], Any], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(where, private, raising=False)
    assert ask() == expected


def test_onednn_is_asked_for_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        pass

    assert names.has_bfloat16() in (False, True)
    monkeypatch.setattr(torch.ops, "mkldnn", Nothing())
    assert not names.has_bfloat16()
    assert names.ordered_linear() is None
    assert names.order_of_lstm() is None


@pytest.mark.parametrize("kind", ["forward", "forward_pre", "full_backward", "full_backward_pre"])
def test_hooks_are_seen(kind: str) -> None:
    layer, other = nn.Linear(1, 1), nn.Linear(1, 1)
    assert not names.is_watched(layer)
    getattr(layer, f"register_{kind}_hook")(lambda *_: None)
    assert names.is_watched(layer) and not names.is_watched(other)
    handle = getattr(torch_module, f"register_module_{kind}_hook")(lambda *_: None)
    assert names.is_watched(other)
    handle.remove()
    assert not names.is_watched(other)


def test_tensors_of_a_layer_are_found_without_private_names() -> None:
    class Layer:
        parameters = staticmethod(lambda recurse: iter([torch.ones(1)]))
        buffers = staticmethod(lambda recurse: iter([torch.ones(2)]))

    assert [len(tensor) for tensor in names.tensors_of(Layer())] == [1, 2]
    layer = nn.BatchNorm1d(3)
    assert [t for t in names.tensors_of(layer) if t is not None] == [
        *layer.parameters(),
        *layer.buffers(),
    ]


def test_a_tensor_without_a_version_is_always_another() -> None:
    tensor = torch.zeros(1)
    before = names.version_of(tensor)
    assert names.version_of(tensor) == before
    assert names.version_of(tensor.add_(1)) != before
    assert names.version_of(object()) != names.version_of(object())


def test_shims_are_read_wherever_they_keep_their_parts() -> None:
    shim = PyTorchShim(nn.Linear(1, 1), mixed_precision=False)
    assert names.network_of(shim) is shim._model
    assert names.network_of(OtherShim()) is OtherShim.model
    assert names.gradient_scaler_of(shim) is None
    assert names.gradient_scaler_of(OtherShim()) is None
    assert names.scaler_state(shim) == names.scaler_state(OtherShim()) == {}


def test_the_function_of_a_layer() -> None:
    assert names.function_of(Linear()).__name__ == "forward"
    assert names.function_of(object()) is None


@pytest.mark.parametrize("private", ["setup_gpu", "show_validation_error"])
def test_commands_run_without_spacys_helpers(
    private: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(_util, private)
    trained_nlp().to_disk(tmp_path / "model")
    (tmp_path / "bad.cfg").write_text("[nlp]\n", encoding="utf8")
    assert "Ann" in run("psa", "tag", tmp_path / "model", "Ann saw Bob").output
    assert run("psa", "train", tmp_path / "bad.cfg", "-o", tmp_path / "out").exit_code == 1
