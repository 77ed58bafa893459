"""A tiny `psa_srl`, and sentences that it memorizes."""

from __future__ import annotations

from functools import cache
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_psa.annotation.propositions import Frame, set_frames
from spacy_psa.pipeline.srl import PSASemanticRoles
from spacy_psa.pipeline.srl.predicates import set_predicates

from .conftest import make_adam

NAME = "psa_srl"
WORDS = (
    ["Mary", "borrowed", "a", "book", "from", "John", "last", "week", "."],
    ["He", "said", "that", "the", "man", "who", "left", "sold", "cars", "."],
    ["Rain", "."],
    ["Prices", ",", "he", "says", ",", "will", "rise", "."],
)
FRAMES = (
    [
        Frame(
            1,
            "borrow",
            "01",
            [(0, 1, "A0"), (1, 2, "V"), (2, 4, "A1"), (4, 6, "A2"), (6, 8, "AM-TMP")],
        )
    ],
    [
        Frame(1, "say", "01", [(0, 1, "A0"), (1, 2, "V"), (2, 9, "A1")]),
        Frame(6, "leave", "01", [(3, 5, "A0"), (5, 6, "R-A0"), (6, 7, "V")]),
        Frame(7, "sell", "01", [(3, 7, "A0"), (7, 8, "V"), (8, 9, "A1")]),
    ],
    [],
    [
        Frame(3, "say", "01", [(0, 1, "A1"), (2, 3, "A0"), (3, 4, "V"), (5, 7, "C-A1")]),
        Frame(6, "rise", "01", [(0, 1, "A1"), (5, 6, "AM-MOD"), (6, 7, "V")]),
    ],
)
LABELS = ("A0", "A1", "A2", "AM-MOD", "AM-TMP", "C-A1", "R-A0", "V")
SUBLAYERS: dict[str, dict[str, Any]] = {
    "FFN": {"@architectures": "spacy_psa.FeedForwardSublayer.v1", "hidden_width": 32, "dropout": 0},
    "RNN": {"@architectures": "spacy_psa.RecurrentSublayer.v1"},
    "CNN": {"@architectures": "spacy_psa.ConvolutionSublayer.v1"},
}


def deepatt(sublayer: str = "FFN") -> dict[str, Any]:
    """The default encoder, tiny and without dropout."""
    return {
        "@architectures": "spacy_psa.DeepAtt.v1",
        "sublayer": SUBLAYERS[sublayer],
        "positions": {"@architectures": "spacy_psa.SinusoidalPositions.v1"},
        "width": 16,
        "depth": 2,
        "n_heads": 4,
        "residual_dropout": 0.0,
        "attention_dropout": 0.0,
        "input_dropout": 0.0,
        "scale_input": False,
    }


def tiny_model(**settings: Any) -> dict[str, Any]:
    """The default model, tiny and without dropout."""
    return {
        "@architectures": "spacy_psa.RoleLabeler.v1",
        "mask_width": 8,
        "tok2vec": {
            "@architectures": "spacy_psa.WordCharEmbed.v1",
            "characters": None,
            "width": 8,
            "min_freq": 1,
        },
        "encoder": deepatt(),
        "decoder": {"@architectures": "spacy_psa.Softmax.v1"},
        **settings,
    }


def make_nlp(model: dict[str, Any] | None = None, **config: Any) -> Language:
    """A pipeline with a tiny, uninitialized component."""
    nlp = spacy.blank("xx")
    config = {"label_smoothing": 0.0, **config}
    nlp.add_pipe(NAME, config={"model": model or tiny_model(), **config})
    return nlp


def srl_of(nlp: Language) -> PSASemanticRoles:
    """The component."""
    pipe = nlp.get_pipe(NAME)
    assert isinstance(pipe, PSASemanticRoles)
    return pipe


def gold_doc(nlp: Language, i: int) -> Doc:
    """The i-th sentence with its frames."""
    doc = Doc(nlp.vocab, words=WORDS[i])
    set_frames(doc, FRAMES[i])
    return doc


def given_doc(nlp: Language, i: int) -> Doc:
    """The i-th sentence with its predicates only."""
    doc = Doc(nlp.vocab, words=WORDS[i])
    set_predicates(doc, [frame.predicate for frame in FRAMES[i]])
    return doc


def make_examples(nlp: Language) -> list[Example]:
    """All sentences, with given predicates."""
    return [Example(given_doc(nlp, i), gold_doc(nlp, i)) for i in range(len(WORDS))]


def initialized_nlp(model: dict[str, Any] | None = None, **config: Any) -> Language:
    """A pipeline initialized from the examples."""
    nlp = make_nlp(model, **config)
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def train(nlp: Language, examples: list[Example] | None = None, steps: int = 60) -> float:
    """Train, and return the last loss."""
    examples = make_examples(nlp) if examples is None else examples
    optimizer = make_adam(0.01)
    losses: dict[str, float] = {}
    for _ in range(steps):
        losses = nlp.update(examples, sgd=optimizer)
    return losses[NAME]


@cache
def _trained() -> bytes:
    nlp = initialized_nlp()
    assert train(nlp, steps=100) < 0.05
    return nlp.to_bytes()


def trained_nlp(**config: Any) -> Language:
    """A pipeline that has memorized the examples; each call returns a new one."""
    return make_nlp(**config).from_bytes(_trained())


def arguments(doc: Doc) -> list[tuple[int, list[tuple[int, int, str]]]]:
    """The predicates of a Doc with their arguments."""
    return [
        (f.predicate.i, [(span.start, span.end, span.label_) for span in f.spans])
        for f in doc._.frames
    ]


def expected(i: int) -> list[tuple[int, list[tuple[int, int, str]]]]:
    """The same for the gold standard."""
    return [(frame.predicate, frame.arguments) for frame in FRAMES[i]]
