"""`psa_tok2vec`: an embedding that several components share."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_psa.models.word_shim import WordCharacterShim
from spacy_psa.pipeline.shared_embedding import PSATok2Vec
from spacy_psa.pipeline.vocabulary import trained_words
from spacy_psa.private_names import network_of

from .conftest import HASH, NAME, WORDS, make_adam, make_docs, make_examples, tiny_model

SHARED = "psa_tok2vec"
EMBEDDING = tiny_model()["tok2vec"]


def make_nlp(width: int = 108, **settings: Any) -> Language:
    """A pipeline of two components on one embedding, which is not initialized."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(SHARED, config={"model": EMBEDDING, **settings})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": width, "upstream": SHARED}
    for target in ("tag", "ents"):
        model = tiny_model(tok2vec=listener)
        nlp.add_pipe(NAME, target, config={"model": model, "target": target})
    return nlp


def initialized_nlp(**settings: Any) -> Language:
    nlp = make_nlp(**settings)
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def shim_of(nlp: Language) -> WordCharacterShim:
    (shim,) = nlp.get_pipe(SHARED).model.shims
    return shim


def vectors(nlp: Language) -> np.ndarray:
    return np.vstack([doc.tensor for doc in nlp.pipe(make_docs(nlp))])


def test_components_learn_on_a_shared_embedding() -> None:
    nlp = initialized_nlp()
    optimizer, examples = make_adam(), make_examples(nlp)
    before = nlp.get_pipe(SHARED).model.to_bytes()
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    scores = nlp.evaluate(examples)
    assert (scores["tag_acc"], scores["ents_f"]) == (1.0, 1.0)
    assert nlp.get_pipe(SHARED).model.to_bytes() != before


def test_the_words_are_those_of_all_training_data() -> None:
    nlp = make_nlp()
    words = [f"w{i}" for i in range(30)]

    def examples() -> list[Example]:
        docs = [Doc(nlp.vocab, words=[word] * 2, tags=["A"] * 2) for word in words]
        for doc in docs:
            doc.set_ents([], default="outside")
        more = make_examples(nlp)
        return [*(Example(Doc(nlp.vocab, words=[d[0].text] * 2), d) for d in docs), *more]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(examples)
    assert {*words} <= {*shim_of(nlp).cfg["words"]}


def test_its_words_are_those_of_its_listeners(tmp_path: Path) -> None:
    initialized_nlp().to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    assert trained_words(nlp.get_pipe("ents")) is None
    knows = trained_words(nlp.get_pipe("ents"), nlp)
    assert knows is not None
    assert [knows(word) for word in ("Ann", "Zoe")] == [True, False]


def test_words_from_a_file_of_counts() -> None:
    nlp = make_nlp()
    words = {word: 2 for words in WORDS for word in words}
    nlp.config["initialize"]["components"][SHARED] = {"vocabulary": {**words, "rare": 3}}
    nlp.initialize(lambda: make_examples(nlp))
    assert "rare" in shim_of(nlp).cfg["words"]


def test_no_training_examples_are_one_error() -> None:
    with pytest.raises(ValueError, match=r"P306.*'psa_tok2vec'"):
        make_nlp().initialize(list)


def test_a_listener_of_another_width_is_one_error() -> None:
    nlp = make_nlp(width=99)
    with pytest.raises(ValueError, match=r"P539.*'tag' listens to 'psa_tok2vec'.*99.*to 108"):
        nlp.initialize(lambda: make_examples(nlp))


@pytest.mark.parametrize("between", ["psa_tok2vec", "tok2vec"])
def test_another_embedding_in_between_is_a_warning(between: str) -> None:
    nlp = make_nlp()
    model = EMBEDDING if between == SHARED else HASH
    nlp.add_pipe(between, "other", config={"model": model}, before="ents")
    with pytest.warns(UserWarning, match=r"W448.*'ents' listens to 'psa_tok2vec'.*'other'") as all_:
        nlp.initialize(lambda: make_examples(nlp))
    assert not [w for w in all_ if "W448" in str(w.message) and "'tag' listens" in str(w.message)]


