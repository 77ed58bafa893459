"""Shared embeddings: spaCy's `tok2vec`, and transformers."""

import warnings
from collections.abc import Callable
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

from spacy_psa.inference import LinearChain
from spacy_psa.training.optimizers import create_adamw

from ...tiny_transformer import write_transformer
from ..conftest import (
    HASH,
    NAME,
    SCORES,
    WORDS,
    assert_same_weights,
    make_adam,
    make_docs,
    make_examples,
    tagger_of,
    tiny_model,
    weights,
)

LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "tok2vec"}


def listening_nlp(target: str = "tag", **overrides: Any) -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": HASH})
    model = tiny_model(tok2vec=LISTENER, **overrides)
    nlp.add_pipe(NAME, config={"model": model, "target": target})
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def learn(nlp: Language, steps: int, **settings: Any) -> list[float]:
    optimizer, examples = make_adam(), make_examples(nlp)
    return [nlp.update(examples, sgd=optimizer, **settings)[NAME] for _ in range(steps)]


def upstream(nlp: Language) -> bytes:
    return nlp.get_pipe("tok2vec").model.to_bytes()


def emissions(nlp: Language) -> torch.Tensor:
    docs = make_docs(nlp)
    for name, pipe in nlp.pipeline:
        if name != NAME:
            docs = list(pipe.pipe(docs))
    return tagger_of(nlp).model.predict(docs).emissions


def test_learns_behind_a_listener(target: str) -> None:
    nlp = listening_nlp(target)
    learn(nlp, 40)
    assert nlp.evaluate(make_examples(nlp))[SCORES[target]] == 1.0


def test_a_crf_directly_on_the_shared_embedding(tmp_path: Path) -> None:
    nlp = listening_nlp(encoder=None)
    learn(nlp, 40)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.config["components"][NAME]["model"]["encoder"] is None
    assert_same_weights(weights(loaded), weights(nlp))
    assert loaded.evaluate(make_examples(loaded))["tag_acc"] == 1.0


def test_the_gradient_reaches_the_shared_embedding() -> None:
    nlp = listening_nlp()
    before = upstream(nlp)
    learn(nlp, 2)
    assert upstream(nlp) != before


def test_two_components_share_an_embedding() -> None:
    nlp = listening_nlp()
    config = {"model": tiny_model(tok2vec=LISTENER), "target": "ents"}
    nlp.add_pipe(NAME, "second", config=config)
    nlp.initialize(lambda: make_examples(nlp))
    learn(nlp, 40)
    scores = nlp.evaluate(make_examples(nlp))
    assert (scores["tag_acc"], scores["ents_f"]) == (1.0, 1.0)


def test_a_listener_through_disk(tmp_path: Path) -> None:
    nlp = listening_nlp()
    learn(nlp, 3)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_weights(weights(loaded), weights(nlp))
    assert torch.equal(emissions(loaded), emissions(nlp))


def test_replaced_listeners_predict_the_same(tmp_path: Path) -> None:
    nlp = listening_nlp()
    learn(nlp, 3)
    before = emissions(nlp)
    nlp.replace_listeners("tok2vec", NAME, ["model.tok2vec"])
    np.testing.assert_allclose(emissions(nlp), before, atol=1e-6)
    nlp.remove_pipe("tok2vec")
    nlp.to_disk(tmp_path)
    np.testing.assert_allclose(emissions(spacy.load(tmp_path)), before, atol=1e-6)


def test_replaced_listeners_learn_on_their_own() -> None:
    nlp = listening_nlp()
    nlp.replace_listeners("tok2vec", NAME, ["model.tok2vec"])
    before = upstream(nlp)
    losses = learn(nlp, 5)
    assert losses[-1] < losses[0]
    assert upstream(nlp) == before


def test_an_upstream_that_is_frozen_but_annotates() -> None:
    nlp = listening_nlp()
    before = upstream(nlp)
    losses = learn(nlp, 5, exclude=["tok2vec"], annotates=["tok2vec"])
    assert losses[-1] < losses[0]
    assert upstream(nlp) == before


def test_averages_cover_the_shared_embedding_and_the_component() -> None:
    nlp = listening_nlp()
    optimizer, examples = make_adam(use_averages=True), make_examples(nlp)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
    before = upstream(nlp), weights(nlp)
    with nlp.use_params(optimizer.averages):
        assert upstream(nlp) != before[0]
        inside = weights(nlp)
    assert upstream(nlp) == before[0]
    assert_same_weights(weights(nlp), before[1])
    assert [name for name in inside if np.array_equal(inside[name], before[1][name])] == []


def test_empty_docs_behind_a_listener() -> None:
    nlp = listening_nlp()
    texts = ["", "Ann saw Berlin .", ""]
    assert [len(doc) for doc in nlp.pipe(texts)] == [0, 4, 0]
    assert [len(doc) for doc in nlp.pipe(["", ""])] == [0, 0]


