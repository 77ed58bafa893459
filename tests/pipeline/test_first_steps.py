"""The first steps of a new user: `nlp.add_pipe`, two sentences, 60 updates, and it has learned."""

from __future__ import annotations

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_psa.annotation.propositions import set_frames
from spacy_psa.pipeline.srl.predicates import set_predicates

from .conftest import KINDS, train
from .srl_data import FRAMES, WORDS

UPDATES = 60
TARGETS = {
    "tag": "tag_acc",
    "pos": "pos_acc",
    "morph": "morph_acc",
    "ents": "ents_f",
    "spans": "spans_sc_f",
}


def two_sentences(nlp: Language) -> list[Example]:
    """Two sentences with the annotation of all targets."""
    first = Doc(
        nlp.vocab,
        words=["Alice", "lives", "in", "Paris", "."],
        tags=["NNP", "VBZ", "IN", "NNP", "."],
        pos=["PROPN", "VERB", "ADP", "PROPN", "PUNCT"],
        morphs=["Number=Sing", "Tense=Pres", "", "Number=Sing", ""],
        ents=["B-PERSON", "O", "O", "B-GPE", "O"],
    )
    second = Doc(
        nlp.vocab,
        words=["Bob", "sold", "two", "old", "cars", "to", "Siemens", "."],
        tags=["NNP", "VBD", "CD", "JJ", "NNS", "IN", "NNP", "."],
        pos=["PROPN", "VERB", "NUM", "ADJ", "NOUN", "ADP", "PROPN", "PUNCT"],
        morphs=["Number=Sing", "Tense=Past", "", "", "Number=Plur", "", "Number=Sing", ""],
        ents=["B-PERSON", "O", "O", "O", "O", "O", "B-ORG", "O"],
    )
    first.spans["sc"] = [Span(first, 0, 1, "NP"), Span(first, 2, 4, "PP")]
    second.spans["sc"] = [Span(second, *place) for place in ((0, 1, "NP"), (2, 5, "NP"))]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in (first, second)]


def two_propositions(nlp: Language) -> list[Example]:
    """Two sentences with semantic roles."""
    examples = []
    for words, frames in ((WORDS[0], FRAMES[0]), (WORDS[3], FRAMES[3])):
        given, gold = (Doc(nlp.vocab, words=words) for _ in range(2))
        set_predicates(given, [frame.predicate for frame in frames])
        set_frames(gold, frames)
        examples.append(Example(given, gold))
    return examples


@pytest.mark.parametrize("target", KINDS)
def test_two_sentences_are_learned_in_sixty_updates(target: str) -> None:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_tagger", config={"target": target})
    examples = two_sentences(nlp)
    optimizer = nlp.initialize(lambda: examples)

    def knows() -> bool:
        return nlp.evaluate(examples)[TARGETS[target]] == 1.0

    train(nlp, examples, steps=UPDATES, sgd=optimizer, until=knows)
    assert knows()


def test_the_roles_of_two_sentences_are_learned_in_sixty_updates() -> None:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_srl")
    examples = two_propositions(nlp)
    optimizer = nlp.initialize(lambda: examples)
    for i in range(1, UPDATES + 1):
        nlp.update(examples, sgd=optimizer)
        if i % 10 == 0 and nlp.evaluate(two_propositions(nlp))["srl_f"] == 1.0:
            break
    else:
        pytest.fail("not learned")
