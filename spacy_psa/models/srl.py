"""The model of semantic role labeling: tok2vec, the predicate's mark, encoder, decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model
from thinc.util import get_torch_default_device
from torch import nn

from ..errors import Errors
from ..inference import Potentials
from ..layers.labeler import SequenceLabelerNetwork
from ..layers.layout import make_layout
from ..layers.predicate import PredicateMask, RoleLabelerNetwork
from .labeler import init, run_network, sentence_lengths
from .shim import NetworkShim
from .types import DecoderBuilder, EncoderBuilder, RoleLabeler, Tok2Vec, check_value


class Proposition(NamedTuple):
    """A predicate and the sentence that is labeled for it, as indices of tokens of the Doc.

    predicate (int): The predicate.
    start (int): The first token of its sentence.
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
    nO: int | None = None,
) -> RoleLabeler:
    """Put a model of semantic roles together.

    Tokens are embedded once. Each predicate gets a copy of its sentence with its mark, and all of
    them go through the encoder together. A Doc without sentence boundaries is one sentence; what is
    longer than `max_length` goes through the encoder in overlapping windows, and is decoded whole.
    Windows without the predicate have no mark in them.

    tok2vec (Tok2Vec): Embeds tokens, e.g. `spacy_psa.WordCharEmbed.v1`.
    encoder (EncoderBuilder): Puts tokens in context, e.g. `spacy_psa.DeepAtt.v1`.
    decoder (DecoderBuilder): Scores labels, `spacy_psa.Softmax.v1` or `spacy_psa.CRF.v1`.
    mask_width (int): Width of the embedding of the predicate's mark.
    max_length (int): Tokens that the encoder sees at once at most.
    overlap (int): Tokens that neighbouring windows share at least.
    nO (Optional[int]): Number of labels; set at initialization.
    RETURNS (RoleLabeler): The model, from Docs and predicates to potentials.
    RAISES (ValueError): If a value is out of its range.

    Source: Tan et al. (2018), 'Pipeline'.
    """
    check_value("mask_width", mask_width, mask_width >= 1, "at least 1")
    if not 0 <= overlap < max_length:
        raise ValueError(Errors.P208.format(overlap=overlap, max_length=max_length))
    network: Model = Model(
        "role_network",
        _network_forward,
        dims={"nI": None, "nO": nO},
        shims=[NetworkShim(partial(_make_network, encoder, decoder, mask_width))],
    )
    return Model(
        "role_labeler",
        forward,
        init=init,
        layers=[tok2vec, network],
        dims={"nO": nO},
        refs={"tok2vec": tok2vec, "network": network},
        attrs={"max_length": max_length, "overlap": overlap},
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
    positions = _positions(docs, predicates)
    if not positions.lengths:
        # Nothing to label, but whoever shares the tok2vec waits for its gradient.
        empty = Potentials(torch.zeros(0, model.get_dim("nO")), ())
        zeros = model.ops.alloc2f(*flat.shape)
        return empty, lambda _: backprop_tok2vec(model.ops.unflatten(zeros, lengths))
    layout = make_layout(
        positions.lengths, max_length=model.attrs["max_length"], overlap=model.attrs["overlap"]
    )
    arguments = (flat, positions.tokens, positions.is_predicate, layout)
    potentials, backprop_network = network(arguments, is_train)

    def backprop(d_potentials: Potentials) -> list[Doc]:
        d_flat = backprop_network(d_potentials)
        return backprop_tok2vec(model.ops.unflatten(d_flat, lengths))

    return potentials, backprop


def _network_forward(
    model: Model, inputs: tuple[Any, ...], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], Any]]:
    flat, tokens, is_predicate, layout = inputs
    device = get_torch_default_device()
    index = (torch.from_numpy(tokens).to(device), torch.from_numpy(is_predicate).to(device))
    return run_network(model.shims[0], flat, (*index, layout), is_train)


class _Positions(NamedTuple):
    tokens: NDArray[np.int64]
    is_predicate: NDArray[np.bool_]
    lengths: list[int]


def _positions(docs: Iterable[Doc], predicates: Iterable[Sequence[int]]) -> _Positions:
    """The tokens of all propositions, one after the other, counted over the whole batch."""
    tokens, marks, lengths = [], [], []
    offset = 0
    for doc, indices in zip(docs, predicates, strict=True):
        for predicate, start, end in propositions(doc, indices):
            order = np.arange(start, end)
            tokens.append(order + offset)
            marks.append(order == predicate)
            lengths.append(end - start)
        offset += len(doc)
    if not lengths:
        return _Positions(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool), lengths)
    return _Positions(np.concatenate(tokens), np.concatenate(marks), lengths)


def propositions(doc: Doc, predicates: Sequence[int]) -> list[Proposition]:
    """Find the sentences of predicates.

    doc (Doc): The document.
    predicates (Sequence[int]): Indices of tokens.
    RETURNS (List[Proposition]): One for each, in the same order.
    RAISES (ValueError): If an index is out of range.
    """
    if not len(predicates):
        return []
    bounds = np.cumsum([0, *sentence_lengths(doc)])
    for predicate in predicates:
        if not 0 <= predicate < len(doc):
            raise ValueError(
                Errors.P320.format(predicate=predicate, n_tokens=len(doc), text=doc.text[:60])
            )
    places = np.searchsorted(bounds, np.asarray(predicates), side="right")
    return [
        Proposition(int(predicate), int(bounds[place - 1]), int(bounds[place]))
        for predicate, place in zip(predicates, places, strict=True)
    ]
