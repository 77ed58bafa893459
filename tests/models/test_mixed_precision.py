"""Networks trained in mixed precision: what is rounded, and how gradients accumulate."""

from __future__ import annotations

import pickle

import pytest
import torch
from thinc.api import SGD, ArgsKwargs
from torch import Tensor, nn

from spacy_psa.models.labeler import build_sequence_labeler
from spacy_psa.models.mixed_precision import HALF_PRECISIONS, LEAST_SCALE
from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.models.srl import build_role_labeler

SETTINGS = [None, *HALF_PRECISIONS]
LEARN_RATE = 0.5
SMALL, LARGE = 0.125, 1e3


class Network(nn.Module):
    """A linear layer that records the types of its outputs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.unused = nn.Parameter(torch.ones(2))
        self.seen: list[torch.dtype] = []

    def forward(self, x: Tensor) -> Tensor:
        """x (Tensor): Shape: (n, width). RETURNS (Tensor): The same shape, in float32."""
        output = self.linear(x)
        self.seen.append(output.dtype)
        return output.float()


def make_shim(mixed_precision: str | None) -> NetworkShim:
    torch.manual_seed(0)
    shim = NetworkShim(Network, mixed_precision=mixed_precision)
    shim.build(width=4)
    return shim


def vectors(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=generator).requires_grad_()


def backpropagate(shim: NetworkShim, x: Tensor, gradient: float = SMALL) -> None:
    output, backward = shim.begin_update(ArgsKwargs(args=(x,), kwargs={}))
    backward([output], [torch.full_like(output, gradient)])


def gradient_of(shim: NetworkShim) -> Tensor:
    gradient = shim.network.linear.weight.grad
    assert gradient is not None
    return gradient.clone()


def parameters(shim: NetworkShim) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in shim.network.parameters()]


@pytest.mark.parametrize("setting", SETTINGS)
def test_products_are_in_half_precision_in_training_alone(setting: str | None) -> None:
    shim = make_shim(setting)
    inputs = ArgsKwargs(args=(vectors(),), kwargs={})
    shim.begin_update(inputs)
    shim.predict(inputs)
    in_training = torch.float32 if setting is None else HALF_PRECISIONS[setting]
    assert shim.network.seen == [in_training, torch.float32]
    assert all(parameter.dtype == torch.float32 for parameter in shim.network.parameters())
    assert not torch.is_autocast_enabled("cpu")


def test_mixed_precision_ends_with_an_error_too() -> None:
    shim = make_shim("bf16")
    with pytest.raises(RuntimeError):
        shim.begin_update(ArgsKwargs(args=(torch.ones(3, 5),), kwargs={}))
    assert not torch.is_autocast_enabled("cpu")


def test_full_precision_leaves_what_the_user_has_turned_on() -> None:
    shim = make_shim(None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        shim.begin_update(ArgsKwargs(args=(vectors(),), kwargs={}))
    assert shim.network.seen == [torch.bfloat16]


@pytest.mark.parametrize("setting", HALF_PRECISIONS)
def test_gradients_that_are_too_small_for_half_precision_are_kept(setting: str) -> None:
    # Underflows in float16
    size = 2.0**-26
    wanted, found = make_shim(None), make_shim(setting)
    for shim in (wanted, found):
        backpropagate(shim, vectors(), size)
    torch.testing.assert_close(
        gradient_of(found) / size, gradient_of(wanted) / size, rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize("sizes", [(LARGE,), (SMALL, LARGE), (LARGE, SMALL)])
def test_a_batch_that_overflows_is_skipped_and_the_next_is_scaled_by_less(
    sizes: tuple[float, ...],
) -> None:
    shim = make_shim("fp16")
    before, scale = parameters(shim), float(shim.scaler._scale)
    for size in sizes:
        x = vectors()
        backpropagate(shim, x, size)
        # What is passed on to other layers is finite
        assert x.grad is not None and bool(x.grad.any()) == (size == SMALL)
    assert gradient_of(shim).isfinite().all()
    assert shim.scaler.found_inf
    shim.finish_update(SGD(LEARN_RATE))
    assert all(map(torch.equal, parameters(shim), before))
    assert all(parameter.grad is None for parameter in shim.network.parameters())
    assert float(shim.scaler._scale) == scale / 2
    assert not shim.scaler.found_inf
    backpropagate(shim, vectors())
    shim.finish_update(SGD(LEARN_RATE))
    assert not torch.equal(shim.network.linear.weight, before[0])


def test_the_scale_grows_again() -> None:
    shim = make_shim("fp16")
    shim.scaler._growth_interval = 2
    scale = float(shim.scaler._scale)
    for expected in (scale, 2 * scale):
        backpropagate(shim, vectors(), SMALL)
        shim.finish_update(SGD(LEARN_RATE))
        assert float(shim.scaler._scale) == expected


def test_an_update_without_gradients_is_none_for_the_scale() -> None:
    shim = make_shim("fp16")
    backpropagate(shim, vectors())
    for _ in range(2):
        shim.finish_update(SGD(LEARN_RATE))
        assert int(shim.scaler._growth_tracker) == 1


def test_what_overflows_at_any_scale_is_left_for_others_to_see() -> None:
    shim = make_shim("fp16")
    scale = float(shim.scaler._scale)
    while scale > LEAST_SCALE:
        backpropagate(shim, vectors(), float("nan"))
        assert gradient_of(shim).isfinite().all()
        shim.finish_update(SGD(LEARN_RATE))
        scale /= 2
        assert float(shim.scaler._scale) == scale
    backpropagate(shim, vectors(), float("nan"))
    assert gradient_of(shim).isnan().all()
    assert not shim.scaler.found_inf


def test_a_backward_pass_that_fails_leaves_what_was_there() -> None:
    shim = make_shim("fp16")
    backpropagate(shim, vectors())
    before = gradient_of(shim)
    output, backward = shim.begin_update(ArgsKwargs((vectors(),), {}))
    with pytest.raises(RuntimeError):
        backward([output], [torch.ones(7, 7)])
    assert torch.equal(gradient_of(shim), before)


def test_nothing_is_scaled_but_float16() -> None:
    for setting in (None, "bf16", "fp16"):
        shim = make_shim(setting)
        output, backward = shim.begin_update(ArgsKwargs((vectors(),), {}))
        backward([output], [torch.ones_like(output)])
        assert shim.scaler.has_scaled == (setting == "fp16")
        assert output.dtype == torch.float32


@pytest.mark.parametrize("copy", [NetworkShim.copy, lambda shim: pickle.loads(pickle.dumps(shim))])
def test_a_copy_is_trained_in_the_same_way(copy) -> None:
    shim = make_shim("fp16")
    backpropagate(shim, vectors(), LARGE)
    shim.finish_update(SGD(LEARN_RATE))
    copied = copy(shim)
    for one in (shim, copied):
        backpropagate(one, vectors())
        one.finish_update(SGD(LEARN_RATE))
        assert one.network.seen[-1] == torch.float16
    assert all(map(torch.equal, parameters(copied), parameters(shim)))
    assert copied.scaler is copied._grad_scaler is not shim.scaler


@pytest.mark.parametrize("build", [build_sequence_labeler, build_role_labeler])
@pytest.mark.parametrize("value", ["fp32", "BF16", True, 16, ["bf16"]])
def test_other_settings_are_refused(build, value: object) -> None:
    with pytest.raises(ValueError, match=r"P210.*'mixed_precision'.*one of \"bf16\", \"fp16\""):
        build(None, None, None, mixed_precision=value)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("setting", HALF_PRECISIONS)
def test_on_a_gpu(setting: str) -> None:
    shim = make_shim(setting)
    shim.network.cuda()
    for size in (LARGE, SMALL):
        backpropagate(shim, vectors().detach().cuda().requires_grad_(), size)
        assert gradient_of(shim).isfinite().all()
    assert shim.network.seen == [HALF_PRECISIONS[setting]] * 2
    assert shim.scaler.found_inf == (setting == "fp16")
