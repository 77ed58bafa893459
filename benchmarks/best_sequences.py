"""What a teacher says if only its best label sequences count, to compare with exact marginals."""

import torch

from spacy_psa.inference import LinearChain
from spacy_psa.inference.edge_marginals import START, EdgeMarginals, joined
from spacy_psa.pipeline.teaching import merged


def best_edges(chain: LinearChain, k: int) -> EdgeMarginals:
    """The marginals of pairs of neighboring labels of a distribution over a chain's k best label
    sequences, whose probabilities are scaled to 1.

    chain (LinearChain): The distribution.
    k (int): The number of sequences; with 1, the best one is certain.
    RETURNS (EdgeMarginals): The pairs.
    """
    best = chain.topk(k)
    lengths, n_labels = chain.potentials.lengths, chain.potentials.n_labels
    weights = best.log_prob.softmax(dim=1)
    parts, offset = [], 0
    for length, weight in zip(lengths, weights, strict=True):
        for labels, probability in zip(
            best.labels[offset : offset + length].T, weight, strict=True
        ):
            if probability > 0.0:
                before = torch.cat([labels.new_tensor([START]), labels[:-1]])
                place = torch.arange(offset, offset + length)
                parts.append(
                    EdgeMarginals(place, before, labels, probability.float().expand(length))
                )
        offset += length
    return merged(joined(parts), n_labels)
