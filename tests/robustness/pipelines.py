"""Tiny pipelines with random weights large enough that predictions vary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import spacy
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Model

from spacy_psa.annotation.targets import make_target
from spacy_psa.annotation.tokens import TokenTarget
from spacy_psa.pipeline.tagger import PSATagger

from .strategies import ODD_WORDS, PLAIN_WORDS

# For networks this small, threads cost more than they gain.
torch.set_num_threads(1)

NAME = "psa_tagger"
TARGETS = ("tag", "pos", "morph", "ents", "spans")
LABELS = {
    "tag": ["A", "B-", "\U0001f600"],
    "pos": ["NOUN", "VERB", "SPACE"],
    "morph": ["_", "Case=Nom", "Case=Nom|Number=Sing"],
    "ents": ["PER", "B-PER"],
    "spans": ["\u0301", "-"],
}


def block(name: str, **settings: Any) -> dict[str, Any]:
    """The config section of one of our blocks."""
    return {"@architectures": f"spacy_psa.{name}.v1", **settings}


def bilstm(width: int = 8, depth: int = 1) -> dict[str, Any]:
    dropout = {"input_dropout": 0.0, "output_dropout": 0.0}
    return block("BiLSTM", hidden_width=width, depth=depth, **dropout)


def fusion() -> dict[str, Any]:
    bias = block("PSABias", window=3, max_distance=3)
    return block("ContextFusion", bias=bias, gate=block("FeatureGate"), dropout=0.0)


def refinement(refine: dict[str, Any], connection: dict[str, Any]) -> dict[str, Any]:
    return block(
        "LabelRefinement",
        depth=2,
        input_dropout=0.0,
        recurrent=bilstm(),
        refine=refine,
        connection=connection,
        labels=block("LabelSet"),
    )


def words(characters: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return block("WordCharEmbed", width=6, min_freq=1, characters=characters, **settings)


BY_LSTM = block("CharacterBiLSTM", embedding_width=3, width=4)
BY_CNN = block("CharacterCNN", embedding_width=3, width=4, dropout=0.0)
HASHED = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": 4,
    "depth": 1,
    "embed_size": 20,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
    "pretrained_vectors": None,
}
LINEAR = block("LinearProjection")
# Embedding, encoder and decoder
SYSTEMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "bilstm-crf": (words(BY_LSTM), bilstm(), block("CRF")),
    "bilstm-softmax": (words(BY_CNN, digits=True), bilstm(), block("Softmax")),
    "bilstm-pairwise": (words(attr="LOWER"), bilstm(), block("PairwiseCRF")),
    "psa": (
        words(BY_LSTM),
        block("PSAEncoder", first_fusion=fusion(), recurrent=bilstm(), second_fusion=fusion()),
        block("CRF"),
    ),
    "lan": (
        words(BY_LSTM, attr="ORTH"),
        refinement(block("LabelAttention", heads=2, projection=LINEAR), block("Concatenation")),
        block("LabelAttentionDecoder", projection=LINEAR),
    ),
    "refinement": (
        words(BY_CNN),
        refinement(block("LabelMarginals"), block("ResidualNorm")),
        block("LabelCRF"),
    ),
    "vaswani": (
        words(BY_LSTM),
        block(
            "Vaswani",
            positions=block("SinusoidalPositions"),
            bias=None,
            width=8,
            depth=2,
            n_heads=2,
            key_width=3,
            hidden_width=8,
            dropout=0.0,
        ),
        block("CRF"),
    ),
    "deepatt": (
        {
            "@architectures": "spacy_psa.ConcatTok2Vec.v1",
            "*": {"words": words(), "hashed": HASHED},
        },
        block(
            "DeepAtt",
            sublayer=block("FeedForwardSublayer", hidden_width=8, dropout=0.0),
            positions=block("PositionEmbedding", max_length=20),
            width=8,
            depth=2,
            n_heads=2,
            residual_dropout=0.0,
            attention_dropout=0.0,
        ),
        block("Softmax"),
    ),
}


# Each system with entities, and each other target with some system
_OTHERS = [target for target in TARGETS if target != "ents"]
CASES = [
    (system, target)
    for i, system in enumerate(SYSTEMS)
    for target in ("ents", _OTHERS[i % len(_OTHERS)])
]
SPAN_CASES = [case for case in CASES if case[1] in ("ents", "spans")]


def labeler(tok2vec: Any, encoder: Any, decoder: Any, **settings: Any) -> dict[str, Any]:
    """A complete model, with windows so short that many documents take several."""
    parts = {"tok2vec": tok2vec, "encoder": encoder, "decoder": decoder}
    return block("SequenceLabeler", **{"max_length": 24, "overlap": 6, **parts, **settings})


def make_nlp(model: dict[str, Any], target: str, **config: Any) -> Language:
    """An uninitialized pipeline."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"model": model, "target": target, "probabilities": True, **config})
    return nlp


