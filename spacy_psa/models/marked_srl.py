"""A semantic role labeling model that reads each predicate's sentence anew, with the predicate
marked."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors
from ..inference import Potentials
from . import labeler
from .labeler import assemble, build_sequence_labeler
from .srl import Proposition, divided, labeled_propositions
from .types import DecoderBuilder, EncoderBuilder, RoleLabeler, Tok2Vec, check_windows

# Tokens read at once in prediction: a transformer pads all of them to the longest sentence.
MAX_POSITIONS = 1 << 12
# Before and after the predicate
N_MARKERS = 2

Inputs = tuple[list[Doc], list[list[int]]]
Found = tuple[Doc, Proposition]


def build_marked_role_labeler(
    tok2vec: Tok2Vec,
    encoder: EncoderBuilder | None,
    decoder: DecoderBuilder,
    marker: str = "*",
    max_length: int = 512,
    overlap: int = 64,
    mixed_precision: str | None = None,
    cuda_graphs: bool = False,
    nO: int | None = None,
) -> RoleLabeler:
    """Build a semantic role labeling model in which the embedding of tokens knows the predicate.

    Each predicate gets a copy of its sentence in which it stands between two markers, as in 'Mary *
    borrowed * a book', and the copies are labeled like sentences; the markers get no label. So each
    layer of a pretrained transformer reads the sentence for this predicate, while with
    `build_role_labeler` it reads it once for all of them. This takes as many times as long as there
    are predicates. Propositions are those of `build_role_labeler`.

    tok2vec (Tok2Vec): Embeds tokens, e.g. `spacy-transformers.Tok2VecTransformer.v3`. It reads the
        words of the copies, which have no other annotation. It cannot be a listener.
    encoder (Optional[EncoderBuilder]): Contextualizes tokens; None if `tok2vec` does so.
    decoder (DecoderBuilder): Scores labels, `spacy_psa.Softmax.v1` or `spacy_psa.CRF.v1`.
    marker (str): The word before and after the predicate: one that the transformer knows as a
        whole, and that is rare in texts.
    max_length (int): Maximum number of tokens that are labeled for a predicate.
    overlap (int): Minimum number of tokens that neighboring windows share.
    mixed_precision (Optional[str]): See `build_sequence_labeler`; for the encoder, not for a
        transformer, which has a setting of its own.
    cuda_graphs (bool): See `build_sequence_labeler`.
    nO (Optional[int]): Number of labels; set at initialization.
    RETURNS (RoleLabeler): The model, from Docs and predicates to potentials.
    RAISES (ValueError): If a value is out of range.

    Source: the predicate indicator of Tan et al. (2018), 'Pipeline', as a part of the text, as in
    Shi and Lin (2019), 'Simple BERT models for relation extraction and semantic role labeling'.
    """
    check_windows(max_length, overlap)
    if not marker or marker.split() != [marker]:
        raise ValueError(Errors.P258.format(marker=marker))
    network = build_sequence_labeler(
        tok2vec, encoder, decoder, max_length, overlap, mixed_precision, cuda_graphs, nO
    ).get_ref("network")
    attrs = {
        "max_length": max_length,
        "overlap": overlap,
        "marker": marker,
        "n_markers": N_MARKERS,
        "max_positions": MAX_POSITIONS,
        "in_parts": _in_parts,
    }
    return assemble("marked_role_labeler", forward, tok2vec, network, attrs, initialize=init)


def init(model: Model, X: list[Doc] | None = None, Y: Any = None) -> Model:
    """Initialize the model; `nO` must be set. See `labeler.init`."""
    if any(hasattr(node, "upstream_name") for node in model.layers[0].walk()):
        raise ValueError(Errors.P249)
    return labeler.init(model, X, Y)


def forward(
    model: Model, inputs: Inputs, is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    """Score the label sequences of predicates, one chain per predicate, in order."""
    return _score(model, _propositions(model, inputs), is_train)


def _score(
    model: Model, found: Sequence[Found], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    copies, is_token = _copies(found, model.attrs["marker"])
    if not copies:
        return Potentials(torch.zeros(0, model.get_dim("nO")), ()), lambda _: []
    marked, backprop_labeler = labeler.forward(model, copies, is_train)
    kept = torch.from_numpy(is_token.nonzero()[0]).to(marked.device)
    lengths = [length - N_MARKERS for length in marked.lengths]
    tensors = marked.tensors()
    per_token = {name: tensors.pop(name) for name in ("emissions", "pairwise") if name in tensors}
    without = {name: scores.index_select(0, kept) for name, scores in per_token.items()}

    def backprop(d_potentials: Potentials) -> list[Doc]:
        gradients = d_potentials.tensors()
        for name in without:
            rows = gradients[name]
            zeros = rows.new_zeros(len(is_token), *rows.shape[1:])
            gradients[name] = zeros.index_copy_(0, kept, rows)
        return backprop_labeler(Potentials(lengths=marked.lengths, **gradients))

    return Potentials(lengths=lengths, **without, **tensors), backprop


def _in_parts(
    model: RoleLabeler, docs: list[Doc], predicates: list[list[int]], max_positions: int
) -> Iterator[Potentials]:
    found = _propositions(model, (docs, predicates))
    lengths = [place.end - place.start for _, place in found]
    for part in divided(lengths, min(max_positions, model.attrs["max_positions"])):
        yield _score(model, found[part], False)[0]


def _propositions(model: RoleLabeler, inputs: Inputs) -> list[Found]:
    return [
        (doc, place)
        for doc, predicates in zip(*inputs, strict=True)
        for place in labeled_propositions(model, doc, predicates)
    ]


def _copies(found: Sequence[Found], marker: str) -> tuple[list[Doc], NDArray[np.bool_]]:
    """The marked copies, and for each of their tokens whether it is one of its sentence."""
    copies, is_token = list[Doc](), list[bool]()
    for doc, (predicate, start, end) in found:
        tokens = list(doc[start:end])
        before = predicate - start
        after = before + N_MARKERS
        words = [token.text for token in tokens]
        spaces = [bool(token.whitespace_) for token in tokens]
        real = [True] * len(tokens)
        for place in (before, after):
            words.insert(place, marker)
            spaces.insert(place, True)
            real.insert(place, False)
            # What precedes the marker must not become one word with it
            spaces[max(0, place - 1)] = True
        copies.append(Doc(doc.vocab, words=words, spaces=spaces))
        is_token += real
    return copies, np.array(is_token, dtype=np.bool_)
