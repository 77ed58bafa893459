"""Other CRF libraries for `benchmarks.crf`, if they are installed."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spacy_psa.inference import Potentials

Tasks = dict[str, Callable[[], Any]]


class Peer(NamedTuple):
    """A CRF library.

    module (str): The module to import.
    make (Callable[[Potentials, Tensor, Tensor], Tasks]): Makes its tasks. See `pytorch_crf`.
    limit (int): The maximum number of elements in (tokens, L, L). Libraries that keep one or more
        copies of the matrices of all tokens need too much memory or time beyond it.
    """

    module: str
    make: Callable[[Potentials, Tensor, Tensor], Tasks]
    limit: int = 1 << 30


def installed() -> dict[str, Peer]:
    """RETURNS (Dict[str, Peer]): The installed libraries, by name."""
    return {name: peer for name, peer in PEERS.items() if find_spec(peer.module) is not None}


def pytorch_crf(potentials: Potentials, labels: Tensor, direction: Tensor) -> Tasks:
    """Make the tasks for pytorch-crf. Marginals are computed as the gradient of its log Z.

    potentials (Potentials): The scores, for sentences of equal length.
    labels (Tensor): *Shape:* (N,)
    direction (Tensor): *Shape:* (N, L). The upstream gradient of the marginals.
    RETURNS (Tasks): The tasks, by name.
    """
    n_sentences, n_labels = len(potentials.lengths), potentials.n_labels
    crf = import_module("torchcrf").CRF(n_labels, batch_first=True)
    crf.to(potentials.emissions.device)
    crf.transitions.data.copy_(potentials.transitions)
    crf.start_transitions.data.copy_(potentials.start)
    crf.end_transitions.data.copy_(potentials.end)
    emissions = potentials.emissions.view(n_sentences, -1, n_labels)
    tags = labels.view(n_sentences, -1)

    def loss() -> tuple[Tensor, Tensor]:
        crf.zero_grad()
        value = -crf(emissions.detach().requires_grad_(), tags, reduction="mean")
        value.backward()
        return value, crf.transitions.grad

    def marginals() -> tuple[Tensor, Tensor]:
        crf.zero_grad()
        leaf = emissions.transpose(0, 1).detach().requires_grad_()
        mask = torch.ones(leaf.shape[:2], dtype=torch.bool, device=leaf.device)
        log_z = crf._compute_normalizer(leaf, mask).sum()
        (found,) = torch.autograd.grad(log_z, leaf, create_graph=True)
        found = found.transpose(0, 1).reshape(-1, n_labels)
        (found * direction).sum().backward()
        return found, crf.transitions.grad

    def viterbi() -> Tensor:
        return torch.tensor(crf.decode(emissions)).flatten()

    return {"loss": loss, "marginals": marginals, "viterbi": viterbi}


def torch_struct(potentials: Potentials, labels: Tensor, direction: Tensor) -> Tasks:
    """Make the tasks for torch-struct. Each task includes building the input of its distribution:
    a matrix for each pair of adjacent tokens, with the later label first.

    potentials, labels, direction: As for `pytorch_crf`.
    RETURNS (Tasks): The tasks, by name.
    """
    distribution = import_module("torch_struct").LinearChainCRF
    n_sentences, n_labels = len(potentials.lengths), potentials.n_labels
    shape = (n_sentences, -1, n_labels)
    tags = labels.view(n_sentences, -1)

    def make() -> tuple[Tensor, Tensor]:
        leaf = potentials.requires_grad_()
        transitions, start, end = leaf.transitions, leaf.start, leaf.end
        assert transitions is not None and start is not None and end is not None
        emissions = leaf.emissions.view(shape)
        matrices = transitions.t() + emissions[:, 1:].unsqueeze(3)
        first = (emissions[:, 0] + start)[:, None, None, :]
        last = end[None, None, :, None]
        edges = torch.cat([matrices[:, :1] + first, matrices[:, 1:]], dim=1)
        edges = torch.cat([edges[:, :-1], edges[:, -1:] + last], dim=1)
        return edges, transitions

    def loss() -> tuple[Tensor, Tensor]:
        edges, transitions = make()
        rows = torch.arange(n_sentences, device=edges.device).unsqueeze(1)
        steps = torch.arange(edges.shape[1], device=edges.device)
        scores = edges[rows, steps, tags[:, 1:], tags[:, :-1]].sum(1)
        value = (distribution(edges).partition.view(-1) - scores).mean()
        value.backward()
        assert transitions.grad is not None
        return value, transitions.grad

    def marginals() -> tuple[Tensor, Tensor]:
        edges, transitions = make()
        found = distribution(edges).marginals
        each = torch.cat([found[:, :1].sum(2), found.sum(3)], dim=1).reshape(-1, n_labels)
        (each * direction).sum().backward()
        assert transitions.grad is not None
        return each, transitions.grad

    def viterbi() -> Tensor:
        edges, _ = make()
        found = distribution(edges.detach()).argmax
        each = torch.cat([found[:, :1].sum(2), found.sum(3)], dim=1)
        return each.argmax(2).flatten()

    return {"loss": loss, "marginals": marginals, "viterbi": viterbi}


def torchlatent(potentials: Potentials, labels: Tensor, direction: Tensor) -> Tasks:
    """Make the tasks for torchlatent, the library by the authors of structured refinement.

    potentials, labels, direction: As for `pytorch_crf`.
    RETURNS (Tasks): The tasks, by name.
    """
    decoder = import_module("torchlatent.crf").CrfDecoder(num_targets=potentials.n_labels)
    decoder.to(potentials.emissions.device)
    decoder.transitions.data.copy_(potentials.transitions)
    decoder.head_transitions.data.copy_(potentials.start)
    decoder.last_transitions.data.copy_(potentials.end)
    concatenated = import_module("torchrua").C
    sizes = torch.tensor(potentials.lengths, device=potentials.emissions.device)
    tags = concatenated(labels, sizes)

    def make() -> Any:
        decoder.zero_grad()
        leaf = potentials.emissions.detach().requires_grad_()
        return decoder(concatenated(leaf, sizes))

    def loss() -> tuple[Tensor, Tensor]:
        value = -make().log_probs(tags).mean()
        value.backward()
        return value, decoder.transitions.grad

    def marginals() -> tuple[Tensor, Tensor]:
        found = make().marginals
        (found * direction).sum().backward()
        return found, decoder.transitions.grad

    def viterbi() -> Tensor:
        best: Tensor = make().argmax.data
        return best

    return {"loss": loss, "marginals": marginals, "viterbi": viterbi}


# The last one is the baseline
PEERS = {
    "torchlatent": Peer("torchlatent", torchlatent, 1 << 26),
    "torch-struct": Peer("torch_struct", torch_struct, 1 << 24),
    "pytorch-crf": Peer("torchcrf", pytorch_crf),
}
