"""Labels that a trained component gains: nothing changes until it is trained on them."""

from __future__ import annotations

from functools import cache
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
from thinc.api import Model, Optimizer

from spacy_psa.annotation.rules import REQUIRED, Rule
from spacy_psa.models.growth import grow
from spacy_psa.models.network_shim import reduce_pipeline
from spacy_psa.training.optimizers import create_adadelta, create_sgd

from ..conftest import (
    NAME,
    TARGETS,
    annotation,
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_docs,
    make_nlp,
    tagger_of,
    tiny_model,
    train,
    trained_nlp,
    weights,
)
from .test_label_refinement import MARGINALS, SYSTEMS, refinement
from .test_label_refinement import make_examples as make_entities

LABEL_CRF = {"@architectures": "spacy_psa.LabelCRF.v1"}
UNTIED = refinement(MARGINALS, "ResidualNorm", 2, tie_embeddings=False, tie_transitions=False)
DECODERS: dict[str, dict[str, Any]] = {
    **{
        name: tiny_model(decoder={"@architectures": f"spacy_psa.{name}.v1"})
        for name in ("CRF", "PairwiseCRF", "Softmax")
    },
    **{name: model for name, model in SYSTEMS.items() if "naive" not in name},
    "structured refinement, nothing shared": tiny_model(encoder=UNTIED, decoder=LABEL_CRF),
}
NEW = {"tag": "NEW", "pos": "ADP", "morph": "Case=Voc", "ents": "TEAM", "spans": "PP"}
TEAMS = ("Ajax", "Celtic", "Lazio", "Arsenal", "Porto")
W433 = pytest.warns(UserWarning, match=r"W433.*'psa_tagger'.*'TEAM'")


