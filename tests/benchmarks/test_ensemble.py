"""The score of an ensemble."""

from __future__ import annotations

import spacy
import torch
from spacy.tokens import Doc
from spacy.training import Example

from benchmarks.ensemble import annotate, best_tags, evaluate_ensemble
from spacy_psa.distillation.teachers import Teacher, averaged
from spacy_psa.inference.edge_marginals import START, EdgeMarginals
from spacy_psa.pipeline.teaching import Teaching

from ..pipeline.conftest import trained_nlp

TAGS = ("O", "B-PER", "E-PER")


def said(before: list[int], after: list[int], probabilities: list[float]) -> Teaching:
    token = torch.arange(2).repeat_interleave(2)
    edges = EdgeMarginals(
        token, torch.tensor(before), torch.tensor(after), torch.tensor(probabilities)
    )
    return Teaching(TAGS, (2,), edges)


def test_the_more_probable_tag_of_the_average_wins() -> None:
    sure = said([START, START, 1, 0], [1, 0, 2, 0], [0.9, 0.1, 0.9, 0.1])
    unsure = said([START, START, 1, 0], [1, 0, 2, 0], [0.4, 0.6, 0.4, 0.6])
    assert best_tags(unsure) == ["O", "O"]
    tags = best_tags(averaged([sure, unsure]))
    assert tags == ["B-PER", "E-PER"]
    doc = Doc(spacy.blank("en").vocab, ["Ann", "Lee"])
    annotate(doc, tags, "ents")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Ann Lee", "PER")]


def test_a_pipeline_twice_has_its_own_score() -> None:
    nlp = trained_nlp()
    members = [Teacher(name, nlp, "psa_tagger", "psa_tagger") for name in "ab"]
    found = nlp("Ann saw Berlin .")
    examples = []
    for n_right in (0, 1):
        reference = Doc(nlp.vocab, [token.text for token in found])
        for i, token in enumerate(reference):
            token.tag_ = found[i].tag_ if n_right or i else found[1].tag_
        examples.append(Example(Doc(nlp.vocab, [token.text for token in found]), reference))
    expected = 100 * (2 * len(found) - 1) / (2 * len(found))
    assert abs(evaluate_ensemble(members, examples, "tag") - expected) < 1e-9
