"""The model of a sequence labeling component: tok2vec, encoder, decoder."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from spacy.tokens import Doc
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d
from thinc.util import xp2torch

from ..acceleration.cuda.graphed import GraphedBody
from ..errors import Errors
from ..inference import Potentials
from ..layers.labeler import SequenceLabelerNetwork
from .batches import BUCKET_POSITIONS, PREDICTED_POSITIONS, flatten, make_layout, to_rows, unflatten
from .concat import output_width
from .encoders import build_chain
from .growth import grow, padded, resize_output
from .network_shim import NetworkShim
from .types import (
    DecoderBuilder,
    EncoderBuilder,
    SequenceLabeler,
    Tok2Vec,
    check_blocks,
    check_windows,
)


def build_sequence_labeler(
    tok2vec: Tok2Vec,
    encoder: EncoderBuilder | None,
    decoder: DecoderBuilder,
    max_length: int = 512,
    overlap: int = 64,
    mixed_precision: str | None = None,
    cuda_graphs: bool = False,
    nO: int | None = None,
) -> SequenceLabeler:
    """Build a sequence labeling model.

    Documents are encoded sentence by sentence if they have sentence boundaries, and whole
    otherwise. Sequences longer than `max_length` are encoded in overlapping windows, but decoded as
    a whole.

    tok2vec (Tok2Vec): Embeds tokens: `spacy_psa.WordCharEmbed.v1`, or any of spaCy's, e.g.
        `spacy.HashEmbedCNN.v2`, `spacy.Tok2VecListener.v1`,
        `spacy-transformers.TransformerListener.v1`.
    encoder (Optional[EncoderBuilder]): Contextualizes tokens, e.g. `spacy_psa.PSAEncoder.v1`. None
        if `tok2vec` does so, e.g. a pretrained transformer: the decoder scores its vectors.
    decoder (DecoderBuilder): Scores labels, e.g. `spacy_psa.CRF.v1`.
    max_length (int): Maximum number of tokens that the encoder sees at once.
    overlap (int): Minimum number of tokens that neighboring windows share.
    mixed_precision (Optional[str]): Precision of the encoder's matrix multiplications in training,
        "bf16" or "fp16"; null for full precision. Prediction always uses full precision.
    cuda_graphs (bool): Whether to start the encoder's and the decoder's operations at once, on a
        GPU in training in full precision: for a small network, starting them one by one takes
        longer than computing them. Each shape of a batch is recorded first, so memory grows.
    nO (Optional[int]): Number of labels; set at initialization.
    RETURNS (SequenceLabeler): The model, from docs to the potentials of label sequences.
    RAISES (ValueError): If a block is of the wrong kind, `max_length` is out of range, or `overlap`
        is negative or not smaller than it.
    """
    check_blocks(tok2vec, encoder, decoder)
    check_windows(max_length, overlap)
    make = partial(make_network, encoder, decoder, cuda_graphs)
    network: Model = Model(
        "psa_network",
        _network_forward,
        dims={"nI": None, "nO": nO},
        shims=[NetworkShim(make, mixed_precision=mixed_precision)],
    )
    attrs = {"max_length": max_length, "overlap": overlap}
    return assemble("sequence_labeler", forward, tok2vec, network, attrs)


def assemble(
    name: str,
    forward: Callable,
    tok2vec: Tok2Vec,
    network: Model,
    attrs: dict[str, Any],
    *,
    initialize: Callable | None = None,
) -> Model:
    """Put a model together from an embedding of tokens and a network that labels them."""
    return Model(
        name,
        forward,
        init=initialize or init,
        layers=[tok2vec, network],
        dims={"nO": network.maybe_get_dim("nO")},
        refs={"tok2vec": tok2vec, "network": network},
        attrs={**attrs, "resize_output": resize_output},
    )


def make_network(
    encoder: EncoderBuilder | None,
    decoder: DecoderBuilder,
    cuda_graphs: bool,
    *,
    input_width: int,
    n_labels: int,
) -> SequenceLabelerNetwork:
    """Build a network of an encoder and a decoder."""
    encoder_module = (encoder or build_chain())(input_width, n_labels)
    decoder_module = decoder(encoder_module, n_labels)
    return SequenceLabelerNetwork(
        encoder_module, decoder_module, run=GraphedBody() if cuda_graphs else None
    )


def init(model: SequenceLabeler, X: list[Doc] | None = None, Y: Any = None) -> SequenceLabeler:
    """Initialize the model; `nO` must be set. The width of the tok2vec is inferred from a few
    documents."""
    tok2vec: Tok2Vec = model.layers[0]
    network = model.get_ref("network")
    tok2vec.initialize(X=X)
    width = output_width(tok2vec, X)
    n_labels = model.get_dim("nO")
    network.set_dim("nI", width, force=True)
    network.set_dim("nO", n_labels, force=True)
    shim_of(network).build(input_width=width, n_labels=n_labels)
    return model


def forward(
    model: SequenceLabeler, docs: list[Doc], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    """Score the label sequences of documents, one chain for each non-empty sentence."""
    # Use `layers` rather than a reference: `replace_listeners` swaps a layer.
    tok2vec, network = model.layers
    vectors, backprop_tok2vec = tok2vec(docs, is_train)
    if not any(len(doc) for doc in docs):
        # Nothing to label, but a shared tok2vec still waits for its gradient.
        empty = Potentials(torch.zeros(0, model.get_dim("nO")), ())
        return empty, lambda _: backprop_tok2vec(vectors)
    flat = flatten(model.ops, vectors)
    on_cpu = isinstance(flat, np.ndarray)
    layout = make_layout(
        [length for doc in docs for length in sentence_lengths(doc)],
        # Those of roles may have markers in addition to the words
        max_length=model.attrs["max_length"] + model.attrs.get("n_markers", 0),
        overlap=model.attrs["overlap"],
        bucket_positions=PREDICTED_POSITIONS if on_cpu and not is_train else BUCKET_POSITIONS,
    )
    n_labels = model.get_dim("nO")
    if is_train and network.get_dim("nO") != n_labels:
        grow(model)
    potentials, backprop_network = network((flat, layout), is_train)

    def backprop(d_potentials: Potentials) -> list[Doc]:
        d_flat = backprop_network(d_potentials)
        return backprop_tok2vec(unflatten(model.ops, d_flat, [len(doc) for doc in docs]))

    has_all = potentials.n_labels == n_labels
    return potentials if has_all else padded(potentials, n_labels), backprop


def _network_forward(
    model: Model, inputs: tuple[Floats2d, Any], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], Floats2d]]:
    flat, layout = inputs
    return run_network(model, flat, (layout,), is_train)


def run_network(
    model: Model, flat: Floats2d, others: tuple[Any, ...], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], Floats2d]]:
    """Run a network from token vectors to potentials, with a callback from their gradient to that
    of the vectors."""
    x = xp2torch(flat, requires_grad=is_train, device=shim_of(model).device)
    width, found = model.maybe_get_dim("nI"), x.shape[1]
    if width is not None and found != width:
        raise ValueError(Errors.P222.format(found=found, width=width))
    arguments = ArgsKwargs(args=(x, *others), kwargs={})
    if not is_train:
        return shim_of(model).predict(arguments), lambda d_potentials: flat
    potentials, backward = shim_of(model).begin_update(arguments)

    def backprop(d_potentials: Potentials) -> Floats2d:
        gradients = d_potentials.tensors()
        outputs = potentials.tensors()
        backward([outputs[name] for name in gradients], list(gradients.values()))
        # An encoder may pass no gradient on
        return to_rows(torch.zeros_like(x) if x.grad is None else x.grad)

    return potentials, backprop


def shim_of(model: Model) -> NetworkShim:
    """Get the shim that holds a layer's network."""
    (shim,) = model.shims
    assert isinstance(shim, NetworkShim)
    return shim


def sentence_lengths(doc: Doc) -> list[int]:
    """Find the lengths of the sequences that are labeled in a document: its sentences, or the
    document if it has no sentence boundaries."""
    if not len(doc):
        return []
    if not doc.has_annotation("SENT_START"):
        return [len(doc)]
    return [len(sentence) for sentence in doc.sents]
