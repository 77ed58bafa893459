"""The equations of Tan et al. (2018) for one sentence, with loops over scalars, in float64."""

from __future__ import annotations

import math

import numpy as np

from .reference import Array, State, equation_7, inner, lstm, part, product, sigmoid

LAYER_NORM_EPSILON = 1e-5


def equation_1(Q: Array, K: Array, V: Array) -> Array:
    """Scaled dot-product attention, scaled by the width of the given vectors."""
    output = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        scores = np.array([inner(Q[i], K[j]) / math.sqrt(Q.shape[1]) for j in range(len(K))])
        weights = equation_7(scores)
        for j in range(len(K)):
            output[i] += weights[j] * V[j]
    return output


def equations_2_to_4(X: Array, state: State, n_heads: int) -> Array:
    """Multi-head self-attention: heads are consecutive features of the projections."""
    size = X.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        own = slice(h * size, (h + 1) * size)
        Q, K, V = (
            np.stack([product(state[f"{name}.weight"][own], x) for x in X])
            for name in ("query", "key", "value")
        )
        heads.append(equation_1(Q, K, V))
    M = np.concatenate(heads, axis=1)
    return np.stack([product(state["output.weight"], m) for m in M])


def equations_5_to_7(X: Array, state: State) -> Array:
    """The recurrent sub-layer."""
    left = lstm(X, part(state, "bilstm.forwards.0"))
    right = lstm(X[::-1], part(state, "bilstm.backwards.0"))[::-1]
    Y = np.zeros_like(X)
    for t in range(len(X)):
        for f in range(X.shape[1]):
            Y[t, f] = left[t, f] + right[t, f]
    return Y


def convolution(X: Array, W: Array) -> Array:
    """X ∗ W, with zeros beyond the ends of X. Shape of W: (features out, features in, k)."""
    Y = np.zeros((len(X), len(W)))
    middle = W.shape[2] // 2
    for t in range(len(X)):
        for f in range(len(W)):
            for o in range(W.shape[2]):
                if 0 <= t + o - middle < len(X):
                    Y[t, f] += inner(W[f, :, o], X[t + o - middle])
    return Y


def equation_8(X: Array, state: State) -> Array:
    """The convolutional sub-layer."""
    W, V = np.split(state["filters.weight"], 2)
    value, gate = convolution(X, W), convolution(X, V)
    Y = np.zeros_like(X)
    for t in range(len(X)):
        for f in range(X.shape[1]):
            Y[t, f] = value[t, f] * sigmoid(gate[t, f])
    return Y


def equation_9(X: Array, state: State) -> Array:
    """The feed-forward sub-layer."""
    rows = []
    for x in X:
        hidden = [max(0.0, float(value)) for value in product(state["hidden.weight"], x)]
        rows.append(product(state["output.weight"], np.array(hidden)))
    return np.stack(rows)


def layer_norm(y: Array, gain: Array, offset: Array) -> Array:
    """Layer normalization of one token over its features (Ba et al. 2016)."""
    mean = sum(y) / len(y)
    variance = sum((value - mean) ** 2 for value in y) / len(y)
    deviation = math.sqrt(variance + LAYER_NORM_EPSILON)
    return np.array([gain[f] * (y[f] - mean) / deviation + offset[f] for f in range(len(y))])


def equation_10(X: Array, Y: Array, state: State) -> Array:
    """The residual connection around a sub-layer with output Y, and layer normalization."""
    gain, offset = state["norm.weight"], state["norm.bias"]
    return np.stack([layer_norm(X[t] + Y[t], gain, offset) for t in range(len(X))])


def equations_11_and_12(X: Array) -> Array:
    """The timing signal, added to X."""
    output, width = X.copy(), X.shape[1]
    for t in range(len(X)):
        for f in range(width):
            angle = t / 10000 ** ((f - f % 2) / width)
            output[t, f] += math.cos(angle) if f % 2 else math.sin(angle)
    return output


NONLINEAR = {
    "feed-forward": equation_9,
    "recurrent": equations_5_to_7,
    "convolution": equation_8,
}


def deepatt(
    X: Array, state: State, *, sublayer: str | None, positions: str | None, depth: int, n_heads: int
) -> Array:
    """The whole encoder; the input is not scaled."""
    if "input.weight" in state:
        X = np.stack([product(state["input.weight"], x) for x in X])
    if positions == "timing":
        X = equations_11_and_12(X)
    elif positions == "embedding":
        X = np.stack([X[t] + state["positions.weight"][t] for t in range(len(X))])
    step = 0
    for _ in range(depth):
        if sublayer is not None:
            own = part(state, f"sublayers.{step}")
            X = equation_10(X, NONLINEAR[sublayer](X, part(own, "sublayer")), own)
            step += 1
        own = part(state, f"sublayers.{step}")
        X = equation_10(X, equations_2_to_4(X, part(own, "sublayer"), n_heads), own)
        step += 1
    return X
