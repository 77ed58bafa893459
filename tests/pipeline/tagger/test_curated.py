"""A `psa_tagger` on a transformer of spacy-curated-transformers, with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from packaging.version import Version
from spacy.language import Language
from spacy.util import fix_random_seed

from ..conftest import NAME, WORDS, make_adam, make_docs, make_examples, tagger_of, tiny_model

pytest.importorskip(
    "spacy_curated_transformers",
    reason="spacy-curated-transformers is not installed: see tests/matrix/curated.txt",
)
if Version(np.__version__) >= Version("2.4"):
    pytest.skip("NumPy 2.4 breaks spacy-curated-transformers", allow_module_level=True)

UPSTREAM = "curated_transformer"
OF = "spacy-curated-transformers"


@pytest.fixture(scope="module")
def nlp(tmp_path_factory: pytest.TempPathFactory) -> Language:
    """A pipeline that has memorized its data."""
    letters = sorted({letter for words in WORDS for word in words for letter in word})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    path = tmp_path_factory.mktemp("curated") / "vocab.txt"
    path.write_text("\n".join(pieces), encoding="utf8")
    transformer = {
        "@architectures": f"{OF}.BertTransformer.v1",
        "piece_encoder": {"@architectures": f"{OF}.BertWordpieceEncoder.v1"},
        "with_spans": {"@architectures": f"{OF}.WithStridedSpans.v1"},
        "vocab_size": len(pieces),
        "hidden_width": 16,
        "intermediate_width": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "max_position_embeddings": 128,
        "model_max_length": 128,
        "attention_probs_dropout_prob": 0.0,
        "hidden_dropout_prob": 0.0,
    }
    listener = {
        "@architectures": f"{OF}.LastTransformerLayerListener.v1",
        "width": 16,
        "upstream": UPSTREAM,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    nlp = spacy.blank("xx")
    nlp.add_pipe(UPSTREAM, config={"model": transformer})
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=listener), "target": "tag"})
    loader = {"@model_loaders": f"{OF}.WordpieceLoader.v1", "path": str(path)}
    nlp.config["initialize"]["components"][UPSTREAM] = {"piecer_loader": loader}
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    before = embeddings(nlp)
    optimizer, examples = make_adam(0.01), make_examples(nlp)
    for _ in range(60):
        nlp.update(examples, sgd=optimizer)
    # The gradient reaches the transformer
    assert not torch.equal(embeddings(nlp), before)
    return nlp


def embeddings(nlp: Language) -> torch.Tensor:
    """The first parameter of the transformer."""
    shims = [shim for node in nlp.get_pipe(UPSTREAM).model.walk() for shim in node.shims]
    return next(shims[0]._model.parameters()).detach().clone()


def test_it_is_learned_through(nlp: Language) -> None:
    assert nlp.evaluate(make_examples(nlp))["tag_acc"] == 1.0


def test_it_is_saved_and_loaded(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for doc, again in zip(nlp.pipe(make_docs(nlp)), loaded.pipe(make_docs(loaded)), strict=True):
        assert [token.tag_ for token in again] == [token.tag_ for token in doc]
    found = tagger_of(loaded).marginals(list(loaded.pipe(make_docs(loaded))))
    assert all(np.allclose(row.sum(1), 1) for row in found)
