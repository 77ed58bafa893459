"""The parallel scan: a tree of matrix multiplications instead of a recursion over tokens."""

import contextlib
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from .autodiff import AutogradBackend, unused_zero
from .layout import time_major
from .logspace import LogMatMul
from .potentials import Potentials
from .scores import working_dtype

# The largest chunk of summands, (entries, L), in sums that are recomputed term by term
CHUNK = 1 << 22


class ScanBackend(AutogradBackend):
    """log Z as a product of (L, L) matrices in the log semiring, one for each token but the first.

    Matrix multiplication is associative: all adjacent pairs of 2^k matrices are multiplied at once,
    then the products, and so on, for all chains together. A chain of n tokens takes about 2 log2(n)
    steps. This pays off if steps are expensive and arithmetic is cheap: on a GPU, or for few labels
    and long chains. It takes L times the arithmetic of the recursion, and with a gradient about
    eight (N, L, L) arrays of memory. On the CPU all values are float64, elsewhere float32.

    Source: Rush (2020), "Torch-Struct", section 6; the structured refinement network (2021),
    section 3.4, which computes the indices beforehand instead of padding to a power of two.
    """

    def log_partition(self, potentials: Potentials) -> Tensor:
        tree, dtype = product_tree(potentials.lengths), working_dtype(potentials)
        device, n_labels = potentials.device, potentials.n_labels
        totals = unused_zero(potentials).expand(len(potentials.lengths))
        if not tree.first_tokens.size:
            return totals
        zeros = torch.zeros(n_labels, dtype=dtype, device=device)

        def scores(tensor: Tensor | None) -> Tensor:
            return zeros if tensor is None else tensor.to(dtype)

        def index(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device)

        emissions = potentials.emissions.to(dtype)
        vectors = emissions[index(tree.first_tokens)] + scores(potentials.start)
        matrices = emissions[index(tree.order)].unsqueeze(1) + scores(potentials.transitions)
        if potentials.pairwise is not None:
            matrices = matrices + potentials.pairwise[index(tree.order)].to(dtype)
        elif potentials.transitions is None:
            matrices = matrices.expand(-1, n_labels, n_labels)
        left_over = []
        with full_precision(device):
            for n_products, chains in tree.levels:
                left, right, rest = matrices.split([n_products, n_products, len(chains)])
                left_over.append((chains, rest))
                matrices = log_bmm(left, right) if n_products else left
        # The matrix left over at a level precedes those left over at the levels below
        for chains, rest in reversed(left_over):
            if len(chains):
                at = index(chains)
                vectors = vectors.index_copy(0, at, LogMatMul.apply(vectors[at], rest))
        log_z = LogMatMul.apply(vectors, scores(potentials.end).unsqueeze(1)).squeeze(1)
        return totals.index_put((index(tree.chains),), log_z)


class ProductTree:
    """The order in which matrices are multiplied.

    At each level, a chain's matrices are multiplied in pairs, and the last one is left over if
    their number is odd. The binary digits of the number of matrices thus show at which levels one
    is left over. The tree needs neither padding nor copies: the matrices are ordered so that at
    every level all left factors come first, then all right factors, then those left over, and the
    products are in the order that the next level needs.

    lengths (Tuple[int, ...]): The lengths of the chains.
    """

    def __init__(self, lengths: tuple[int, ...]) -> None:
        layout = time_major(lengths)
        # The nonempty chains; from here on, chains are indices into this array
        self.chains = np.flatnonzero(layout.sizes)
        sizes = layout.sizes[self.chains]
        self.first_tokens = np.cumsum(sizes) - sizes
        counts = sizes - 1
        # By level: the number of products, and the chains with a matrix left over
        self.levels: list[tuple[int, np.ndarray]] = []
        # From the top level down: the chain of each matrix, and its position in the chain
        self._chain = np.zeros(0, dtype=np.int64)
        self._place = np.zeros(0, dtype=np.int64)
        for level in reversed(range(int(counts.max(initial=0)).bit_length())):
            n_matrices = counts >> level
            odd = np.flatnonzero(n_matrices % 2)
            self.levels.append((self._chain.size, odd))
            self._chain = np.concatenate([self._chain, self._chain, odd])
            left = 2 * self._place
            self._place = np.concatenate([left, left + 1, n_matrices[odd] - 1])
        self.levels.reverse()

    @cached_property
    def order(self) -> np.ndarray:
        """RETURNS (np.ndarray): *Shape:* (tokens with a predecessor,). The tokens in the order in
        which the lowest level needs their matrices.
        """
        return self.first_tokens[self._chain] + 1 + self._place


@lru_cache(maxsize=16)
def product_tree(lengths: tuple[int, ...]) -> ProductTree:
    """The tree for these lengths, cached because each batch needs it several times.

    lengths (Tuple[int, ...]): The lengths of the chains.
    RETURNS (ProductTree): The tree. It is shared between callers: do not change it.
    """
    return ProductTree(lengths)


def log_bmm(a: Tensor, b: Tensor) -> Tensor:
    """Batched matrix multiplication in the log semiring, log(exp(a) @ exp(b)). Differentiable any
    number of times, with zero gradient for a sum in which all terms are exp(-inf).

    In the exp domain it is an ordinary matrix multiplication, with the rows of a and the columns of
    b divided by their maxima. Sums so small that terms may have underflowed are recomputed term by
    term, unless all their terms are exp(-inf), which another matrix multiplication finds out.

    a (Tensor): *Shape:* (n, l, k)
    b (Tensor): *Shape:* (n, k, m)
    RETURNS (Tensor): *Shape:* (n, l, m)
    """
    row_max = _finite(a.detach().amax(dim=2, keepdim=True))
    column_max = _finite(b.detach().amax(dim=1, keepdim=True))
    sums = torch.bmm(torch.exp(a - row_max), torch.exp(b - column_max))
    # Far enough from zero for the first three derivatives of the logarithm
    small = sums.detach() < torch.finfo(sums.dtype).tiny ** 0.25
    if not bool(small.any()):
        return sums.log() + (row_max + column_max)
    out = sums.masked_fill(small, 1.0).log() + (row_max + column_max)
    out = out.masked_fill(small, -torch.inf)
    n_terms = torch.bmm((a > -torch.inf).to(a.dtype), (b > -torch.inf).to(b.dtype))
    again = (small & (n_terms > 0)).nonzero()
    if not len(again):
        return out
    parts = []
    for at in again.split(max(1, CHUNK // a.shape[2])):
        n, row, column = at.unbind(dim=1)
        terms = a[n, row] + b[n, :, column]
        peak = terms.detach().amax(dim=1, keepdim=True)
        # In torch.logsumexp's gradient, the weights need not add up to 1 if scores are huge
        parts.append((terms - peak).exp().sum(dim=1).log() + peak.squeeze(1))
    return out.index_put(tuple(again.unbind(dim=1)), torch.cat(parts))


def full_precision(device: torch.device) -> contextlib.AbstractContextManager:
    """Disable autocast, which would run matrix multiplications in low precision.

    device (torch.device): The device they run on.
    RETURNS (AbstractContextManager): The context manager.
    """
    return torch.autocast(device.type, enabled=False)


def _finite(maximum: Tensor) -> Tensor:
    return maximum.masked_fill(maximum == -torch.inf, 0.0)
