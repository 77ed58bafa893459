"""Hypothesis strategies for arbitrary documents, labels, configs and scores.

Documents are drawn as `Words`, from which a Doc with any vocabulary can be built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.inference import Potentials

# For tests that build, use and save pipelines, which takes 100 ms
few_examples = settings(max_examples=max(10, settings.default.max_examples // 20))

# Surrogates are not characters: neither UTF-8 nor spaCy can represent a lone one.
CHARACTERS = st.characters(exclude_categories=["Cs"])
ODD_WORDS = (
    " ",
    "\n",
    "\t\t",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\u0000",
    "\u202e",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "\u0301",
    "Z\u0351\u036b\u0343\u036a",
    "\u0130",
    "\u0645\u0631\u062d\u0628\u0627",
    "\u05e9\u05dc\u05d5\u05dd",
    "\ud55c",
    "\uffff",
    "\U0010ffff",
    "a" * 10_000,
    "\u0301" * 2_000,
    "-",
    "B-PER",
)
PLAIN_WORDS = ("Ann", "saw", "Berlin", ".", "new", "NEW", "1984")
WORD = st.one_of(
    st.sampled_from(PLAIN_WORDS),
    st.sampled_from(ODD_WORDS),
    st.text(CHARACTERS, min_size=1, max_size=6),
)


@dataclass(frozen=True)
class Words:
    """The contents of a document.

    words (Tuple[str, ...]): Its tokens.
    spaces (Tuple[bool, ...]): Whether each token is followed by a space.
    starts (Optional[Tuple[Optional[bool], ...]]): Whether each token starts a sentence, or None if
        unknown; None if there are no sentence boundaries.
    """

    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    starts: tuple[bool | None, ...] | None

    def doc(self, vocab: Vocab) -> Doc:
        """Build the document."""
        starts = None if self.starts is None else list(self.starts)
        return Doc(vocab, words=list(self.words), spaces=list(self.spaces), sent_starts=starts)


@st.composite
def documents(draw: st.DrawFn, max_size: int = 6) -> Words:
    """Documents: empty, of one token, of a few, and sometimes up to twenty times as long."""
    words = draw(st.lists(WORD, max_size=max_size))
    if words and draw(st.integers(0, 19)) == 19:
        words = words * draw(st.integers(2, 20))
    n = len(words)
    bits = draw(st.integers(0, 2**n - 1)) if n < 16 else draw(st.integers(0, 2**16)) * 7919
    spaces = tuple(bool(bits >> i & 1) for i in range(n))
    starts = None
    if draw(st.booleans()):
        kinds = draw(st.lists(st.sampled_from((False, True, None)), min_size=1, max_size=8))
        starts = tuple(kinds[i % len(kinds)] for i in range(n))
    return Words(tuple(words), spaces, starts)


batches = st.lists(documents(), min_size=2, max_size=3)

# Including the separators of label sets, of morphological features and of tag prefixes
ODD_LABELS = ("O", "-", "--", "B-PER", "I-", "_", "|", "\u0301", "\u202e", "\U0001f600", "a b")
LABEL = st.one_of(
    st.sampled_from(("PER", "LOC", "per")),
    st.sampled_from(ODD_LABELS),
    st.text(CHARACTERS, min_size=1, max_size=5),
)


def labels(max_size: int = 6) -> st.SearchStrategy[list[str]]:
    """Lists of distinct labels: one, several, or many."""
    many = st.integers(7, 40).map(lambda n: [f"L{i}" for i in range(n)])
    few = st.lists(LABEL, min_size=1, max_size=max_size, unique=True)
    return st.one_of(few, few, few, many)


# Each field is filled from a handful of numbers, so that ties, rows of -inf and gaps of all sizes
# are frequent.
EXTREMES = {
    torch.float64: (1e-310, 1e16, -1e17, 1e30, -1e30, 1e300, -1e300),
    torch.float32: (1e-45, 1e16, -1e17, 1e30, -1e30, 3e38, -3e38),
    torch.bfloat16: (1e-40, 1e30, -1e30),
    torch.float16: (6e-8, 6e4, -6e4),
}
GAPS = (0.0, 1.0, -1.0, 100.0, -230.0, 250.0, -310.0, 710.0, -800.0, 1e4, -6e4)
FIELDS = ("transitions", "start", "end", "pairwise")


@st.composite
def potentials(draw: st.DrawFn, *, impossible: bool = True, max_tokens: int = 7) -> Potentials:
    """Potentials with scores of any size."""
    dtype = draw(st.sampled_from(sorted(EXTREMES, key=str)))
    n_labels = draw(st.integers(1, 4))
    lengths = tuple(draw(st.lists(st.integers(0, max_tokens), min_size=1, max_size=3)))
    scores = st.one_of(
        st.floats(-5.0, 5.0), st.sampled_from(GAPS), st.sampled_from(EXTREMES[dtype])
    )
    if impossible:
        scores = st.one_of(scores, st.just(-np.inf))
    palette = draw(st.lists(scores, min_size=1, max_size=5))
    fields = draw(st.sets(st.sampled_from(FIELDS)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def fill(*shape: int) -> torch.Tensor:
        return torch.from_numpy(generator.choice(palette, size=shape)).to(dtype)

    n_tokens = sum(lengths)
    shapes: dict[str, Any] = {
        "transitions": (n_labels, n_labels),
        "start": (n_labels,),
        "end": (n_labels,),
        "pairwise": (n_tokens, n_labels, n_labels),
    }
    others = {name: fill(*shapes[name]) for name in FIELDS if name in fields}
    return Potentials(fill(n_tokens, n_labels), lengths, **others)


# Model configs. Widths are tiny, and dropout is off where predictions are compared.


# The names of all blocks that are drawn
BLOCKS: set[str] = set()


def block(name: str, **settings: st.SearchStrategy[Any] | Any) -> st.SearchStrategy[dict[str, Any]]:
    """The config section of one of our blocks, with drawn or fixed settings."""
    BLOCKS.add(name)
    given = {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for key, value in settings.items()
    }
    return st.fixed_dictionaries({"@architectures": st.just(f"spacy_psa.{name}.v1"), **given})


def named(*sections: st.SearchStrategy[dict[str, Any]], most: int) -> st.SearchStrategy[Any]:
    """Several sections, in the form of a config, for a block that takes any number of them."""
    some = st.lists(st.one_of(*sections), min_size=1, max_size=most)
    return some.map(lambda found: {f"n{i}": section for i, section in enumerate(found)})


def perhaps(section: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), section)


switch = st.booleans()
NO_DROPOUT = {"input_dropout": 0.0, "output_dropout": 0.0}
distance = st.integers(1, 4)
window = st.sampled_from((0.1, 1, 3.5, 10))
simple_biases = (
    block("GaussianBias", window=window),
    block("TokenPositionBias", max_distance=distance),
    block("TokenOffsetBias", max_distance=distance),
)
biases = st.one_of(
    block(
        "PSABias",
        window=window,
        max_distance=distance,
        self_mask=switch,
        gaussian=switch,
        token_position=switch,
    ),
    block("BiasMixture", **{"*": named(*simple_biases, most=3)}, self_mask=switch),
    *simple_biases,
)
gates = st.one_of(block("FeatureGate"), block("ScalarGate"))
fusions = block("ContextFusion", bias=perhaps(biases), gate=gates, dropout=0.0)
position_encodings = st.one_of(
    block("SinusoidalPositions"), block("PositionEmbedding", max_length=st.integers(1, 6))
)


def bilstms(widths: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, Any]]:
    return block("BiLSTM", hidden_width=widths, depth=st.integers(1, 2), **NO_DROPOUT)


bilstm = bilstms(st.integers(2, 7))
psa = block(
    "PSAEncoder", first_fusion=perhaps(fusions), recurrent=bilstm, second_fusion=perhaps(fusions)
)
transformers = block(
    "Vaswani",
    positions=perhaps(position_encodings),
    bias=perhaps(biases),
    width=st.sampled_from((6, 12)),
    depth=st.integers(1, 2),
    n_heads=st.integers(1, 3),
    key_width=st.sampled_from((None, 1, 4)),
    hidden_width=st.integers(1, 5),
    share_bias=switch,
    dropout=0.0,
    pre_norm=switch,
)
sublayers = st.one_of(
    block("FeedForwardSublayer", hidden_width=st.integers(1, 5), dropout=0.0),
    block("RecurrentSublayer"),
    block("ConvolutionSublayer", kernel_size=st.sampled_from((1, 3, 5))),
)
deepatts = block(
    "DeepAtt",
    sublayer=perhaps(sublayers),
    positions=perhaps(position_encodings),
    width=st.sampled_from((6, 12)),
    depth=st.integers(1, 2),
    n_heads=st.integers(1, 3),
    residual_dropout=0.0,
    attention_dropout=0.0,
    scale_input=switch,
)
projections = st.one_of(
    block("LinearProjection", bias=switch), block("ReLUProjection", bias=switch)
)
label_sets = st.one_of(
    block(
        "LabelSet",
        tie_embeddings=switch,
        tie_transitions=switch,
        deviation=st.sampled_from((None, 1.0)),
    ),
    block("LabelSet", tie_embeddings=False, tie_transitions=False, n_latent=st.integers(1, 4)),
)
refinements = block(
    "LabelRefinement",
    recurrent=bilstms(st.just(6)),
    refine=st.one_of(
        block("LabelAttention", projection=projections, heads=st.integers(1, 3), dropout=0.0),
        block("LabelMarginals"),
    ),
    connection=st.one_of(block("Concatenation", residual=switch), block("ResidualNorm")),
    labels=label_sets,
    depth=st.integers(1, 3),
    input_dropout=0.0,
)
layers = (bilstm, fusions, psa, transformers, deepatts, refinements)
encoders = st.one_of(*layers, block("Chain", **{"*": named(*layers, position_encodings, most=3)}))
decoders = st.one_of(
    block("CRF"),
    block("PairwiseCRF"),
    block("Softmax"),
    block("LabelAttentionDecoder", projection=perhaps(projections), scaled=switch),
    block("LabelCRF"),
)
character_layers = st.one_of(
    block("CharacterBiLSTM", embedding_width=st.integers(1, 3), width=st.integers(2, 5)),
    block(
        "CharacterCNN",
        embedding_width=st.integers(1, 3),
        width=st.integers(1, 4),
        window=st.integers(1, 4),
        dropout=0.0,
    ),
)
embeddings = block(
    "WordCharEmbed",
    characters=perhaps(character_layers),
    width=st.integers(1, 5),
    attr=st.sampled_from(("NORM", "ORTH", "LOWER")),
    min_freq=st.integers(1, 3),
    max_characters=st.integers(1, 8),
    digits=switch,
)
tok2vecs = st.one_of(embeddings, block("ConcatTok2Vec", **{"*": named(embeddings, most=2)}))


@st.composite
def models(draw: st.DrawFn, name: str = "SequenceLabeler", **settings: Any) -> dict[str, Any]:
    """Any model of `psa_tagger`, or of another name with the same parts, with any window size."""
    max_length = draw(st.sampled_from((1, 2, 5, 64)))
    parts = block(
        name,
        tok2vec=tok2vecs,
        encoder=encoders,
        decoder=decoders,
        max_length=max_length,
        overlap=st.integers(0, max_length - 1),
        **settings,
    )
    return draw(parts)


def role_models() -> st.SearchStrategy[dict[str, Any]]:
    """Any model of `psa_srl`, with any window size."""
    return st.one_of(
        models("RoleLabeler", mask_width=st.integers(1, 4)),
        models("MarkedRoleLabeler", marker=st.sampled_from(("*", "a", "\u0301"))),
    )


UNIVERSAL = ("ADJ", "NOUN", "VERB", "SPACE", "X")
FEATURES = ("_", "Case=Nom", "Case=Nom|Number=Sing", "A=1,2", "\u00c4=\u00df")


@st.composite
def tasks(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A target, with valid labels."""
    target = draw(st.sampled_from(("tag", "pos", "morph", "ents", "spans")))
    if target in ("pos", "morph"):
        names = st.sampled_from(UNIVERSAL if target == "pos" else FEATURES)
        return target, draw(st.lists(names, min_size=1, unique=True))
    found = draw(labels())
    # For spans, it marks the tokens outside
    return target, [name for name in found if name != "O"] or ["PER"] if target != "tag" else found