def test_our_embedding_in_another_component_warns_and_works() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": tiny_model()["tok2vec"]})
    listener = {**LISTENER, "width": 108}
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=listener)})
    with pytest.warns(UserWarning, match="W201"):
        nlp.initialize(lambda: make_examples(nlp))
    losses = learn(nlp, 5)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("how", ["disabled", "not annotating"])
def test_an_embedding_that_has_not_read_the_text_is_missed(how: str) -> None:
    nlp = listening_nlp()
    with pytest.warns(UserWarning, match=rf"W447.*'tok2vec', to which '{NAME}' listens"):
        if how == "disabled":
            with nlp.select_pipes(disable="tok2vec"):
                nlp("Ann saw Berlin .")
        else:
            learn(nlp, 1, annotates=[NAME])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("Ann saw Berlin .")
        learn(nlp, 1, annotates=["tok2vec", NAME])


def ask(nlp: Language, query: str, docs: list[Doc]) -> Any:
    more = {"nbest": [2], "sample": [1], "span_probs": [[[(0, 1, "PER")]]]}.get(query, [])
    return getattr(tagger_of(nlp), query)(docs, *more)


@pytest.mark.parametrize("query", ["nbest", "sample", "span_probs", "marginals", "entropy"])
def test_a_query_about_a_text_that_was_not_read_says_how_to_make_it(query: str) -> None:
    nlp = listening_nlp("ents")
    remedy = rf"W447.*query.*nlp\(text, disable=\['{NAME}'\]\)"
    with pytest.warns(UserWarning, match=remedy):
        ask(nlp, query, [nlp.make_doc("Ann saw Berlin .")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(nlp, query, [nlp("Ann saw Berlin .", disable=[NAME])])


def test_queries_without_what_the_component_has_predicted() -> None:
    nlp = listening_nlp()
    learn(nlp, 5)
    text = "Ann saw Berlin ."
    ((best, _),) = ask(nlp, "nbest", [nlp(text, disable=[NAME])])
    potentials = tagger_of(nlp).model.predict([nlp(text, disable=[NAME])])
    chain = LinearChain(potentials, constraints=tagger_of(nlp).constraints)
    assert best.probability == pytest.approx(chain.topk(1)[1].exp().item(), abs=1e-6)
    assert best.tags == [token.tag_ for token in nlp(text)]
    # Kept annotation leaves one labeling
    assert ask(nlp, "nbest", [nlp(text)])[0][0].probability == pytest.approx(1.0)


def test_an_embedding_of_another_pipeline_and_width_is_an_error() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": {**HASH, "width": 16}}).initialize(
        lambda: make_examples(nlp), nlp=nlp
    )
    nlp.add_pipe(NAME, source=listening_nlp())
    for do in (lambda: nlp("Ann saw Berlin ."), lambda: learn(nlp, 1)):
        with pytest.raises(ValueError, match=r"P222.* 16 wide, but were 8 .*replace_listeners"):
            do()


def test_a_listener_to_any_embedding_misses_the_usual_one() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": HASH})
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec={**LISTENER, "upstream": "*"})})
    nlp.initialize(lambda: make_examples(nlp))
    nlp.disable_pipe("tok2vec")
    with pytest.warns(UserWarning, match=rf"W447.*'tok2vec', to which '{NAME}' listens"):
        nlp("Ann saw Berlin .")


@pytest.mark.parametrize(
    ("upstream", "problem"),
    [
        ("tok2vce", r"listens to 'tok2vce'.*\(found: 'tok2vec'\)\. Did you mean 'tok2vec'\? "),
        ("ents", r"listens to 'ents'.*\(found: 'tok2vec'\)\. Put"),
        ("late", r"listens to 'late'.*\(found: 'tok2vec'\)\. Put"),
    ],
)
def test_a_listener_to_what_is_not_in_front_of_it(upstream: str, problem: str) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": HASH})
    nlp.add_pipe(NAME, "ents", config={"model": tiny_model(), "target": "ents"})
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec={**LISTENER, "upstream": upstream})})
    nlp.add_pipe("tok2vec", "late", config={"model": HASH})
    with pytest.raises(ValueError, match=rf"P223.*'{NAME}' {problem}"):
        nlp.initialize(lambda: make_examples(nlp))


def raw(nlp: Language) -> list[Example]:
    return [Example(doc, doc.copy()) for doc in make_docs(nlp)]


@pytest.mark.parametrize("how", ["updated", "new", "replaced too late"])
def test_a_component_that_listens_to_another_cannot_rehearse(how: str) -> None:
    nlp = listening_nlp()
    nlp.resume_training()
    if how == "updated":
        # Of the same words, a listener would take what it heard here
        learn(nlp, 1)
    elif how == "replaced too late":
        nlp.replace_listeners("tok2vec", NAME, ["model.tok2vec"])
    before = weights(nlp)
    with pytest.raises(ValueError, match=rf"P336.*'tok2vec', '{NAME}', \['model.tok2vec'\]"):
        nlp.rehearse(raw(nlp), sgd=make_adam())
    assert_same_weights(weights(nlp), before)


