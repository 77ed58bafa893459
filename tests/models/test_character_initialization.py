"""Character embeddings initialized from the vectors of one-character words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import Model

from spacy_psa.models.character_initialization import (
    build_projected_word_vectors,
    project_word_vectors,
)
from spacy_psa.models.lookup import FIRST_CHARACTER
from spacy_psa.models.tok2vec import (
    build_character_bilstm,
    build_character_cnn,
    build_word_char_embed,
    observe,
)
from spacy_psa.models.types import PartBuilder

from ..documentation import BLOCKS, code_blocks
from ..test_readme import complete

WIDTH = 6
CHARACTERS = ["中", "国", "语", "A"]
PARTS = {
    "bilstm": lambda: build_character_bilstm(WIDTH, 8),
    "cnn": lambda: build_character_cnn(WIDTH, 8),
}


def make_vocab(*words: str, width: int = 4) -> Vocab:
    """A vocabulary with random vectors."""
    vocab, rng = Vocab(), np.random.default_rng(0)
    for word in words:
        vocab.set_vector(word, rng.normal(size=width).astype("f"))
    return vocab


def start_of(vocab: Vocab, part: PartBuilder, *, seed: int = 0, initialize: bool = True) -> Model:
    """A word and character embedding at the start of training."""
    model = build_word_char_embed(
        part, min_freq=1, character_initialization=project_word_vectors if initialize else None
    )
    fix_random_seed(seed)
    observe(model, [Doc(vocab, words=["中国", "语", "A"])])
    return model


def embeddings(model: Model) -> dict[str, torch.Tensor]:
    """The embedding of each character."""
    shim = model.shims[0]
    table = shim.network.characters.embedding.weight.detach()
    return dict(zip(shim.cfg["characters"], table[FIRST_CHARACTER:], strict=True))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_only_words_of_one_character_are_projected(part: Callable[[], PartBuilder]) -> None:
    vocab = make_vocab("中", "语", "中国", "a")
    plain, found = (
        embeddings(start_of(vocab, part(), initialize=initialize)) for initialize in (False, True)
    )
    changed = {c for c in CHARACTERS if not torch.equal(plain[c], found[c])}
    # Not 'A': only its lower case has a vector.
    assert changed == {"中", "语"}


@pytest.mark.parametrize("width", [2, 4, 9])
def test_the_projection_is_orthogonal(width: int) -> None:
    vocab = make_vocab(*CHARACTERS)
    found = torch.zeros(len(CHARACTERS), width)
    project_word_vectors(found, CHARACTERS, vocab.vectors)
    vectors = torch.from_numpy(np.stack([vocab.get_vector(c) for c in CHARACTERS]))
    # The projection matrix: there are as many vectors as dimensions, linearly independent.
    matrix = torch.linalg.solve(vectors, found)
    gram = matrix @ matrix.t() if width >= 4 else matrix.t() @ matrix
    torch.testing.assert_close(gram, torch.eye(min(width, 4)), atol=1e-5, rtol=0.0)


def test_the_seed_decides() -> None:
    vocab, part = make_vocab(*CHARACTERS), PARTS["bilstm"]()
    first, again, other = (embeddings(start_of(vocab, part, seed=s))["中"] for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_unknown_characters_and_padding_stay_random() -> None:
    vocab, part = make_vocab(*CHARACTERS), PARTS["bilstm"]()
    tables = [
        start_of(vocab, part, initialize=i).shims[0].network.characters.embedding.weight.detach()
        for i in (False, True)
    ]
    assert torch.equal(tables[0][:FIRST_CHARACTER], tables[1][:FIRST_CHARACTER])


def test_what_was_trained_is_loaded_not_projected_again() -> None:
    vocab = make_vocab(*CHARACTERS)
    model = start_of(vocab, PARTS["cnn"]())
    other = start_of(vocab, PARTS["cnn"](), seed=1).from_bytes(model.to_bytes())
    assert torch.equal(embeddings(other)["中"], embeddings(model)["中"])


def test_every_character_has_a_floret_vector() -> None:
    vectors = Vectors(
        mode="floret",
        shape=(20, 4),
        minn=1,
        maxn=2,
        hash_count=1,
        data=np.ones((20, 4), dtype="f"),
    )
    found = torch.zeros(2, 4)
    project_word_vectors(found, ["x", "y"], vectors)
    assert (found.norm(dim=1) > 0).all()


def test_the_example_of_the_reference(tmp_path: Path) -> None:
    (block,) = [
        block
        for block in code_blocks(BLOCKS / "projected-word-vectors.md", "cfg")
        if "Projected" in block
    ]
    nlp = spacy.blank("zh")
    nlp.vocab.vectors = make_vocab(*CHARACTERS).vectors
    nlp.to_disk(tmp_path)
    config = complete(block)
    config["nlp"]["lang"] = "zh"
    config["initialize"]["vectors"] = str(tmp_path)
    nlp = load_model_from_config(config, auto_fill=True)
    doc = Doc(nlp.vocab, words=["中国", "中", "国"], tags=["NR", "NN", "NN"])
    fix_random_seed(0)
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["中国", "中", "国"]), doc)])
    norm = embeddings(nlp.get_pipe("psa_tagger").model.layers[0])["中"].norm()
    torch.testing.assert_close(norm.item(), float(nlp.vocab["中"].vector_norm))


def test_without_vectors() -> None:
    with pytest.raises(ValueError, match=r"P244.*\[initialize\] vectors"):
        start_of(Vocab(), PARTS["bilstm"]())


def test_vectors_of_longer_words_only() -> None:
    vocab = make_vocab("中国")
    with pytest.warns(UserWarning, match="W240.*4 characters"):
        found = embeddings(start_of(vocab, PARTS["bilstm"]()))
    plain = embeddings(start_of(vocab, PARTS["bilstm"](), initialize=False))
    assert all(torch.equal(found[c], plain[c]) for c in CHARACTERS)


def test_without_characters() -> None:
    with pytest.raises(ValueError, match="P245"):
        build_word_char_embed(None, character_initialization=build_projected_word_vectors())