def annotate(doc: Doc, target: str, labels: Sequence[str]) -> Doc:
    """Annotate a document, cycling through the labels; spans cover half of its tokens."""
    names = [labels[i % len(labels)] for i in range(len(doc))]
    if target == "ents":
        doc.ents = [Span(doc, i, i + 1, names[i // 2]) for i in range(0, len(doc), 2)]
    elif target == "spans":
        doc.spans["sc"] = [Span(doc, i, i + 1, names[i // 2]) for i in range(0, len(doc), 2)]
    else:
        tokens = make_target(target, spans_key="sc")
        assert isinstance(tokens, TokenTarget)
        for token, name in zip(doc, names, strict=True):
            tokens.write(token, name)
    return doc


def examples(nlp: Language, labels: Sequence[str]) -> list[Example]:
    """Examples with words of all kinds."""
    target = tagger_of(nlp).target.name
    docs = [Doc(nlp.vocab, words=list(some)) for some in (PLAIN_WORDS, ODD_WORDS)]
    return [Example(doc, annotate(doc.copy(), target, labels)) for doc in docs]


def initialize(nlp: Language, labels: Sequence[str], *, seed: int = 0) -> None:
    """Initialize a pipeline with labels, words and random weights."""
    fix_random_seed(seed)
    tagger_of(nlp).initialize(lambda: examples(nlp, labels), nlp=nlp, labels=labels)
    shake(tagger_of(nlp).model, seed)


def shake(model: Model, seed: int) -> None:
    """Enlarge the weights of our networks so that predictions vary."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters_of(model).values():
        parameter.data += 0.4 * torch.randn(parameter.shape, generator=generator)


def initialized(model: dict[str, Any], target: str, labels: Sequence[str]) -> Language:
    """An initialized pipeline."""
    nlp = make_nlp(model, target)
    initialize(nlp, labels)
    return nlp


@cache
def pipeline(system: str, target: str) -> Language:
    """One of the systems. Tests share it and must not change it."""
    return initialized(labeler(*SYSTEMS[system]), target, LABELS[target])


def tagger_of(nlp: Language) -> PSATagger:
    """The component."""
    pipe = nlp.get_pipe(NAME)
    assert isinstance(pipe, PSATagger)
    return pipe


def parameters(nlp: Language) -> dict[str, torch.nn.Parameter]:
    """The parameters of our networks, by name."""
    return parameters_of(tagger_of(nlp).model)


def parameters_of(model: Model) -> dict[str, torch.nn.Parameter]:
    """The same for the model of any component."""
    return {
        f"{i}.{name}": parameter
        for i, node in enumerate(model.walk())
        for shim in node.shims
        if shim._model is not None
        for name, parameter in shim._model.named_parameters()
    }


def weights(nlp: Language) -> dict[str, NDArray]:
    """Copies of all parameters, PyTorch's and thinc's."""
    return weights_of(tagger_of(nlp).model)


def weights_of(model: Model) -> dict[str, NDArray]:
    """The same for the model of any component."""
    found = {name: p.detach().numpy().copy() for name, p in parameters_of(model).items()}
    for i, node in enumerate(model.walk()):
        for name in node.param_names:
            if node.has_param(name):
                found[f"{i}.{name}"] = node.get_param(name).copy()
    return found


def scores(doc: Doc) -> list[float]:
    """All probabilities that the component wrote: tokens first, then spans."""
    spans = [*doc.ents, *(span for group in doc.spans.values() for span in group)]
    found = [owner._.psa_score for owner in (*doc, *spans)]
    return [score for score in found if score is not None]
