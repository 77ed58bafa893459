"""Speed of linear layers in training, compared with PyTorch's."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from spacy_psa.layers.activations import TANH
from spacy_psa.layers.linear import Linear, activated

from .report import table

# Tokens of batches of 10 and 32 sentences
TOKENS = (250, 800)
Sides = dict[str, Callable[[], object]]


def linears(n_tokens: int, width: int, device: torch.device) -> Sides:
    """Make our linear layer and PyTorch's, with the same parameters and a hyperbolic tangent. Each
    returns the output and the gradients of its input and its parameters.

    n_tokens (int): The number of tokens.
    width (int): The width of the input and the output.
    device (torch.device): The device.
    RETURNS (Dict[str, Callable]): The implementations, by name.
    """
    torch.manual_seed(0)
    layer = Linear(width, width).to(device)
    theirs = nn.Linear(width, width).to(device)
    theirs.load_state_dict(copy.deepcopy(layer.state_dict()))
    x, upstream = torch.randn(2, n_tokens, width, device=device)

    def train(layer: nn.Module, run: Callable[[Tensor], Tensor]) -> tuple[Tensor, ...]:
        leaf = x.detach().requires_grad_()
        output = run(leaf)
        return output, *torch.autograd.grad(output, [leaf, *layer.parameters()], upstream)

    return {
        "ours": lambda: train(layer, lambda x: activated(layer, x, TANH)),
        "PyTorch": lambda: train(theirs, lambda x: torch.tanh(theirs(x))),
    }


def linears_table(cases: list[dict[str, Any]]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and a table of speeds by width and number
    of tokens."""
    if not cases:
        return []
    columns = list(dict.fromkeys(case["tokens"] for case in cases))
    rows = {width: [f"d = {width}"] for width in dict.fromkeys(case["width"] for case in cases)}
    for case in cases:
        rows[case["width"]].append(f"{case['speed']:.2f}")
    text = (
        "Linear layer with a hyperbolic tangent, forward and backward: speed relative to PyTorch's "
        "layer and function, by the number of tokens and the width of the input and the output."
    )
    header = ["", *(f"{n} tokens" for n in columns)]
    return ["", text, *table(header, list(rows.values()))]
