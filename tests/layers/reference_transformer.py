"""The equations of Vaswani et al. (2017), with loops over scalars, in float64. See `reference`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .reference import Array, State, equation_7, inner, part, positional_bias, product


def timing_signal(t: int, feature: int, width: int) -> float:
    """Section 3.5: one number of the position encoding."""
    angle = t / 10000 ** ((feature - feature % 2) / width)
    return math.cos(angle) if feature % 2 else math.sin(angle)


def head_weights(
    x: Array, W_Q: Array, W_K: Array, scale: float, psi: Callable[[int, int], float]
) -> Array:
    """The attention weights of one head in one sentence."""
    queries = [product(W_Q, x_i) for x_i in x]
    keys = [product(W_K, x_j) for x_j in x]
    rows = []
    for i in range(len(x)):
        scores = [scale * inner(queries[i], keys[j]) + psi(i, j) for j in range(len(x))]
        rows.append(equation_7(np.array(scores)))
    return np.array(rows)


def multi_head(
    x: Array, state: State, n_heads: int, *, scale: float | None = None, **bias: object
) -> tuple[Array, Array]:
    """Sections 3.2.1 and 3.2.2: the output and the weights of all heads in one sentence."""
    key_width = len(state["query.weight"]) // n_heads
    n_biases = len({name.split(".")[1] for name in state if name.startswith("biases.")})
    weights, heads = [], []
    for h in range(n_heads):
        rows = slice(h * key_width, (h + 1) * key_width)

        def psi(i: int, j: int, h: int = h) -> float:
            if not bias:
                return 0.0
            return positional_bias(
                x[i], i, j, part(state, f"biases.{min(h, n_biases - 1)}"), **bias
            )

        W_Q, W_K, W_V = (state[f"{name}.weight"][rows] for name in ("query", "key", "value"))
        c = 1 / math.sqrt(key_width) if scale is None else scale
        a = head_weights(x, W_Q, W_K, c, psi)
        values = [product(W_V, x_j) for x_j in x]
        head = np.zeros((len(x), key_width))
        for i in range(len(x)):
            for j in range(len(x)):
                head[i] += a[i, j] * values[j]
        weights.append(a)
        heads.append(head)
    joined = np.concatenate(heads, axis=1)
    return np.array([product(state["output.weight"], row) for row in joined]), np.array(weights)


def feed_forward(x: Array, state: State) -> Array:
    """Equation 2, for each token of a sentence."""
    rows = []
    for x_i in x:
        hidden = product(state["hidden.weight"], x_i) + state["hidden.bias"]
        hidden = np.array([max(0.0, value) for value in hidden])
        rows.append(product(state["output.weight"], hidden) + state["output.bias"])
    return np.array(rows)


def layer_norm(x: Array, state: State, epsilon: float = 1e-5) -> Array:
    """Layer normalization (Ba et al. 2016) of each token of a sentence."""
    rows = []
    for x_i in x:
        mean = sum(x_i) / len(x_i)
        variance = sum((value - mean) ** 2 for value in x_i) / len(x_i)
        normal = np.array([(value - mean) / math.sqrt(variance + epsilon) for value in x_i])
        rows.append(state["weight"] * normal + state["bias"])
    return np.array(rows)


def layer(x: Array, state: State, n_heads: int, *, pre_norm: bool = False, **bias: object) -> Array:
    """Section 3.1: one layer of the encoder."""
    norms = [part(state, f"{name}.norm") for name in ("around_attention", "around_feed_forward")]

    def attend(x: Array) -> Array:
        return multi_head(x, part(state, "attention"), n_heads, **bias)[0]

    def transform(x: Array) -> Array:
        return feed_forward(x, part(state, "feed_forward"))

    for sublayer, norm in zip((attend, transform), norms, strict=True):
        x = x + sublayer(layer_norm(x, norm)) if pre_norm else layer_norm(x + sublayer(x), norm)
    return x


def encoder(
    x: Array,
    state: State,
    n_heads: int,
    depth: int,
    *,
    positions: Callable[[int, int], float] | None = None,
    pre_norm: bool = False,
    **bias: object,
) -> Array:
    """The encoder over one sentence; `positions` returns the number to add to each feature."""
    x = np.array([product(state["input.weight"], x_i) + state["input.bias"] for x_i in x])
    if positions is not None:
        x = np.array([[v + positions(t, f) for f, v in enumerate(row)] for t, row in enumerate(x)])
    for i in range(depth):
        x = layer(x, part(state, f"layers.{i}"), n_heads, pre_norm=pre_norm, **bias)
    return layer_norm(x, part(state, "norm")) if pre_norm else x
