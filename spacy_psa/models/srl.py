"""The semantic role labeling model: tok2vec, predicate indicator, encoder, decoder."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model
from torch import nn

from ..errors import Errors, check_counts
from ..inference import Potentials
from ..layers.labeler import PredicateMask, RoleLabelerNetwork
from .batches import cut, flatten, make_layout, unflatten
from .growth import grow, padded
from .labeler import assemble, make_network, run_network, sentence_lengths, shim_of
from .network_shim import NetworkShim
from .types import DecoderBuilder, EncoderBuilder, RoleLabeler, Tok2Vec, check_blocks, check_windows

# Maximum number of tokens labeled at once in prediction. Each predicate has its own copy of its
# sentence, so a long document can have many more positions than tokens.
MAX_POSITIONS = 1 << 15


class Proposition(NamedTuple):
    """A predicate and the sentence labeled for it, as token indices into the Doc.

    predicate (int): The predicate.
    start (int): The first token of its sentence, or of a window if the sentence is long.
    end (int): The token after the last one.
    """

    predicate: int
    start: int
    end: int


def build_role_labeler(
    tok2vec: Tok2Vec,
    encoder: EncoderBuilder,
    decoder: DecoderBuilder,
    mask_width: int = 100,
    max_length: int = 512,
    overlap: int = 64,
    mixed_precision: str | None = None,
    cuda_graphs: bool = False,
    nO: int | None = None,
) -> RoleLabeler:
    """Build a semantic role labeling model.

    Tokens are embedded once. Each predicate gets a copy of its sentence in which it is marked, and
    all copies are encoded together. A Doc without sentence boundaries is one sentence. Sentences
    longer than `max_length` are cut into overlapping windows, and a predicate is labeled in the
    window that gives it more context. So the cost of a document grows with its number of
    predicates, not with the product of that and its length.

    tok2vec (Tok2Vec): Embeds tokens, e.g. `spacy_psa.WordCharEmbed.v1`.
    encoder (EncoderBuilder): Contextualizes tokens, e.g. `spacy_psa.DeepAtt.v1`.
    decoder (DecoderBuilder): Scores labels, `spacy_psa.Softmax.v1` or `spacy_psa.CRF.v1`.
    mask_width (int): Width of the embedding of the predicate indicator.
    max_length (int): Maximum number of tokens that are labeled for a predicate.
    overlap (int): Minimum number of tokens that neighboring windows share. A predicate has at least
        half as many on either side, except at the ends of its sentence.
    mixed_precision (Optional[str]): Precision of the encoder's matrix multiplications in training,
        "bf16" or "fp16"; null for full precision. Prediction always uses full precision.
    cuda_graphs (bool): Whether to start the encoder's and the decoder's operations at once, on a
        GPU in training in full precision, as in `build_sequence_labeler`.
    nO (Optional[int]): Number of labels; set at initialization.
    RETURNS (RoleLabeler): The model, from Docs and predicates to potentials.
    RAISES (ValueError): If a block is of the wrong kind, or a value is out of range.

    Source: Tan et al. (2018), 'Pipeline'.
    """
    check_counts(mask_width=mask_width)
    check_blocks(tok2vec, encoder, decoder)
    check_windows(max_length, overlap)
    make = partial(_make_network, encoder, decoder, mask_width, cuda_graphs)
    network: Model = Model(
        "role_network",
        _network_forward,
        dims={"nI": None, "nO": nO},
        shims=[NetworkShim(make, mixed_precision=mixed_precision)],
    )
    attrs = {"max_length": max_length, "overlap": overlap, "in_parts": _in_parts}
    return assemble("role_labeler", forward, tok2vec, network, attrs)


def _make_network(
    encoder: EncoderBuilder,
    decoder: DecoderBuilder,
    mask_width: int,
    cuda_graphs: bool,
    *,
    input_width: int,
    n_labels: int,
) -> nn.Module:
    mask = PredicateMask(input_width, mask_width)
    sizes = {"input_width": mask.width, "n_labels": n_labels}
    return RoleLabelerNetwork(mask, make_network(encoder, decoder, cuda_graphs, **sizes))


def forward(
    model: RoleLabeler, inputs: tuple[list[Doc], list[list[int]]], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    """Score the label sequences of predicates, one chain per predicate, in order."""
    docs, predicates = inputs
    # Use `layers` rather than a reference: `replace_listeners` swaps a layer.
    tok2vec, network = model.layers
    vectors, backprop_tok2vec = tok2vec(docs, is_train)
    lengths = [len(doc) for doc in docs]
    flat = flatten(model.ops, vectors)
    positions = _positions(model, docs, predicates)
    if not positions.lengths:
        # Nothing to label, but a shared tok2vec still waits for its gradient.
        empty = Potentials(torch.zeros(0, model.get_dim("nO")), ())
        zeros = model.ops.alloc2f(*flat.shape)
        return empty, lambda _: backprop_tok2vec(unflatten(model.ops, zeros, lengths))
    n_labels = model.get_dim("nO")
    if is_train and network.get_dim("nO") != n_labels:
        grow(model)
    potentials, backprop_network = network((flat, positions), is_train)

    def backprop(d_potentials: Potentials) -> list[Doc]:
        d_flat = backprop_network(d_potentials)
        return backprop_tok2vec(unflatten(model.ops, d_flat, lengths))

    return padded(potentials, n_labels), backprop


def _network_forward(
    model: Model, inputs: tuple[Any, ...], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], Any]]:
    flat, positions = inputs
    device = shim_of(model).device
    index = (positions.tokens, positions.is_predicate)
    # Propositions never exceed `max_length`, so they need no further windows
    longest = max(positions.lengths)
    layout = make_layout(positions.lengths, max_length=longest, overlap=0)
    moved = (torch.from_numpy(array).to(device) for array in index)
    return run_network(model, flat, (*moved, layout), is_train)


def predict_in_parts(
    model: RoleLabeler,
    docs: list[Doc],
    predicates: list[list[int]],
    *,
    max_positions: int | None = None,
) -> Iterator[Potentials]:
    """Score the label sequences of predicates in parts of at most so many tokens (unless a single
    proposition has more), so that memory does not grow with the number of predicates. Tokens are
    embedded once. A custom model yields all scores at once."""
    in_parts = model.attrs.get("in_parts")
    if in_parts is None:
        yield model.predict((docs, predicates))
    else:
        yield from in_parts(model, docs, predicates, max_positions or MAX_POSITIONS)


def _in_parts(
    model: RoleLabeler, docs: list[Doc], predicates: list[list[int]], max_positions: int
) -> Iterator[Potentials]:
    tok2vec, network = model.layers
    flat = flatten(model.ops, tok2vec.predict(docs))
    positions = _positions(model, docs, predicates)
    for part in positions.parts(max_positions):
        yield padded(network.predict((flat, part)), model.get_dim("nO"))


class _Positions(NamedTuple):
    tokens: NDArray[np.int64]
    is_predicate: NDArray[np.bool_]
    lengths: list[int]

    def parts(self, max_positions: int) -> "Iterator[_Positions]":
        ends = np.cumsum([0, *self.lengths])
        for part in divided(self.lengths, max_positions):
            rows = slice(ends[part.start], ends[part.stop])
            yield _Positions(self.tokens[rows], self.is_predicate[rows], self.lengths[part])


def divided(lengths: Sequence[int], max_positions: int) -> Iterator[slice]:
    """Divide propositions into parts of at most so many tokens, unless a single one has more."""
    ends = np.cumsum([0, *lengths])
    first = 0
    while first < len(lengths):
        last = max(first + 1, bisect_right(ends, ends[first] + max_positions) - 1)
        yield slice(first, last)
        first = last


def _positions(
    model: RoleLabeler, docs: Iterable[Doc], predicates: Iterable[Sequence[int]]
) -> _Positions:
    """The tokens of all propositions, concatenated, as indices into the whole batch."""
    tokens, marks, lengths = [], [], []
    offset = 0
    for doc, indices in zip(docs, predicates, strict=True):
        for predicate, start, end in labeled_propositions(model, doc, indices):
            order = np.arange(start, end)
            tokens.append(order + offset)
            marks.append(order == predicate)
            lengths.append(end - start)
        offset += len(doc)
    if not lengths:
        return _Positions(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool), lengths)
    return _Positions(np.concatenate(tokens), np.concatenate(marks), lengths)


def labeled_propositions(
    model: RoleLabeler, doc: Doc, predicates: Sequence[int]
) -> list[Proposition]:
    """Find the sentences or windows that a model labels for predicates: whole sentences for a
    custom model without `max_length`. See `propositions`."""
    attrs = model.attrs
    return propositions(
        doc, predicates, max_length=attrs.get("max_length"), overlap=attrs.get("overlap", 0)
    )


def propositions(
    doc: Doc, predicates: Sequence[int], *, max_length: int | None = None, overlap: int = 0
) -> list[Proposition]:
    """Find the sentences of predicates, one for each, in the same order. Those of more than
    `max_length` tokens are cut into overlapping windows, and a predicate gets the window with more
    context."""
    if not len(predicates):
        return []
    for predicate in predicates:
        if not 0 <= predicate < len(doc):
            raise ValueError(
                Errors.P320.format(predicate=predicate, n_tokens=len(doc), text=doc.text[:60])
            )
    windows = [
        window
        for start, end in pairwise(np.cumsum([0, *sentence_lengths(doc)]).tolist())
        for window in cut(start, end - start, max_length or len(doc), overlap)
    ]
    found = [windows[bisect_right(windows, p, key=lambda w: w.keep_from) - 1] for p in predicates]
    return [
        Proposition(int(predicate), window.start, window.start + window.length)
        for predicate, window in zip(predicates, found, strict=True)
    ]
