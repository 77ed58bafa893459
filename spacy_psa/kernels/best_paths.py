"""The best label sequences of linear chains."""

import torch
from torch import Tensor

from .chains import Chains, ChainScores, blocks_of
from .launching import OPTIONS, on_device
from .search_kernels import viterbi_kernel


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
