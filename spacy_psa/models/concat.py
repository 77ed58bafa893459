"""Concatenate several token embeddings."""

from collections.abc import Callable
from typing import Any

from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors
from .batches import flatten, unflatten
from .types import Tok2Vec, check_dropout


def build_concat_tok2vec(*layers: Tok2Vec, dropout: float = 0.0) -> Tok2Vec:
    """Concatenate the outputs of several token embeddings, as in [w; c; e]: words, characters and
    contextual embeddings.

    *layers (Tok2Vec): The embeddings; in a config, sections `tok2vec.*.name`. Listeners are
        supported.
    dropout (float): Dropout on a token's whole representation, as in the papers. If you set it,
        leave the dropout of the embeddings at 0.
    RETURNS (Tok2Vec): The layer. Output width: the sum of the embeddings' widths.
    RAISES (ValueError): If there is no embedding, or the dropout is out of range.

    Source: Wang et al. (2021), section 4.2.
    """
    check_dropout(dropout=dropout)
    if not layers:
        raise ValueError(Errors.P240)
    return Model(
        "concat_tok2vec",
        forward,
        init=init,
        layers=layers,
        dims={"nO": None},
        # Not 'dropout_rate': `set_dropout_rate` would overwrite it with the rate of [training].
        attrs={"dropout": dropout},
    )


def init(model: Tok2Vec, X: list[Doc] | None = None, Y: Any = None) -> Tok2Vec:
    """Initialize the embeddings and infer the output width."""
    for layer in model.layers:
        layer.initialize(X=X)
    model.set_dim("nO", sum(output_width(layer, X) for layer in model.layers), force=True)
    return model


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """Embed the tokens of documents."""
    ops, lengths = model.ops, [len(doc) for doc in docs]
    if not any(lengths):
        return [ops.alloc2f(0, model.get_dim("nO")) for _ in docs], lambda d_outputs: []
    parts, backprops = zip(*(layer(docs, is_train) for layer in model.layers), strict=True)
    flat = [flatten(ops, part) for part in parts]
    output = ops.xp.hstack(flat)
    drop = model.attrs["dropout"] if is_train else 0.0
    kept = ops.get_dropout_mask(output.shape, drop) if drop else None
    if kept is not None:
        output = output * kept

    def backprop(d_outputs: list[Floats2d]) -> list[Doc]:
        gradient = flatten(ops, d_outputs)
        if kept is not None:
            gradient = gradient * kept
        start = 0
        for part, backprop_part in zip(flat, backprops, strict=True):
            end = start + part.shape[1]
            backprop_part(unflatten(ops, ops.as_contig(gradient[:, start:end]), lengths))
            start = end
        return []

    return unflatten(ops, output, lengths), backprop


def output_width(tok2vec: Tok2Vec, docs: list[Doc] | None) -> int:
    """Find the output width of an initialized embedding; without `nO`, by a few documents."""
    width = tok2vec.maybe_get_dim("nO")
    if width is not None:
        return width
    if not docs:
        raise ValueError(Errors.P209)
    return tok2vec.predict(docs)[0].shape[1]
