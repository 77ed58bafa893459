"""The equations of Cui and Zhang (2019) and Wang et al. (2021), one by one, in float64.

Marginals are sums over all label sequences. As in `reference`, the code is slow, and too simple to
be wrong in the same way as the layers.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from .reference import Array, State, bilstm, inner, part, product


def softmax(scores: Array) -> Array:
    powers = [math.exp(score - max(scores)) for score in scores]
    return np.array([power / sum(powers) for power in powers])


def projected(x: Array, state: State, name: str, *, relu: bool = False) -> Array:
    """A linear projection of each row, with a bias if there is one."""
    rows = []
    for row in x:
        output = product(state[f"{name}.linear.weight"], row)
        output = output + state.get(f"{name}.linear.bias", np.zeros(len(output)))
        rows.append([max(0.0, value) for value in output] if relu else output)
    return np.array(rows)


def attention_weights(h: Array, state: State, heads: int, *, relu: bool = False) -> Array:
    """α in section 4.2 of Cui and Zhang (2019), head by head. Shape: (n, heads, L)."""
    labels = state["labels.weight"]
    Q, K = (projected(x, state, name, relu=relu) for x, name in ((h, "query"), (labels, "key")))
    size = h.shape[1] // heads
    weights = np.zeros((len(h), heads, len(labels)))
    for t in range(len(h)):
        for k in range(heads):
            part_of_head = slice(k * size, (k + 1) * size)
            scores = [inner(Q[t, part_of_head], K[y, part_of_head]) for y in range(len(labels))]
            weights[t, k] = softmax(np.array(scores) / math.sqrt(size))
    return weights


def attended(weights: Array, state: State, *, relu: bool = False) -> Array:
    """concat(head_1 … head_k), given the weights of all heads. Shape: (n, d)."""
    V = projected(state["labels.weight"], state, "value", relu=relu)
    heads, size = weights.shape[1], V.shape[1] // weights.shape[1]
    output = np.zeros((len(weights), V.shape[1]))
    for t in range(len(weights)):
        for k in range(heads):
            for y in range(len(V)):
                for f in range(k * size, (k + 1) * size):
                    output[t, f] += weights[t, k, y] * V[y, f]
    return output


def equation_6(h_t: Array, before: int | None, y: int, state: State, *, last: bool) -> float:
    """log φ, including the scores of the first and the last label."""
    score = inner(h_t, state["labels.weight"][y])
    score += (
        state["transitions.start"][y] if before is None else state["transitions.between"][before, y]
    )
    return score + (state["transitions.end"][y] if last else 0.0)


def sequence_score(h: Array, labels: tuple[int, ...], state: State) -> float:
    """The sum in equation 7."""
    total = 0.0
    for t, y in enumerate(labels):
        before = labels[t - 1] if t else None
        total += equation_6(h[t], before, y, state, last=t == len(labels) - 1)
    return total


def equation_9(h: Array, state: State) -> Array:
    """The marginals of one sentence, by enumerating all label sequences. Shape: (n, L)."""
    n_labels = len(state["labels.weight"])
    sequences = list(itertools.product(range(n_labels), repeat=len(h)))
    powers = [math.exp(sequence_score(h, labels, state)) for labels in sequences]
    Z = sum(powers)  # equation 8
    marginals = np.zeros((len(h), n_labels))
    for labels, power in zip(sequences, powers, strict=True):
        for t, y in enumerate(labels):
            marginals[t, y] += power / Z
    return marginals


def equation_10(marginals: Array, state: State) -> Array:
    """ĥ of one sentence. Shape: (n, d)."""
    labels, V, b = state["labels.weight"], state["value.weight"], state["value.bias"]
    output = np.zeros((len(marginals), labels.shape[1]))
    for t in range(len(marginals)):
        for y in range(len(labels)):
            output[t] += marginals[t, y] * (product(V, labels[y]) + b)
    return output


def equation_11(h_t: Array, refined: Array, state: State) -> Array:
    """LayerNorm(h + max(0, ĥ)) of one token, after Ba et al. (2016)."""
    x = np.array([h_t[f] + max(0.0, refined[f]) for f in range(len(h_t))])
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    normal = (x - mean) / math.sqrt(variance + 1e-5)
    return normal * state["norm.weight"] + state["norm.bias"]


def lan_layer(h: Array, state: State, heads: int) -> Array:
    """H = [H^w; concat(heads) + H^w] of one sentence."""
    hidden = attended(attention_weights(h, state, heads), state)
    return np.array([[*h[t], *(hidden[t] + h[t])] for t in range(len(h))])


def lan(x: Array, state: State, *, depth: int, heads: int) -> Array:
    """All layers of BiLSTM-LAN for one sentence, up to the last hidden states."""
    for i in range(depth - 1):
        layer = part(state, f"layers.{i}")
        h = bilstm(x, part(layer, "recurrent.forwards.0"), part(layer, "recurrent.backwards.0"))
        x = lan_layer(h, part(layer, "refine"), heads)
    return bilstm(x, part(state, "last.forwards.0"), part(state, "last.backwards.0"))


def structured_refinement(x: Array, state: State, *, depth: int) -> Array:
    """All layers of structured refinement for one sentence, up to the last hidden states."""
    for i in range(depth - 1):
        layer = part(state, f"layers.{i}")
        h = bilstm(x, part(layer, "recurrent.forwards.0"), part(layer, "recurrent.backwards.0"))
        refine = part(layer, "refine")
        refined = equation_10(equation_9(h, refine), refine)
        norm = part(layer, "connection")
        x = np.array([equation_11(h[t], refined[t], norm) for t in range(len(h))])
    return bilstm(x, part(state, "last.forwards.0"), part(state, "last.backwards.0"))
