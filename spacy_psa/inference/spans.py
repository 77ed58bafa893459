"""The probabilities of partial label sequences, for many spans of tokens at once."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import log_ratio
from .engines.trellis import Trellis
from .layout import time_major
from .potentials import Potentials

Spans = Sequence[tuple[int, int]] | np.ndarray | Tensor


class SpanQueries:
    """Queries for the probability that all tokens of a span have labels in given sets.

    Each span becomes a short chain of its own. The forward message replaces its first emission, and
    the backward message is added to the last one: they sum over everything before and after. The
    messages of the whole chains are computed once, and the short chains form an ordinary batch,
    O(L²) per token of a span. Culotta and McCallum (2004, "Confidence estimation for information
    extraction") answer each of these queries by a constrained forward pass over the whole chain.

    potentials (Potentials): The scores of N tokens, without a gradient, on the CPU.
    spans (Union[Sequence[Tuple[int, int]], np.ndarray, Tensor]): *Shape:* (Q, 2). Start and end
        (exclusive) of each span, as indices into the tokens of all chains.
    allowed (Tensor): *Shape:* (M, L). Booleans: the label sets of the M tokens of all spans, one
        span after the other.
    RAISES (ValueError): If a span is not within one chain, or the sets do not match the spans.
    """

    def __init__(self, potentials: Potentials, spans: Spans, allowed: Tensor) -> None:
        self._potentials = potentials
        self._starts, self._stops = _checked(spans, potentials)
        self._sizes = self._stops - self._starts
        self._some = self._sizes > 0
        shape = (int(self._sizes.sum()), potentials.n_labels)
        if tuple(allowed.shape) != shape or allowed.dtype != torch.bool:
            problem = f"{allowed.dtype} of shape {tuple(allowed.shape)}, not torch.bool of "
            raise ValueError(Errors.P015.format(problem=f"{problem}{shape}"))
        self._allowed = allowed.cpu()

    @property
    def chains(self) -> Potentials:
        """The spans as separate chains: exp(log Z) of each is its unnormalized probability."""
        whole, some = self._potentials, self._some
        firsts = np.cumsum(self._sizes) - self._sizes
        tokens = np.repeat(self._starts - firsts, self._sizes) + np.arange(self._sizes.sum())
        emissions = whole.emissions[torch.from_numpy(tokens)].double()
        if some.any():
            trellis = Trellis(whole)
            forward, backward = map(trellis.by_token, (trellis.forward, trellis.backward))
            lasts = (np.cumsum(self._sizes) - 1)[some]
            emissions[firsts[some]] = forward[self._starts[some]]
            emissions[lasts] += backward[self._stops[some] - 1]
        emissions.masked_fill_(~self._allowed, -torch.inf)
        pairwise = None if whole.pairwise is None else whole.pairwise[torch.from_numpy(tokens)]
        return Potentials(
            emissions, tuple(self._sizes.tolist()), whole.transitions, pairwise=pairwise
        )

    def log_probs(self, log_sums: Tensor, log_z: Tensor) -> Tensor:
        """Divide the sums of `chains` (Q,) by those of all label sequences (C,), as logs: 0 for an
        empty span, and -inf for any other span in a chain without a possible sequence."""
        some = torch.from_numpy(self._some)
        chain_of_token = time_major(self._potentials.lengths).chain_of_token
        whole = log_z[torch.from_numpy(chain_of_token[self._starts[self._some]])]
        log_probs = torch.zeros_like(log_sums)
        log_probs[some] = log_ratio(log_sums[some], whole)
        return log_probs


def _checked(spans: Spans, potentials: Potentials) -> tuple[np.ndarray, np.ndarray]:
    places = np.asarray(spans.cpu() if isinstance(spans, Tensor) else spans)
    if places.size == 0:
        places = np.empty((0, 2), dtype=np.int64)
    if places.ndim != 2 or places.shape[1] != 2 or places.dtype.kind not in "iu":
        problem = f"they are {places.dtype} of shape {places.shape}, not integers (Q, 2)"
        raise ValueError(Errors.P016.format(problem=problem))
    starts, stops = places.astype(np.int64).T
    chain_stops = np.cumsum(np.asarray(potentials.lengths, dtype=np.int64))
    # The end of the chain of the first token; an empty span may be anywhere
    nth = np.searchsorted(chain_stops, starts, side="right")
    limits = np.append(chain_stops, potentials.n_tokens)[nth]
    wrong = (starts < 0) | (stops < starts) | ((stops > limits) & (stops > starts))
    wrong |= stops > potentials.n_tokens
    if wrong.any():
        first = int(wrong.argmax())
        problem = f"span {first} is ({starts[first]}, {stops[first]})"
        raise ValueError(Errors.P016.format(problem=problem))
    return starts, stops
