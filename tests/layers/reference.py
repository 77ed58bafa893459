"""The equations of Wei et al. (2021) and of the LSTM, with loops over scalars, in float64.

There is one function for each equation, without broadcasting: slow, and too simple to be wrong in
the same way as the layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
State = Mapping[str, Array]
FACTORS = ("M", "G", "P")


def inner(a: Array, b: Array) -> float:
    """aᵀ b."""
    total = 0.0
    for f in range(len(a)):
        total += float(a[f]) * float(b[f])
    return total


def product(W: Array, x: Array) -> Array:
    """W x."""
    return np.array([inner(W[f], x) for f in range(len(W))])


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def equation_4(M_ij: float, G_ij: float, P_ij: float, alpha: float) -> float:
    """The positional bias Ψ_ij."""
    return M_ij + alpha * G_ij + (1.0 - alpha) * P_ij


def equation_5(x_i: Array, x_j: Array, w: Array, W1: Array, W2: Array, b: Array) -> float:
    """The compatibility of two tokens, with tanh as σ."""
    left, right = product(W1, x_i), product(W2, x_j)
    total = 0.0
    for f in range(len(w)):
        total += float(w[f]) * math.tanh(left[f] + right[f] + b[f])
    return total


def equation_6(score: float, psi_ij: float) -> float:
    """The compatibility of two tokens at their positions."""
    return score + psi_ij


def equation_7(scores: Array) -> Array:
    """The attention weights of one token, given its scores with all tokens.

    The paper does not define the weights if all scores are −∞; here they are zero.
    """
    highest = max(scores)
    if highest == -math.inf:
        return np.zeros(len(scores))
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return np.array([power / total for power in powers])


def equation_8(a_i: Array, x: Array) -> Array:
    """The context of one token."""
    s_i = np.zeros(x.shape[1])
    for j in range(len(x)):
        for f in range(x.shape[1]):
            s_i[f] += a_i[j] * x[j, f]
    return s_i


def equation_9(i: int, j: int) -> float:
    """The self-disabled mask bias M_ij."""
    return -math.inf if i == j else 0.0


def equation_10(i: int, j: int, k: float) -> float:
    """The distance-aware Gaussian bias G_ij, for the window size k."""
    epsilon = k / 2
    return -((i - j) ** 2) / (2 * epsilon**2)


def equation_11(x_i: Array, i: int, j: int, R: Array, v: Array, b: float, r: int) -> float:
    """The token-specific position bias P_ij, clipped at the distance r."""
    if abs(i - j) > r:
        return inner(x_i, R[r]) + (inner(v, R[r]) + b)
    return inner(x_i, R[abs(i - j)]) + (inner(v, R[abs(i - j)]) + b)


def equation_12(s_i: Array, Wz1: Array, Wz2: Array, b: Array) -> Array:
    """The two fully connected layers s̃_i."""
    hidden = product(Wz1, s_i)
    hidden = np.array([math.tanh(hidden[f] + b[f]) for f in range(len(b))])
    return np.array([math.tanh(value) for value in product(Wz2, hidden)])


def equation_13(x_i: Array, s_i: Array, Wf1: Array, Wf2: Array, Wf3: Array) -> Array:
    """The fusion gate λ."""
    token, context = product(Wf1, x_i), product(Wf2, s_i)
    hidden = np.array([math.tanh(token[f] + context[f]) for f in range(len(token))])
    return np.array([sigmoid(value) for value in product(Wf3, hidden)])


def equation_14(gate: Array, x_i: Array, s_i: Array) -> Array:
    """The fused representation x̃_i."""
    return np.array([gate[f] * x_i[f] + (1.0 - gate[f]) * s_i[f] for f in range(len(gate))])


def positional_bias(
    x_i: Array,
    i: int,
    j: int,
    state: State,
    *,
    k: float,
    r: int,
    factors: Collection[str] = FACTORS,
) -> float:
    """Ψ_ij; factors that are not listed are zero, as in table 7."""
    M_ij = equation_9(i, j) if "M" in factors else 0.0
    G_ij = equation_10(i, j, k) if "G" in factors else 0.0
    P_ij = 0.0
    if "P" in factors:
        R, v = state["token_position.relative"], state["token_position.vector"]
        P_ij = equation_11(x_i, i, j, R, v, float(state["token_position.bias"][0]), r)
    alpha = sigmoid(float(state["trade_off"][0])) if "trade_off" in state else 0.0
    return equation_4(M_ij, G_ij, P_ij, alpha)


def arxiv_equation_8(M_ij: float, P_ij: float, G_ij: float, alphas: Sequence[float]) -> float:
    """The positional bias Ψ_ij of the first version; the weights sum to one."""
    return sum(a * b for a, b in zip(alphas, (M_ij, P_ij, G_ij), strict=True))


def arxiv_equation_11(x_i: Array, i: int, j: int, W: Array, r: int) -> float:
    """The token-specific position bias P_ij of the first version."""
    return inner(x_i, W[arxiv_equation_12(i - j, r) + r])


def arxiv_equation_12(q: int, r: int) -> int:
    """The clipped offset C(q, r), with its sign, from −r to r."""
    if q > r:
        return r
    return -r if q < -r else q


def arxiv_positional_bias(
    x_i: Array, i: int, j: int, state: State, *, k: float, r: int, factors: Sequence[str]
) -> float:
    """Ψ_ij of the first version, with the listed factors, in the order M, P, G."""
    powers = [math.exp(value) for value in state["trade_off"]]
    alphas = dict(zip(factors, [power / sum(powers) for power in powers], strict=True))
    terms = {
        "M": lambda: equation_9(i, j),
        "P": lambda: arxiv_equation_11(x_i, i, j, state["biases.0.relative"], r),
        "G": lambda: equation_10(i, j, k),
    }
    values = [terms[name]() if name in factors else 0.0 for name in "MPG"]
    return arxiv_equation_8(*values, [alphas.get(name, 0.0) for name in "MPG"])


def attention(
    x: Array, state: State, *, psi: Callable[..., float] = positional_bias, **bias: object
) -> Array:
    """Lines 1 to 10 of algorithm 1 for one sentence: a_i(j). Without `bias`, Ψ is zero."""
    n = len(x)
    psi_state = part(state, "bias")
    W1, W2 = state["query.weight"], state["key.weight"]
    weights = np.zeros((n, n))
    for i in range(n):
        scores = np.zeros(n)
        for j in range(n):
            scores[j] = equation_5(x[i], x[j], state["weight"], W1, W2, state["query.bias"])
            psi_ij = psi(x[i], i, j, psi_state, **bias) if bias else 0.0
            scores[j] = equation_6(scores[j], psi_ij)
        weights[i] = equation_7(scores)
    return weights


def contexts(x: Array, state: State, **bias: object) -> Array:
    """Line 11 of algorithm 1: s_i."""
    weights = attention(x, state, **bias)
    return np.stack([equation_8(weights[i], x) for i in range(len(x))])


def algorithm_1(x: Array, state: State, **bias: object) -> Array:
    """The context-aware representations of one sentence."""
    s = contexts(x, part(state, "attention"), **bias)
    output = np.zeros_like(x)
    for i in range(len(x)):
        s_i = equation_12(
            s[i], state["hidden.weight"], state["output.weight"], state["hidden.bias"]
        )
        output[i] = gate(x[i], s_i, part(state, "gate"))
    return output


def gate(x_i: Array, s_i: Array, state: State) -> Array:
    """Lines 15 and 16 of algorithm 1."""
    Wf1, Wf2, Wf3 = state["token.weight"], state["context.weight"], state["output.weight"]
    return equation_14(equation_13(x_i, s_i, Wf1, Wf2, Wf3), x_i, s_i)


def lstm(x: Array, state: State) -> Array:
    """The hidden states of an LSTM over one sequence, with gates stacked in the order i, f, g, o.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """
    W, U = state["weight_ih_l0"], state["weight_hh_l0"]
    b, c = state["bias_ih_l0"], state["bias_hh_l0"]
    width = U.shape[1]
    hidden, cell = np.zeros(width), np.zeros(width)
    output = np.zeros((len(x), width))
    for t in range(len(x)):
        total = product(W, x[t]) + b + product(U, hidden) + c
        for f in range(width):
            input_gate = sigmoid(total[f])
            forget_gate = sigmoid(total[width + f])
            candidate = math.tanh(total[2 * width + f])
            output_gate = sigmoid(total[3 * width + f])
            cell[f] = forget_gate * cell[f] + input_gate * candidate
            output[t, f] = output_gate * math.tanh(cell[f])
        hidden = output[t]
    return output


def bilstm(x: Array, forwards: State, backwards: State) -> Array:
    """Both directions of an LSTM over one sequence, concatenated."""
    left = lstm(x, forwards)
    right = lstm(x[::-1], backwards)[::-1]
    return np.concatenate([left, right], axis=1)


def part(state: State, prefix: str) -> dict[str, Array]:
    """The parameters of a submodule."""
    start = prefix + "."
    return {name[len(start) :]: value for name, value in state.items() if name.startswith(start)}
