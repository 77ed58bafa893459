"""Documents with predicates, and tiny pipelines that find their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import spacy
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame, set_frames
from spacy_psa.pipeline.srl import PSASemanticRoles
from spacy_psa.pipeline.srl.predicates import PREDICATES_KEY, Predicate, set_predicates

from .pipelines import SYSTEMS, block, shake
from .strategies import ODD_WORDS, PLAIN_WORDS, WORD, Words, documents

NAME = "psa_srl"
# Some labels are a prefix, start with one, or have nothing after one
LABELS = ("A0", "C-A0", "R-A0", "V", "\u0301", "-", "C", "R-", "B-PER", "O")


@dataclass(frozen=True)
class Sentences:
    """The contents of a document with predicates.

    words (Words): Its tokens.
    predicates (Tuple[Predicate, ...]): Its predicates, in any order.
    """

    words: Words
    predicates: tuple[Predicate, ...]

    def doc(self, vocab: Vocab) -> Doc:
        """Build the document. All predicate finders find the same predicates, which are frames,
        spans and verbs at once.
        """
        doc = self.words.doc(vocab)
        for token in doc:
            token.pos_ = "NOUN"
        for token, lemma, _ in self.predicates:
            doc[token].pos_ = "VERB"
            doc[token].lemma_ = lemma or ""
        doc.spans[PREDICATES_KEY] = [
            Span(doc, token, token + 1, sense or "V") for token, _, sense in self.predicates
        ]
        set_predicates(doc, self.predicates)
        return doc


@st.composite
def sentences(draw: st.DrawFn) -> Sentences:
    """Documents with no predicates, with some, or with nothing else."""
    words = draw(documents())
    tokens = range(len(words.words))
    # All tokens of a long document would be slow and test nothing more
    chosen = list(tokens[:12])
    if not draw(st.booleans()):
        some = st.lists(st.sampled_from(tokens), max_size=3, unique=True) if tokens else st.just([])
        chosen = draw(some)
    names = draw(st.lists(st.one_of(st.none(), WORD), min_size=1, max_size=3))
    n = len(names)
    return Sentences(words, tuple(Predicate(i, names[i % n], names[-1 - i % n]) for i in chosen))


# The predicate finder and the decoding of each system
DECODINGS = {
    "greedy": block("GreedyDecoding"),
    "viterbi": block("ViterbiDecoding"),
    # So few steps that the search sometimes gives up
    "constrained": block("ConstrainedDecoding", max_steps=60),
}
FINDERS = ("GivenPredicates", "SpanPredicates", "VerbPredicates")
CASES = {
    "deepatt": ("SpanPredicates", "greedy"),
    "bilstm-crf": ("GivenPredicates", "viterbi"),
    "bilstm-softmax": ("GivenPredicates", "constrained"),
    "bilstm-pairwise": ("VerbPredicates", "constrained"),
    "vaswani": ("VerbPredicates", "greedy"),
    "marked": ("GivenPredicates", "constrained"),
    "ensemble": ("GivenPredicates", "viterbi"),
}


def misc(section: dict[str, Any]) -> dict[str, Any]:
    """Convert a section into one for the `misc` registry."""
    return {"@misc": section["@architectures"], **{k: v for k, v in section.items() if k[0] != "@"}}


def role_labeler(system: str) -> dict[str, Any]:
    """A complete model, with windows so short that many documents take several."""
    if system == "ensemble":
        models = [role_labeler(name) for name in ("deepatt", "bilstm-crf")]
        return block("RoleEnsemble", **{"*": {f"n{i}": model for i, model in enumerate(models)}})
    tok2vec, encoder, decoder = SYSTEMS["bilstm-crf" if system == "marked" else system]
    parts = {"tok2vec": tok2vec, "encoder": encoder, "decoder": decoder}
    if system == "marked":
        return block("MarkedRoleLabeler", max_length=24, overlap=6, **parts)
    return block("RoleLabeler", mask_width=3, max_length=24, overlap=6, **parts)


def make_nlp(
    model: dict[str, Any], finder: str = FINDERS[0], decoding: str = "viterbi"
) -> Language:
    """An uninitialized pipeline."""
    nlp = spacy.blank("xx")
    config = {
        "model": model,
        "predicates": misc(block(finder)),
        "decoding": misc(DECODINGS[decoding]),
        "probabilities": True,
    }
    nlp.add_pipe(NAME, config=config)
    return nlp


def srl_of(nlp: Language) -> PSASemanticRoles:
    """The component."""
    pipe = nlp.get_pipe(NAME)
    assert isinstance(pipe, PSASemanticRoles)
    return pipe


def examples(nlp: Language, labels: Sequence[str]) -> list[Example]:
    """Examples with words of all kinds: the first is a predicate, every other one has a role."""
    found = []
    for words in (PLAIN_WORDS, ODD_WORDS):
        gold = Doc(nlp.vocab, words=list(words))
        roles = [(i, i + 1, labels[i // 2 % len(labels)]) for i in range(0, len(words), 2)]
        set_frames(gold, [Frame(0, None, None, roles)])
        found.append(Example(Doc(nlp.vocab, words=list(words)), gold))
    return found


def initialized(
    model: dict[str, Any],
    labels: Sequence[str],
    finder: str = FINDERS[0],
    decoding: str = "viterbi",
    *,
    seed: int = 0,
) -> Language:
    """A pipeline with labels, words and random weights."""
    nlp = make_nlp(model, finder, decoding)
    fix_random_seed(seed)
    srl_of(nlp).initialize(lambda: examples(nlp, labels), nlp=nlp, labels=labels)
    shake(srl_of(nlp).model, seed)
    return nlp


@cache
def pipeline(system: str) -> Language:
    """One of the systems. Tests share it and must not change it."""
    return initialized(role_labeler(system), LABELS, *CASES[system])


def frames(doc: Doc) -> list[tuple[Any, ...]]:
    """Everything that the component wrote: predicate, lemma, sense and arguments of each frame."""
    return [
        (
            frame.predicate.i,
            frame.lemma,
            frame.sense,
            [(span.start, span.end, span.label_) for span in frame.spans],
        )
        for frame in doc._.frames
    ]


def probabilities(doc: Doc) -> list[float]:
    """The probability of each frame, followed by those of its arguments."""
    return [
        p
        for frame in doc._.frames
        for p in (frame.probability, *frame.group.attrs["probabilities"])
    ]
