"""Contextual embeddings from a transformer, without fine-tuning."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spacy.tokens import Doc
from thinc.api import Model, chain
from thinc.types import Floats2d

from ..errors import Errors, check_counts
from .types import Tok2Vec

Transformer = Model[list[Doc], Any]


def build_last_layers(
    n_layers: int = 4, upstream: str = "*", transformer: Transformer | None = None
) -> Tok2Vec:
    """Embed each token as the mean of a transformer's last layers over its subwords.

    The transformer is not trained through this layer: to fine-tune it, use
    `spacy-transformers.TransformerListener.v1`. Its `transformer_config` must have
    `output_hidden_states = true`. Tokens without subwords, such as whitespace, get zeros.

    n_layers (int): Number of layers.
    upstream (str): The name of the `transformer` component to listen to, or "*" for any.
    transformer (Optional[Transformer]): A transformer of the layer's own, e.g.
        `spacy-transformers.TransformerModel.v3`; None to listen to a component.
    RETURNS (Tok2Vec): The layer. Output width: the transformer's.
    RAISES (ValueError): If the number of layers is less than 1.

    Source: Wang et al. (2021), section 4.2: 'the averages [of] all BERT subword embeddings in the
    last four layers'.
    """
    from spacy_transformers.layers import TransformerListener, split_trf_batch

    check_counts(n_layers=n_layers)
    source: Model = (
        TransformerListener(upstream_name=upstream)
        if transformer is None
        else chain(transformer, split_trf_batch())
    )
    return Model(
        "last_layers",
        forward,
        init=init,
        layers=[source],
        dims={"nO": None},
        attrs={"n_layers": n_layers},
    )


def init(model: Tok2Vec, X: list[Doc] | None = None, Y: Any = None) -> Tok2Vec:
    """Initialize the layer's own transformer, if any, and infer the width."""
    source = model.layers[0]
    source.initialize(X=X)
    widths = [node.get_dim("nO") for node in source.walk() if node.has_dim("nO")]
    if not widths:
        raise ValueError(Errors.P241)
    model.set_dim("nO", widths[0], force=True)
    return model


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """Embed the tokens of documents."""
    from spacy_transformers.layers import TransformerListener

    source = model.layers[0]
    listens = is_train and isinstance(source, TransformerListener)
    # The layer's own transformer is never in training mode, which would enable its dropout.
    outputs, backprop_source = source(docs, listens)
    vectors = [_embed(model, doc, data) for doc, data in zip(docs, outputs, strict=True)]

    def backprop(d_outputs: list[Floats2d]) -> list[Doc]:
        if listens:
            # The transformer is updated only once all of its listeners have called back.
            backprop_source([_without_gradient(data) for data in outputs if data.model_output])
        return []

    return vectors, backprop


def _embed(model: Tok2Vec, doc: Doc, data: Any) -> Floats2d:
    ops, n_layers = model.ops, model.attrs["n_layers"]
    if not data.align.dataXd.size:
        # No tokens, or nothing but white space: thinc takes no mean of no subwords
        return ops.alloc2f(len(doc), model.get_dim("nO"))
    layers = data.model_output.get("hidden_states")
    if layers is None:
        raise ValueError(Errors.P242.format(text=doc.text[:60]))
    # The first of them is the transformer's input.
    if n_layers >= len(layers):
        raise ValueError(Errors.P243.format(n_layers=n_layers, found=len(layers) - 1))
    mean = sum(layers[-n_layers:]) / n_layers
    pieces = mean.reshape(-1, mean.shape[-1])[ops.asarray1i(data.align.dataXd)]
    return ops.reduce_mean(ops.asarray2f(pieces), ops.asarray1i(data.align.lengths))


def _without_gradient(data: Any) -> Any:
    last = data.model_output["last_hidden_state"]
    return replace(data, model_output=type(data.model_output)(last_hidden_state=last * 0.0))
