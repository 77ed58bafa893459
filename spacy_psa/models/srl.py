"""The model of semantic role labeling: tok2vec, the predicate's mark, encoder, decoder."""

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

from ..errors import Errors
from ..inference import Potentials
from ..layers.labeler import SequenceLabelerNetwork
from ..layers.layout import cut, make_layout
from ..layers.predicate import PredicateMask, RoleLabelerNetwork
from .arrays import unflatten
from .labeler import init, run_network, sentence_lengths, shim_of
from .shim import NetworkShim
from .types import DecoderBuilder, EncoderBuilder, RoleLabeler, Tok2Vec, check_value

# Tokens of propositions that are labeled at a time in prediction: in a long document each predicate
# has a copy of its sentence.
MAX_POSITIONS = 1 << 15


class Proposition(NamedTuple):
    """A predicate and the sentence that is labeled for it, as indices of tokens of the Doc.

    predicate (int): The predicate.
    start (int): The first token of its sentence, or of a window of a long one.
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
    nO: int | None = None,
) -> RoleLabeler:
    """Put a model of semantic roles together.

    Tokens are embedded once. Each predicate gets a copy of its sentence with its mark, and all of
    them go through the encoder together. A Doc without sentence boundaries is one sentence. What is
    longer than `max_length` is cut into overlapping windows, and a predicate labeled in the one in
    which it has more context: so the cost of a document grows with its predicates, not with their
    product with its length.

    tok2vec (Tok2Vec): Embeds tokens, e.g. `spacy_psa.WordCharEmbed.v1`.
    encoder (EncoderBuilder): Puts tokens in context, e.g. `spacy_psa.DeepAtt.v1`.
    decoder (DecoderBuilder): Scores labels, `spacy_psa.Softmax.v1` or `spacy_psa.CRF.v1`.
    mask_width (int): Width of the embedding of the predicate's mark.
    max_length (int): Tokens that are labeled for a predicate at most.
    overlap (int): Tokens that neighbouring windows share at least: half as many stand on either
        side of a predicate, unless its sentence ends.
    mixed_precision (Optional[str]): What products of the encoder are computed in while it is
        trained, "bf16" or "fp16"; null for full precision. Predictions are in full precision.
    nO (Optional[int]): Number of labels; set at initialization.
    RETURNS (RoleLabeler): The model, from Docs and predicates to potentials.
    RAISES (ValueError): If a value is out of its range.

    Source: Tan et al. (2018), 'Pipeline'.
    """
    check_value("mask_width", mask_width, mask_width >= 1, "at least 1")
    check_value("max_length", max_length, True, "less than 2^63")
    if not 0 <= overlap < max_length:
        raise ValueError(Errors.P208.format(overlap=overlap, max_length=max_length))
    make = partial(_make_network, encoder, decoder, mask_width)
    network: Model = Model(
        "role_network",
        _network_forward,
        dims={"nI": None, "nO": nO},
        shims=[NetworkShim(make, mixed_precision=mixed_precision)],
    )
    return Model(
        "role_labeler",
        forward,
        init=init,
        layers=[tok2vec, network],
        dims={"nO": nO},
        refs={"tok2vec": tok2vec, "network": network},
        attrs={"max_length": max_length, "overlap": overlap, "in_parts": _in_parts},
    )


def _make_network(
    encoder: EncoderBuilder,
    decoder: DecoderBuilder,
    mask_width: int,
    *,
    input_width: int,
    n_labels: int,
) -> nn.Module:
    mask = PredicateMask(input_width, mask_width)
    encoder_module = encoder(mask.width, n_labels)
    labeler = SequenceLabelerNetwork(encoder_module, decoder(encoder_module, n_labels))
    return RoleLabelerNetwork(mask, labeler)


def forward(
    model: RoleLabeler, inputs: tuple[list[Doc], list[list[int]]], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    """Score the label sequences of predicates, one chain for each, in their order."""
    docs, predicates = inputs
    # Through `layers`, not a reference: `replace_listeners` exchanges a layer.
    tok2vec, network = model.layers
    vectors, backprop_tok2vec = tok2vec(docs, is_train)
    lengths = [len(doc) for doc in docs]
    flat = model.ops.flatten(vectors)
    positions = _positions(model, docs, predicates)
    if not positions.lengths:
        # Nothing to label, but whoever shares the tok2vec waits for its gradient.
        empty = Potentials(torch.zeros(0, model.get_dim("nO")), ())
        zeros = model.ops.alloc2f(*flat.shape)
        return empty, lambda _: backprop_tok2vec(unflatten(model.ops, zeros, lengths))
    potentials, backprop_network = network((flat, positions), is_train)

    def backprop(d_potentials: Potentials) -> list[Doc]:
        d_flat = backprop_network(d_potentials)
        return backprop_tok2vec(unflatten(model.ops, d_flat, lengths))

    return potentials, backprop


def _network_forward(
    model: Model, inputs: tuple[Any, ...], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], Any]]:
    flat, positions = inputs
    device = shim_of(model).device
    index = (positions.tokens, positions.is_predicate)
    # No sequence is longer than what the encoder may see
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
    """Score the label sequences of predicates part by part, so that memory does not grow with their
    number. Tokens are embedded once.

    model (RoleLabeler): The model.
    docs (List[Doc]): The documents.
    predicates (List[List[int]]): The predicates of each.
    max_positions (Optional[int]): Tokens of a part at most, unless a single proposition has more;
        by default `MAX_POSITIONS`.
    YIELDS (Potentials): The scores for some predicates, which follow each other. (All of them, if
        the model is none of ours.)
    """
    in_parts = model.attrs.get("in_parts")
    if in_parts is None:
        yield model.predict((docs, predicates))
    else:
        yield from in_parts(model, docs, predicates, max_positions or MAX_POSITIONS)


def _in_parts(
    model: RoleLabeler, docs: list[Doc], predicates: list[list[int]], max_positions: int
) -> Iterator[Potentials]:
    tok2vec, network = model.layers
    flat = model.ops.flatten(tok2vec.predict(docs))
    positions = _positions(model, docs, predicates)
    for part in positions.parts(max_positions):
        yield network.predict((flat, part))


class _Positions(NamedTuple):
    tokens: NDArray[np.int64]
    is_predicate: NDArray[np.bool_]
    lengths: list[int]

    def parts(self, max_positions: int) -> "Iterator[_Positions]":
        ends = np.cumsum([0, *self.lengths])
        first = 0
        while first < len(self.lengths):
            last = bisect_right(ends, ends[first] + max_positions) - 1
            last = max(first + 1, last)
            part = slice(ends[first], ends[last])
            yield _Positions(self.tokens[part], self.is_predicate[part], self.lengths[first:last])
            first = last


def _positions(
    model: RoleLabeler, docs: Iterable[Doc], predicates: Iterable[Sequence[int]]
) -> _Positions:
    """The tokens of all propositions, one after the other, counted over the whole batch."""
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
    """Find what a model labels for predicates.

    model (RoleLabeler): The model.
    doc (Doc): The document.
    predicates (Sequence[int]): Indices of tokens.
    RETURNS (List[Proposition]): See `propositions`; whole sentences, if the model is none of ours.
    """
    attrs = model.attrs
    return propositions(
        doc, predicates, max_length=attrs.get("max_length"), overlap=attrs.get("overlap", 0)
    )


def propositions(
    doc: Doc, predicates: Sequence[int], *, max_length: int | None = None, overlap: int = 0
) -> list[Proposition]:
    """Find the sentences of predicates.

    doc (Doc): The document.
    predicates (Sequence[int]): Indices of tokens.
    max_length (Optional[int]): Tokens of a sentence at most. Longer ones are cut into overlapping
        windows, of which a predicate gets the one in which it has more context.
    overlap (int): Tokens that neighbouring windows share at least.
    RETURNS (List[Proposition]): One for each, in the same order.
    RAISES (ValueError): If an index is out of range.
    """
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