def test_a_component_rehearses_with_a_copy_of_what_it_listened_to() -> None:
    nlp = listening_nlp()
    learn(nlp, 5)
    nlp.replace_listeners("tok2vec", NAME, ["model.tok2vec"])
    nlp.resume_training()
    assert nlp.rehearse(raw(nlp))[NAME] == pytest.approx(0.0, abs=1e-4)


def test_a_component_rehearses_with_what_a_frozen_embedding_has_read() -> None:
    nlp = listening_nlp()
    nlp.resume_training()
    frozen = nlp.get_pipe("tok2vec")
    examples = [Example(frozen(eg.predicted), eg.reference) for eg in raw(nlp)]
    assert nlp.rehearse(examples)[NAME] == pytest.approx(0.0, abs=1e-4)


# Transformers


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Language]:
    """Build pipelines with a one-layer transformer with random weights."""
    words = [word for sentence in WORDS for word in sentence]
    folder = write_transformer(tmp_path_factory.mktemp("transformer"), words)

    def make() -> Language:
        nlp = spacy.blank("xx")
        model = {
            "@architectures": "spacy-transformers.TransformerModel.v3",
            "name": str(folder),
            "tokenizer_config": {"use_fast": True},
            "get_spans": {
                "@span_getters": "spacy-transformers.strided_spans.v1",
                "window": 32,
                "stride": 24,
            },
        }
        listener = {
            "@architectures": "spacy-transformers.TransformerListener.v1",
            "grad_factor": 1.0,
            "pooling": {"@layers": "reduce_mean.v1"},
        }
        nlp.add_pipe("transformer", config={"model": model})
        nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=listener)})
        fix_random_seed(0)
        nlp.initialize(lambda: make_examples(nlp))
        return nlp

    return make


def test_learns_behind_a_transformer(transformer: Callable[[], Language]) -> None:
    nlp = transformer()
    losses = learn(nlp, 30)
    assert losses[-1] < losses[0] / 4


def test_a_transformer_learns_too(transformer: Callable[[], Language]) -> None:
    nlp = transformer()
    before = nlp.get_pipe("transformer").model.to_bytes()
    learn(nlp, 2)
    assert nlp.get_pipe("transformer").model.to_bytes() != before


@pytest.mark.parametrize("frozen", ["transformer", NAME])
def test_a_transformer_has_a_learning_rate_of_its_own(
    transformer: Callable[[], Language], frozen: str
) -> None:
    nlp = transformer()
    group = {"components": [frozen], "learn_rate": 0.0, "L2": 0.0}
    optimizer = create_adamw(0.01, groups={"one": group})
    before = {name: pipe.model.to_bytes() for name, pipe in nlp.pipeline}
    for _ in range(2):
        nlp.update(make_examples(nlp), sgd=optimizer)
    assert [name for name, pipe in nlp.pipeline if pipe.model.to_bytes() == before[name]] == [
        frozen
    ]


def test_a_transformer_through_disk(transformer: Callable[[], Language], tmp_path: Path) -> None:
    nlp = transformer()
    learn(nlp, 2)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_weights(weights(loaded), weights(nlp))
    np.testing.assert_allclose(emissions(loaded), emissions(nlp), atol=1e-5)


def test_empty_docs_behind_a_transformer(transformer: Callable[[], Language]) -> None:
    nlp = transformer()
    assert [len(doc) for doc in nlp.pipe(["", "Ann saw Berlin .", ""])] == [0, 4, 0]


def test_a_transformer_that_has_not_read_the_text_is_missed(
    transformer: Callable[[], Language],
) -> None:
    nlp = transformer()
    nlp.disable_pipe("transformer")
    with pytest.warns(UserWarning, match=rf"W447.*to which '{NAME}' listens"):
        nlp("Ann saw Berlin .")


@pytest.mark.parametrize("upstream", ["*", "transfomer"])
def test_a_listener_to_a_transformer_that_is_not_there(upstream: str) -> None:
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "pooling": {"@layers": "reduce_mean.v1"},
        "upstream": upstream,
    }
    pytest.importorskip("spacy_transformers", reason="spacy-transformers is not installed")
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=listener)})
    with pytest.raises(ValueError, match=r"P223.*listens to 'transfo.*\(found: none\)\."):
        nlp.initialize(lambda: make_examples(nlp))


def test_a_transformer_that_is_frozen_but_annotates(transformer: Callable[[], Language]) -> None:
    nlp = transformer()
    before = nlp.get_pipe("transformer").model.to_bytes()
    losses = learn(nlp, 5, exclude=["transformer"], annotates=["transformer"])
    assert losses[-1] < losses[0]
    assert nlp.get_pipe("transformer").model.to_bytes() == before