@pytest.mark.filterwarnings("error")
def test_a_tag_as_a_label_of_spans_gives_a_warning() -> None:
    tagger = tagger_of(make_nlp("ents"))
    with pytest.warns(UserWarning, match=r"W443.*'psa_tagger' gained 'B-PER'.*label is 'PER'"):
        assert tagger.add_label("B-PER") == 1
    assert [tagger.add_label(label) for label in ("B-PER", "PER", "B-", "Blood")] == [0, 1, 1, 1]
    with pytest.warns(UserWarning, match=r"W444.*'per', which differs from 'PER'"):
        assert tagger.add_label("per") == 1
    assert tagger_of(make_nlp("tag")).add_label("B-PER") == 1


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Each of the targets, which are read and written in ways of their own."""
    return request.param


@cache
def _trained_on_entities(name: str) -> bytes:
    nlp = make_nlp("ents", model=DECODERS[name])
    fix_random_seed(0)
    # The new words have vectors of their own, as from a pretrained table
    nlp.initialize(lambda: [*make_entities(nlp), *raw(teams(nlp))])
    train(nlp, make_entities(nlp), steps=40)
    return nlp.to_bytes()


@pytest.fixture(params=DECODERS)
def decoder(request: pytest.FixtureRequest) -> str:
    return request.param


def entity_nlp(name: str = "CRF") -> Language:
    """A pipeline that has memorized persons and places."""
    return make_nlp("ents", model=DECODERS[name]).from_bytes(_trained_on_entities(name))


def teams(nlp: Language) -> list[Example]:
    """Twenty examples with a new type of entity, of one or two words, or without any entity."""
    found = []
    for i in range(20):
        team = TEAMS[i % 5]
        words, tags = [
            ([team, "won", "."], ["U-TEAM", "O", "O"]),
            (["fans", "of", team, "United", "sing"], ["O", "O", "B-TEAM", "L-TEAM", "O"]),
            (["so", team, "lost"], ["O", "U-TEAM", "O"]),
            (["they", "won", "."], ["O"] * 3),
        ][i % 4]
        found.append(Example.from_dict(Doc(nlp.vocab, words=words), {"entities": tags}))
    return found


def raw(examples: list[Example]) -> list[Example]:
    """Examples without annotation."""
    return [Example(eg.predicted, eg.predicted.copy()) for eg in examples]


def predicted(nlp: Language, examples: list[Example]) -> list[tuple[Any, ...]]:
    return [annotation(doc) for doc in nlp.pipe(eg.predicted.copy() for eg in examples)]


def score(nlp: Language, examples: list[Example]) -> float:
    return nlp.evaluate(examples)["ents_f"]


def test_a_new_label_changes_nothing(decoder: str) -> None:
    nlp = entity_nlp(decoder)
    tagger, examples = tagger_of(nlp), make_entities(nlp)
    docs = [eg.predicted for eg in examples]
    before, marginals = predicted(nlp, examples), tagger.marginals(docs)
    n_before = len(tagger.tags)
    assert tagger.add_label("TEAM") == 1
    assert tagger.tags[n_before:] == ["B-TEAM", "I-TEAM", "E-TEAM", "S-TEAM"]
    assert tagger.model.get_dim("nO") == n_before + 4
    assert predicted(nlp, examples) == before
    for old, new in zip(marginals, tagger.marginals(docs), strict=True):
        np.testing.assert_array_equal(new, np.pad(old, [(0, 0), (0, 1)]))


def test_a_new_label_changes_nothing_for_any_target(target: str) -> None:
    nlp = trained_nlp(target, probabilities=True)
    tagger = tagger_of(nlp)
    before = [annotation(doc) for doc in nlp.pipe(make_docs(nlp))]
    n_before = len(tagger.tags)
    tagger.add_label(NEW[target])
    assert len(tagger.tags) == n_before + (4 if target in ("ents", "spans") else 1)
    assert [annotation(doc) for doc in nlp.pipe(make_docs(nlp))] == before
    assert tagger.entropy(make_docs(nlp)) is not None


@pytest.mark.parametrize("how", ["annotation", "rule"])
def test_a_label_that_is_not_trained_yet_can_be_given(target: str, how: str) -> None:
    nlp = trained_nlp(target)
    tagger, label = tagger_of(nlp), NEW[target]
    tagger.add_label(label)
    given, expected = make_docs(nlp)[:2]
    if how == "rule":
        tagger.rules = lambda doc: [Rule(1, 2, label, REQUIRED)] if doc is given else []
    else:
        n = tagger.tags.index(f"S-{label}" if tagger.target.has_spans else label)
        own: list[str | None] = [None] * len(given)
        own[1] = tagger.tags[n]
        tagger.target.annotate(given, own, overwrite=False)
    column = tagger.marginal_labels.index(label)
    found, other = tagger.marginals([given, expected])
    assert found[1, column] == pytest.approx(1.0)
    assert found[[0, 2], column].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(other[:, column], 0.0)
    tagger(given)
    assert label in list(tagger.target.labels_of(given))


def test_the_first_training_step_hardly_changes_what_was_known(target: str) -> None:
    nlp = trained_nlp(target)
    before = [annotation(doc) for doc in nlp.pipe(make_docs(nlp))]
    tagger_of(nlp).add_label(NEW[target])
    grow(tagger_of(nlp).model)
    assert [annotation(doc) for doc in nlp.pipe(make_docs(nlp))] == before


def test_twenty_examples_of_a_new_label_are_learned(decoder: str, tmp_path: Path) -> None:
    nlp = entity_nlp(decoder)
    new, old = teams(nlp), make_entities(nlp)
    with pytest.warns(UserWarning, match="W430.*'TEAM'"):
        assert score(nlp, teams(nlp)) == 0.0
    with W433:
        nlp.update(new)
    optimizer = make_adam()
    for _ in range(10):
        for _ in range(8):
            nlp.update([*new, *old], sgd=optimizer)
        if score(nlp, [*teams(nlp), *make_entities(nlp)]) == 1.0:
            break
    else:
        pytest.fail("not learned in 80 steps")
    assert tagger_of(nlp).labels == ("LOC", "PER", "TEAM")
    nlp.to_disk(tmp_path)
    blank = make_nlp("ents", model=DECODERS[decoder])
    for loaded in spacy.load(tmp_path), blank.from_bytes(nlp.to_bytes()):
        assert_same_weights(weights(loaded), weights(nlp))
        assert predicted(loaded, teams(nlp)) == predicted(nlp, teams(nlp))


def test_a_pipeline_with_a_label_that_is_not_trained_yet_is_saved(tmp_path: Path) -> None:
    nlp = entity_nlp()
    tagger_of(nlp).add_label("TEAM")
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert tagger_of(loaded).labels == ("LOC", "PER", "TEAM")
    assert predicted(loaded, make_entities(nlp)) == predicted(nlp, make_entities(nlp))
    assert_same_weights(weights(loaded), weights(nlp))
    train(loaded, teams(loaded), steps=40, until=lambda: score(loaded, teams(loaded)) == 1.0)
    assert score(loaded, teams(loaded)) == 1.0


def test_labels_are_added_one_after_another() -> None:
    nlp, optimizer = entity_nlp(), make_adam()
    for label in ("TEAM", "CUP"):
        tagger_of(nlp).add_label(label)
        nlp.update(make_entities(nlp), sgd=optimizer)
    assert len(tagger_of(nlp).tags) == tagger_of(nlp).model.get_ref("network").get_dim("nO") == 17


OPTIMIZERS = {
    "Adam": lambda: make_adam(use_averages=True),
    "SGD": lambda: create_sgd(0.1, momentum=0.9, use_averages=True),
    "Adadelta": lambda: create_adadelta(use_averages=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("decoder_name", ["CRF", "PairwiseCRF"])
def test_a_running_optimizer_keeps_its_state(name: str, decoder_name: str) -> None:
    nlp, optimizer = entity_nlp(decoder_name), OPTIMIZERS[name]()
    for _ in range(3):
        nlp.update(make_entities(nlp), sgd=optimizer)
    key = next(key for key in optimizer.averages if key[1] == "decoder.transitions")
    old = {m: np.array(getattr(optimizer, m)[key]).reshape(9, 9) for m in memories(optimizer)}
    tagger_of(nlp).add_label("TEAM")
    # A step of no length shows the state as it was
    optimizer.learn_rate = 0.0
    tagger_of(nlp).model.get_ref("network").shims[0].network.requires_grad_(True)
    with_state(nlp, optimizer)
    for memory, before in old.items():
        after = np.array(getattr(optimizer, memory)[key]).reshape(13, 13)
        np.testing.assert_array_equal(after[:9, :9], before, err_msg=memory)
        new = before.mean() if memory == "averages" else 0.0
        np.testing.assert_allclose(after[9:, 9:], new, atol=1e-6, err_msg=memory)
    optimizer.learn_rate = 0.01
    nlp.update(make_entities(nlp), sgd=optimizer)
    with nlp.use_params(optimizer.averages):
        assert score(nlp, make_entities(nlp)) > 0.5


def memories(optimizer: Optimizer) -> list[str]:
    return [name for name in ("mom1", "mom2", "averages") if getattr(optimizer, name)]


def with_state(nlp: Language, optimizer: Optimizer) -> None:
    """Let network and optimizer grow, without an update."""
    grow(tagger_of(nlp).model)
    tagger_of(nlp).finish_update(optimizer)


def test_gradients_accumulated_before_are_kept() -> None:
    def gradients(*batches: str) -> dict[str, torch.Tensor]:
        nlp = entity_nlp()
        data = {"old": make_entities(nlp), "new": teams(nlp)}
        if "old" not in batches:
            tagger_of(nlp).add_label("TEAM")
        for batch in batches:
            tagger_of(nlp).update(data[batch])
        network = tagger_of(nlp).model.get_ref("network").shims[0].network
        assert all(p.grad.shape == p.shape for p in network.parameters())
        return {name: p.grad for name, p in network.named_parameters()}

    def old_part(gradient: torch.Tensor) -> torch.Tensor:
        return gradient[(slice(9),) * gradient.dim()] if gradient.shape[0] == 13 else gradient

    old = entity_nlp()
    tagger_of(old).update(make_entities(old))
    before = tagger_of(old).model.get_ref("network").shims[0].network.decoder.start.grad
    with W433:
        both = gradients("old", "new")
    new = gradients("new")
    assert torch.allclose(both["decoder.start"][:9], before + new["decoder.start"][:9], atol=1e-5)


def test_new_labels_in_partial_annotation_and_in_sets_are_learned() -> None:
    nlp = entity_nlp()
    doc = Doc(nlp.vocab, words=["so", "Ajax", "lost"])
    partial = Example.from_dict(doc, {"entities": ["-", "U-TEAM", "-"]})
    with W433:
        train(nlp, [partial], steps=20)
    assert ("Ajax", "TEAM") in [(ent.text, ent.label_) for ent in nlp(doc.copy()).ents]
    sets = initialized_nlp(set_separator="|")
    example = Example.from_dict(Doc(sets.vocab, words=["a"]), {"tags": ["NEW|JJ|OTHER"]})
    with pytest.warns(UserWarning, match="W433.*'NEW', 'OTHER'"):
        sets.update([example])
    assert tagger_of(sets).labels[-2:] == ("NEW", "OTHER")


def test_a_sourced_component_gains_labels() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=entity_nlp())
    optimizer = nlp.resume_training()
    optimizer.learn_rate = 0.03
    with W433:
        nlp.update(teams(nlp), sgd=optimizer)
    examples = [*teams(nlp), *make_entities(nlp)]
    train(nlp, examples, steps=40, sgd=optimizer, until=lambda: score(nlp, teams(nlp)) == 1.0)
    assert score(nlp, teams(nlp)) == 1.0


def test_rehearsal_keeps_new_labels_from_old_texts() -> None:
    nlp = entity_nlp()
    nlp.resume_training()
    tagger_of(nlp).add_label("TEAM")
    assert 0.0 < tagger_of(nlp).rehearse(raw(make_entities(nlp)))[NAME] < 5.0
    network = tagger_of(nlp).model.get_ref("network").shims[0].network
    assert (network.decoder.emission.bias.grad[9:] > 0).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rehearsal_may_come_before_updates_with_a_new_label(name: str) -> None:
    nlp = entity_nlp()
    examples, optimizer = make_entities(nlp), OPTIMIZERS[name]()
    nlp.update(examples, sgd=optimizer)
    nlp.resume_training(sgd=optimizer)
    tagger_of(nlp).add_label("TEAM")
    nlp.rehearse(raw(examples), sgd=optimizer)
    losses = [train(nlp, teams(nlp), steps=1, sgd=optimizer) for _ in range(5)]
    assert losses[-1] < losses[0]
    with nlp.use_params(optimizer.averages):
        nlp(examples[0].predicted)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_after_another_initialization_optimizers_start_anew(name: str) -> None:
    def trained(updates: int) -> dict[str, np.ndarray]:
        nlp, optimizer = entity_nlp(), OPTIMIZERS[name]()
        for _ in range(updates):
            nlp.update(make_entities(nlp), sgd=optimizer)
        fix_random_seed(0)
        nlp.initialize(lambda: teams(nlp), sgd=optimizer)
        train(nlp, teams(nlp), steps=2, sgd=optimizer)
        with nlp.use_params(optimizer.averages):
            return weights(nlp)

    assert_same_weights(trained(2), trained(0))


def test_initialization_starts_anew_with_old_and_new_labels() -> None:
    nlp = entity_nlp()
    nlp.initialize(lambda: teams(nlp))
    assert tagger_of(nlp).labels == ("LOC", "PER", "TEAM")
    train(nlp, teams(nlp), steps=40, until=lambda: score(nlp, teams(nlp)) == 1.0)
    assert score(nlp, teams(nlp)) == 1.0


def test_an_initialization_that_fails_leaves_a_trained_component_as_it_was() -> None:
    nlp = entity_nlp()
    before = predicted(nlp, make_entities(nlp))
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    with pytest.raises(ValueError, match="P436"):
        tagger_of(nlp).initialize(lambda: [empty], labels=["TEAM"])
    assert tagger_of(nlp).labels == ("LOC", "PER")
    assert predicted(nlp, make_entities(nlp)) == before


def test_a_label_that_cannot_be_one_adds_none() -> None:
    nlp = trained_nlp("pos")
    before = tagger_of(nlp).labels
    with pytest.raises(ValueError, match="P302"):
        tagger_of(nlp).tagset.take(["ADP", "NOTHING"])
    assert tagger_of(nlp).labels == before
    assert tagger_of(nlp).model.get_dim("nO") == len(before)


def test_a_quantized_pipeline_takes_a_label_but_no_training() -> None:
    nlp = entity_nlp()
    reduce_pipeline(nlp, "bf16")
    before = predicted(nlp, make_entities(nlp))
    with pytest.raises(ValueError, match="P440"):
        nlp.update(teams(nlp))
    assert tagger_of(nlp).labels == ("LOC", "PER")
    tagger_of(nlp).add_label("TEAM")
    assert predicted(nlp, make_entities(nlp)) == before


def test_a_model_that_cannot_grow_says_so() -> None:
    nlp = entity_nlp()
    tagger = tagger_of(nlp)
    del tagger.model.attrs["resize_output"]
    with pytest.raises(ValueError, match=r"P304.*'TEAM'.*9 outputs.*cannot gain"):
        tagger.add_label("TEAM")
    with pytest.raises(ValueError, match=r"P301.*'TEAM'.*cannot gain"):
        nlp.update(teams(nlp))
    assert tagger.labels == ("LOC", "PER")


def test_a_model_of_ones_own_grows_by_its_own_function() -> None:
    def resize_output(model: Model, new_nO: int) -> Model:
        model.set_dim("nO", new_nO, force=True)
        return model

    model: Model = Model(
        "own", lambda m, docs, is_train: (docs, None), attrs={"resize_output": resize_output}
    )
    model._dims["nO"] = 9
    nlp = entity_nlp()
    tagger_of(nlp).model = model
    tagger_of(nlp).add_label("TEAM")
    assert model.get_dim("nO") == 13


def test_a_network_whose_size_depends_on_labels_in_another_way_is_refused() -> None:
    nlp = entity_nlp()
    shim = tagger_of(nlp).model.get_ref("network").shims[0]
    make = shim._make

    def make_with_buffer(**config: Any) -> torch.nn.Module:
        network = make(**config)
        network.register_buffer("triples", torch.zeros(3 * config["n_labels"]))
        return network

    shim._make = make_with_buffer
    shim.network.register_buffer("triples", torch.zeros(27))
    with pytest.raises(ValueError, match=r"P317.*'triples'.*\(27,\).*\(39,\)"):
        nlp.update(teams(nlp))
    assert tagger_of(nlp).labels == ("LOC", "PER")
    assert tagger_of(nlp).model.get_dim("nO") == 9
