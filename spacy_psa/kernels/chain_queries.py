"""Queries about the label sequences of linear chains: best paths, samples and entropies."""

import torch
import triton
from torch import Tensor

from .chains import Chains, ChainScores, Messages, blocks_of
from .entropy_kernels import entropies_kernel
from .launching import OPTIONS, block_of, on_device
from .sampling_kernels import samples_kernel
from .search_kernels import k_best_kernel, viterbi_kernel

# Maximum number of samples in a block, and of elements in a tile (labels, samples)
SAMPLES = 16
NUMBERS = 1 << 13
# Maximum number of best paths, which are found one after another, and of elements in a tile
# (k, labels)
MAX_PATHS = 32
K_BEST_NUMBERS = 1 << 12
# float64 numbers that fit into the registers of four warps
FEW = 1 << 11


def best_paths(scores: ChainScores, chains: Chains) -> tuple[Tensor, Tensor]:
    """Find the best label sequences with Viterbi decoding (Viterbi 1967).

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains.
    RETURNS (Tuple[Tensor, Tensor]): The labels, int64, *Shape:* (N,), and the score of the best
        path to each label of each token, float64, *Shape:* (N, L).
    """
    emissions = scores.emissions
    n_labels = emissions.shape[1]
    best = torch.empty_like(emissions, dtype=torch.float64)
    path = emissions.new_empty(len(emissions), dtype=torch.long)
    block, tile, warps = blocks_of(n_labels)
    with on_device(emissions):
        viterbi_kernel[(len(chains.sizes),)](
            emissions,
            scores.transitions,
            emissions if scores.pairwise is None else scores.pairwise,
            scores.start,
            scores.end,
            chains.firsts,
            chains.sizes,
            best,
            path,
            n_labels,
            HAS_PAIRWISE=scores.pairwise is not None,
            BLOCK=block,
            TILE=tile,
            num_warps=warps,
            **OPTIONS,
        )
    return path, best


def fits_k_best(n_labels: int, k: int) -> bool:
    """RETURNS (bool): Whether labels and paths are few enough for `k_best_paths`."""
    return k <= MAX_PATHS and block_of(n_labels) * _places(k) <= K_BEST_NUMBERS


def k_best_paths(scores: ChainScores, chains: Chains, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Find the k best label sequences.

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains.
    k (int): The number of paths; see `fits_k_best`.
    RETURNS (Tuple[Tensor, Tensor, Tensor]): As in `inference.nbest.RankedPaths`: the labels, int64,
        *Shape:* (N, k); and, in the order of `chains`, the best scores (C, 1) and each path's
        difference from the best score (C, k).
    """
    _, best = best_paths(scores, chains)
    n_tokens, n_labels = best.shape
    n_chains = len(chains.sizes)
    # Zeros: if scores are NaN, there is no best path, but some path must be followed
    kept = torch.zeros(n_tokens, k, dtype=torch.int32, device=best.device)
    order = kept.new_zeros(n_chains, k)
    losses, ranked = best.new_zeros(n_tokens, k), best.new_zeros(n_chains, k)
    paths = torch.empty_like(kept, dtype=torch.long)
    peaks = best.new_empty(n_chains)
    with on_device(best):
        k_best_kernel[(n_chains,)](
            scores.transitions,
            best if scores.pairwise is None else scores.pairwise,
            scores.end,
            best,
            chains.firsts,
            chains.sizes,
            kept,
            losses,
            order,
            paths,
            peaks,
            ranked,
            k,
            n_labels,
            HAS_PAIRWISE=scores.pairwise is not None,
            PLACES=_places(k),
            BLOCK=block_of(n_labels),
            num_warps=4 if block_of(n_labels) * _places(k) < FEW else 8,
            **OPTIONS,
        )
    return paths, peaks.unsqueeze(1), ranked


def _places(k: int) -> int:
    return block_of(k, least=4)


def sampled_paths(
    scores: ChainScores, chains: Chains, messages: Messages, uniform: Tensor
) -> Tensor:
    """Sample label sequences from the distribution.

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains.
    messages (Messages): The messages, in float64.
    uniform (Tensor): *Shape:* (N, n). Random numbers in [0, 1), float64.
    RETURNS (Tensor): *Shape:* (N, n). int64.
    """
    forward = messages.forward
    n_labels, n_samples = forward.shape[1], uniform.shape[1]
    labels = torch.empty(uniform.shape, dtype=torch.long, device=forward.device)
    block = block_of(n_labels)
    at_once = max(1, min(SAMPLES, NUMBERS // block))
    n_blocks = triton.cdiv(n_samples, at_once)
    with on_device(forward):
        samples_kernel[(len(chains.sizes) * n_blocks,)](
            scores.transitions,
            forward if scores.pairwise is None else scores.pairwise,
            scores.end,
            forward,
            uniform.contiguous(),
            chains.firsts,
            chains.sizes,
            labels,
            n_samples,
            n_blocks,
            n_labels,
            HAS_PAIRWISE=scores.pairwise is not None,
            BLOCK=block,
            SAMPLES=at_once,
            num_warps=4 if block * at_once < FEW else 8,
            **OPTIONS,
        )
    return labels


def path_entropies(scores: ChainScores, chains: Chains, messages: Messages) -> Tensor:
    """Compute the entropy of the distribution over label sequences for each chain.

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains.
    messages (Messages): The messages, in float64.
    RETURNS (Tensor): *Shape:* (C,). In the order of `chains`.
    """
    forward = messages.forward
    n_labels = forward.shape[1]
    entropies = torch.empty_like(forward)
    of_chains = forward.new_empty(len(chains.sizes))
    block, tile, warps = blocks_of(n_labels)
    with on_device(forward):
        entropies_kernel[(len(chains.sizes),)](
            scores.transitions,
            forward if scores.pairwise is None else scores.pairwise,
            scores.end,
            forward,
            chains.firsts,
            chains.sizes,
            entropies,
            of_chains,
            n_labels,
            HAS_PAIRWISE=scores.pairwise is not None,
            BLOCK=block,
            TILE=tile,
            num_warps=warps,
            **OPTIONS,
        )
    return of_chains
