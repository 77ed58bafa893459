"""Speed of linear layers in training, compared with PyTorch's."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from spacy_psa.layers.activations import TANH
from spacy_psa.layers.linear import Linear, activated

from .kernels_timing import Sides

# Tokens of batches of 10 and 32 sentences
TOKENS = (250, 800)


def linears(n_tokens: int, width: int, device: torch.device) -> Sides:
    """Make our linear layer and PyTorch's, with the same parameters and a hyperbolic tangent. Each
    returns the output and the gradients of its input and its parameters.

    n_tokens (int): The number of tokens.
    width (int): The width of the input and the output.
    device (torch.device): The device.
    RETURNS (Dict[str, Callable]): The implementations, by name.
    """
    torch.manual_seed(0)
    ours = Linear(width, width).to(device)
    theirs = nn.Linear(width, width).to(device)
    theirs.load_state_dict(ours.state_dict())
    x, upstream = torch.randn(2, n_tokens, width, device=device)

    def train(layer: nn.Module, run: Callable[[Tensor], Tensor]) -> tuple[Tensor, ...]:
        leaf = x.detach().requires_grad_()
        output = run(leaf)
        return output, *torch.autograd.grad(output, [leaf, *layer.parameters()], upstream)

    return {
        "ours": lambda: train(ours, lambda x: activated(ours, x, TANH)),
        "PyTorch": lambda: train(theirs, lambda x: torch.tanh(theirs(x))),
    }
