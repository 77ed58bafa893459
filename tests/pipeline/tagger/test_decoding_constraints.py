"""`constrain_decoding`: valid BIOES alone, or the best of all tag sequences, repaired."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import spacy
import torch
from spacy.tokens import Doc

from spacy_psa.inference import Potentials

TAGS = ["O", "B-X", "I-X", "E-X", "S-X"]


@pytest.mark.parametrize(
    ("best", "constrained", "spans"),
    [
        (["O", "I-X", "I-X", "O"], True, None),
        (["O", "I-X", "I-X", "O"], False, [(1, 3)]),
        (["B-X", "O", "E-X", "S-X"], False, [(0, 1), (2, 3), (3, 4)]),
    ],
)
def test_the_best_sequence_is_read_as_conlleval_reads_it(
    best: list[str], constrained: bool, spans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = spacy.blank("en")
    config = {"target": "ents", "constrain_decoding": constrained}
    pipe = nlp.add_pipe("psa_tagger", config=config)
    pipe.cfg["labels"] = ["X"]
    assert pipe.tags == TAGS
    scores = torch.zeros(4, 5)
    scores[range(4), [TAGS.index(tag) for tag in best]] = 5.0
    model = SimpleNamespace(
        predict=lambda docs: Potentials(scores, [4]), has_dim=lambda _: True, walk=list
    )
    monkeypatch.setattr(pipe, "model", model)
    doc = Doc(nlp.vocab, words=["a", "b", "c", "d"], sent_starts=[True, False, False, False])
    pipe.set_annotations([doc], pipe.predict([doc]))
    ((labeling, *_),) = pipe.nbest([Doc(nlp.vocab, words=["a", "b", "c", "d"])], 1)
    assert (pipe.constraints is None) is not constrained
    found = [(ent.start, ent.end) for ent in doc.ents]
    assert [(start, end) for start, end, _ in labeling.spans] == found
    assert spans is None or found == spans