def test_embeddings_right_before_their_components_give_no_warning() -> None:
    nlp = make_nlp()
    nlp.add_pipe(SHARED, "other", config={"model": EMBEDDING})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 108, "upstream": "other"}
    nlp.add_pipe(NAME, "pos", config={"model": tiny_model(tok2vec=listener), "target": "pos"})
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*W448")
        nlp.initialize(lambda: make_examples(nlp))


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    nlp = initialized_nlp()
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    np.testing.assert_array_equal(vectors(loaded), vectors(nlp))
    other = make_nlp().from_bytes(nlp.to_bytes())
    np.testing.assert_array_equal(vectors(other), vectors(nlp))


def test_parts_can_be_left_out(tmp_path: Path) -> None:
    pipe, other = initialized_nlp().get_pipe(SHARED), initialized_nlp().get_pipe(SHARED)
    before = other.model.to_bytes()
    pipe.to_disk(tmp_path / "pipe")
    other.from_disk(tmp_path / "pipe", exclude=["model", "vocab"])
    other.from_bytes(pipe.to_bytes(), exclude=["model", "vocab"])
    other.from_bytes(pipe.to_bytes(exclude=["model"]))
    assert other.model.to_bytes() == before


def test_a_damaged_embedding_is_refused(tmp_path: Path) -> None:
    nlp = initialized_nlp()
    nlp.to_disk(tmp_path)
    path = tmp_path / SHARED / "model"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"P314.*'model' is damaged"):
        spacy.load(tmp_path)
    pipe = nlp.get_pipe(SHARED)
    whole = pipe.to_bytes()
    at = whole.index(pipe.model.to_bytes()[-100:]) + 50
    damaged = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    with pytest.raises(ValueError, match="P314"):
        pipe.from_bytes(damaged)


def test_an_embedding_of_another_config_is_refused(tmp_path: Path) -> None:
    initialized_nlp().to_disk(tmp_path)
    narrow = {**EMBEDDING, "width": 50}
    with pytest.raises(ValueError, match=r"P20[23]"):
        spacy.load(tmp_path, config={"components": {SHARED: {"model": narrow}}})


def test_a_refused_embedding_leaves_all_parts_as_they_were(tmp_path: Path) -> None:
    def create(embedding_width: int) -> PSATok2Vec:
        nlp = spacy.blank("xx")
        characters = {**EMBEDDING["characters"], "embedding_width": embedding_width}
        parts = {"words": EMBEDDING, "others": {**EMBEDDING, "characters": characters}}
        model = {"@architectures": "spacy_psa.ConcatTok2Vec.v1", "*": parts}
        pipe = nlp.add_pipe(SHARED, config={"model": model})
        nlp.initialize(lambda: make_examples(nlp)[:embedding_width])
        return pipe

    pipe, other = create(2), create(3)
    other.to_disk(tmp_path / SHARED)
    before = pipe.model.to_bytes()
    with pytest.raises(ValueError, match=r"P311.*'psa_tok2vec'.*P203"):
        pipe.from_bytes(other.to_bytes())
    with pytest.raises(ValueError, match=rf"P311.*'psa_tok2vec'.*{SHARED}.*P203"):
        pipe.from_disk(tmp_path / SHARED)
    assert pipe.model.to_bytes() == before


def test_it_computes_with_as_many_threads_as_is_set() -> None:
    nlp, seen = initialized_nlp(threads=1), []
    network_of(shim_of(nlp)).register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        pipe = nlp.get_pipe(SHARED)
        pipe.predict(make_docs(nlp))
        pipe.update(make_examples(nlp))
        assert seen == [1, 1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_component_takes_its_copy_along() -> None:
    nlp = initialized_nlp()
    before = [doc.to_json() for doc in nlp.pipe(make_docs(nlp))]
    for name in ("tag", "ents"):
        nlp.replace_listeners(SHARED, name, ["model.tok2vec"])
    nlp.remove_pipe(SHARED)
    assert [doc.to_json() for doc in nlp.pipe(make_docs(nlp))] == before
