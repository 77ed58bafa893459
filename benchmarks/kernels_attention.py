"""Speed of additive attention in training, compared with tanh over all pairs by broadcasting."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from spacy_psa.acceleration import install
from spacy_psa.acceleration.tiled_scores import tiled_scores
from spacy_psa.inference.engines.triton import kernels_run_on
from spacy_psa.layers import PLAIN, SequenceMask, ops_for

from .kernels_timing import Sides, table_by_size, timed
from .timing import Clock, in_graphs

IN_TILES = "in tiles"
# Maximum number of elements in (sentences, n, n, d), which broadcasting stores several times
MAX_NUMBERS = 1 << 25
MAX_SENTENCES = 10


def attention_case(
    width: int, n: int, device: torch.device, repeat: int, clock: Clock
) -> dict[str, Any]:
    """Time additive attention.

    width (int): The width of queries and keys.
    n (int): The number of tokens per sentence.
    device (torch.device): The device.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    RETURNS (Dict[str, Any]): The milliseconds of each implementation, and their ratio.
    """
    size = max(1, min(MAX_SENTENCES, MAX_NUMBERS // (n * n * width)))
    sides = attention(size, n, width, device)
    milliseconds = timed(sides, repeat, clock, f"attention, {n} × {width}")
    case = {"width": width, "tokens": n, "sentences": size, "milliseconds": milliseconds}
    case["speed"] = round(milliseconds["broadcasting"] / milliseconds["ours"], 2)
    if IN_TILES in milliseconds:
        case["speed of the kernel"] = round(milliseconds[IN_TILES] / milliseconds["ours"], 2)
    if device.type == "cuda":
        # PyTorch's tiles are chosen on the host, from values that graphs cannot wait for
        graphs = in_graphs({name: sides[name] for name in ("ours", "broadcasting")})
        in_graph = timed(graphs, repeat, clock, f"attention in graphs, {n} × {width}")
        case["milliseconds in graphs"] = in_graph
        case["speed in graphs"] = round(in_graph["broadcasting"] / in_graph["ours"], 2)
    return case


def attention(size: int, n: int, width: int, device: torch.device) -> Sides:
    """Make the implementations that score all pairs. Each returns the scores and the gradients of
    its inputs. On a GPU, where ours is a fused kernel, our tiled PyTorch version is included.

    size (int): The number of sentences.
    n (int): The number of tokens per sentence.
    width (int): The width of queries and keys.
    device (torch.device): The device.
    RETURNS (Dict[str, Callable]): The implementations, by name.
    """
    generator = torch.Generator().manual_seed(0)
    queries, keys = torch.randn(2, size, n, width, generator=generator).to(device)
    weight = torch.randn(width, generator=generator).to(device)
    upstream = torch.randn(size, n, n, generator=generator).to(device)

    mask = SequenceMask(torch.full((size,), n, device=device), n)
    install()

    def ours(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
        return ops_for(q).additive_scores(q, k, w, mask)

    def broadcasting(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
        return PLAIN.additive_scores(q, k, w, mask)

    def train(function: Callable[[Tensor, Tensor, Tensor], Tensor]) -> tuple[Tensor, ...]:
        leaves = [tensor.detach().requires_grad_() for tensor in (queries, keys, weight)]
        scores = function(*leaves)
        return (scores, *torch.autograd.grad(scores, leaves, upstream))

    sides: Sides = {
        "ours": lambda: train(ours),
        "broadcasting": lambda: train(broadcasting),
    }
    if device.type == "cuda" and kernels_run_on(device):
        sides[IN_TILES] = lambda: train(tiled_scores)
    return sides


def attention_tables(cases: list[dict[str, Any]]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and the tables."""
    lines = ["", "Additive attention, forward and backward: speed relative to tanh over all pairs"]
    lines[-1] += " by broadcasting, by the number of tokens n and the width d."
    lines += table_by_size(cases, "speed")
    if any("speed in graphs" in case for case in cases):
        lines += ["", "The same if both run as CUDA graphs, as in training with `cuda_graphs`: "]
        lines[-1] += "then it takes no time to start their operations."
        lines += table_by_size(cases, "speed in graphs")
    if any("speed of the kernel" in case for case in cases):
        lines += ["", "The fused GPU kernel: speed relative to the tiled version in PyTorch, by n"]
        lines[-1] += " and d."
        lines += table_by_size(cases, "speed of the kernel")
    return lines
