"""Parameters with a learning rate or a weight decay of their own, in pipelines of several kinds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import fix_random_seed, registry
from thinc.api import Config

from spacy_psa.training import note_pipeline
from spacy_psa.training.optimizers import create_adadelta, create_adamw, create_sgd
from spacy_psa.training.parameter_groups import names_beside

from ..pipeline.conftest import HASH, NAME, initialized_nlp, make_examples, tiny_model

LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8}
PLAIN = ["*bias*", "*/b", "*norm*", "*transitions*"]
Names = dict[str, np.ndarray]


def make_nlp() -> Language:
    """A tok2vec of thinc's layers, shared by our component and spaCy's tagger."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": HASH})
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=LISTENER)})
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": HASH}})
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def parameters(nlp: Language) -> Iterator[tuple[tuple[int, str], str, np.ndarray]]:
    """The key, the name and a copy of each parameter."""
    for component, pipe in nlp.components:
        for node in pipe.model.walk():
            found = {(node.id, name): node.get_param(name) for name in node.param_names}
            for shim in node.shims:
                network = shim._model.named_parameters()
                found |= {(shim.id, name): p.detach().numpy() for name, p in network}
            for key, array in found.items():
                yield key, f"{component}/{node.name}/{key[1]}", array.copy()


def changes(nlp: Language, optimizer: Any, *, steps: int = 1) -> dict[tuple[int, str], Any]:
    """The name of each parameter, and how much it changes in some updates."""
    before = {key: array for key, _, array in parameters(nlp)}
    for _ in range(steps):
        nlp.update(make_examples(nlp), sgd=optimizer)
        optimizer.step_schedules()
    return {key: (name, array - before[key]) for key, name, array in parameters(nlp)}


def assert_scaled(groups: dict[str, Any], scale: Callable[[str], float]) -> None:
    """Compare steps with those without groups, by parameter."""
    usual, own = (
        changes(make_nlp(), create_sgd(0.5, 0.0, groups=given)) for given in (None, groups)
    )
    scales = set()
    for (name, found), (_, expected) in zip(own.values(), usual.values(), strict=True):
        np.testing.assert_allclose(found, expected * scale(name), rtol=1e-4, atol=1e-7)
        if expected.any():
            scales.add(scale(name))
    assert len(scales) > 1  # without which the test would show nothing


def test_components_have_learning_rates_of_their_own() -> None:
    groups = {
        "shared": {"components": ["tok2vec"], "learn_rate": 0.05},
        "others": {"components": ["tagger"], "factor": 2},
    }
    scales = {"tok2vec": 0.1, "tagger": 2.0, NAME: 1.0}
    assert_scaled(groups, lambda name: scales[name.split("/")[0]])


def test_parameters_are_chosen_by_patterns_in_any_case() -> None:
    groups = {"some": {"parameters": ["*Transitions", "LAYERNORM/*"], "factor": 0.0}}
    assert_scaled(groups, lambda name: 0.0 if "transitions" in name or "layernorm" in name else 1.0)


def test_patterns_within_a_component() -> None:
    groups = {"one": {"components": [NAME], "parameters": ["*bias*"], "factor": 3.0}}
    assert_scaled(groups, lambda name: 3.0 if NAME in name and "bias" in name else 1.0)


@pytest.mark.parametrize("create", [create_sgd, create_adadelta, create_adamw])
def test_weights_alone_decay(create: Callable[..., Any]) -> None:
    plain, none, all_ = (
        changes(make_nlp(), create(0.1, L2=L2, groups=groups))
        for L2, groups in (
            (0.5, {"plain": {"parameters": PLAIN, "L2": 0.0}}),
            (0.0, None),
            (0.5, None),
        )
    )
    n_plain = 0
    for (name, found), (_, undecayed), (_, decayed) in zip(
        plain.values(), none.values(), all_.values(), strict=True
    ):
        is_plain = any(part in name for part in ("bias", "/b", "norm", "transitions"))
        n_plain += is_plain
        np.testing.assert_allclose(found, undecayed if is_plain else decayed, atol=1e-6)
    assert 5 < n_plain < len(plain)


def test_each_setting_may_have_its_group() -> None:
    groups = {
        "tagger": {"components": ["tagger"], "factor": 0.0},
        "plain": {"parameters": PLAIN, "L2": 0.0},
    }
    found = changes(make_nlp(), create_sgd(0.1, 0.0, L2=0.5, groups=groups))
    assert not any(change.any() for name, change in found.values() if name.startswith("tagger/"))
    assert any(change.any() for name, change in found.values() if name.startswith(NAME))


def test_schedules_of_groups_are_followed_from_a_config() -> None:
    config = Config().from_str(
        cleandoc("""
        [optimizer]
        @optimizers = "spacy_psa.AdamW.v1"

        [optimizer.learn_rate]
        @schedules = "constant_then.v1"
        rate = 0.5
        steps = 1
        schedule = [0.25]

        [optimizer.groups]

        [optimizer.groups.transformer]
        components = ["tok2vec"]

        [optimizer.groups.transformer.learn_rate]
        @schedules = "decaying.v1"
        base_rate = 0.01
        decay = 1.0

        [optimizer.groups.tagger]
        components = ["tagger"]
        factor = 0.1
    """)
    )
    optimizer = registry.resolve(config)["optimizer"]
    nlp = make_nlp()
    keys = {name.split("/")[0]: key for key, name, _ in parameters(nlp)}
    rates = []
    for _ in range(3):
        usual = optimizer.learn_rate
        rates.append({name: optimizer.groups.settings(keys[name], usual, 0)[0] for name in keys})
        optimizer.step_schedules()
    assert [found["tok2vec"] for found in rates] == pytest.approx([0.01, 0.005, 0.01 / 3])
    assert [found["tagger"] for found in rates] == pytest.approx([0.05, 0.025, 0.025])
    assert [found[NAME] for found in rates] == pytest.approx([0.5, 0.25, 0.25])


def test_the_names_of_loaded_and_of_sourced_components_are_known(tmp_path: Path) -> None:
    source = make_nlp()
    source.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    sourced = spacy.blank("xx")
    sourced.add_pipe("tok2vec", source=loaded)
    sourced.add_pipe(NAME, name="other", source=loaded)
    group = {"components": ["tok2vec"], "factor": 0.0}
    for nlp, name in ((loaded, NAME), (sourced, "other")):
        note_pipeline(nlp)
        optimizer = create_sgd(groups={"one": group, "two": {"components": [name], "L2": 0.1}})
        found = changes(nlp, optimizer)
        assert {name.split("/")[0] for name, change in found.values() if change.any()} == {
            name for name in nlp.pipe_names if name != "tok2vec"
        }


def test_the_names_of_a_component_are_those_where_its_training_is_resumed() -> None:
    source, nlp = initialized_nlp(), spacy.blank("xx")
    nlp.add_pipe(NAME, name="other", source=source)
    nlp.resume_training()
    group = {"components": ["other"], "learn_rate": 0.0}
    found = changes(nlp, create_sgd(groups={"one": group}))
    assert not any(change.any() for _, change in found.values())


def test_pipelines_are_not_kept_alive() -> None:
    nlp = initialized_nlp()
    key = next(key for key, _, _ in parameters(nlp))
    assert names_beside(key)[key].component == NAME
    del nlp
    gc.collect()
    assert names_beside(key) == {}


def test_a_component_that_is_added_later_has_its_groups_too() -> None:
    nlp = initialized_nlp()
    optimizer = create_sgd(groups={"later": {"parameters": ["*"], "factor": 0.0}})
    assert not any(change.any() for _, change in changes(nlp, optimizer).values())
    nlp.add_pipe("tagger").initialize(lambda: make_examples(nlp), nlp=nlp)
    assert not any(change.any() for _, change in changes(nlp, optimizer).values())


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"factor": 2.0}, "P216.*'one'.*chooses no parameters"),
        ({"components": ["a"]}, "P216.*'one'.*changes nothing"),
        ({"components": "a", "L2": 0.0}, "P216.*a string as 'components'"),
        ({"components": ["a"], "learn_rate": 1.0, "factor": 1.0}, "P216.*both"),
        ({"component": ["a"], "L2": 0.0}, "P216.*'component'. Did you mean 'components'"),
        ({"components": ["a"], "L2": -1.0}, r"P210.*groups\.one\.L2"),
        ({"components": ["a"], "factor": -1.0}, r"P210.*groups\.one\.factor"),
        ({"components": ["a"], "learn_rate": -1.0}, r"P210.*groups\.one\.learn_rate"),
    ],
)
def test_settings_that_make_no_sense_are_errors(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        create_adamw(groups={"one": settings})


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (
            {"one": {"components": ["transformer"], "factor": 2.0}},
            "P218.*'one'.*psa_tagger, tagger, tok2vec; .*hashembed/E",
        ),
        (
            {"one": {"components": ["tok2vec"], "parameters": ["*bias*"], "L2": 0.0}},
            "P218.*'one'.*hashembed/E",
        ),
        ({"one": {"components": ["tok2vecs"], "L2": 0.1}}, "P218.*Did you mean 'tok2vec'"),
        (
            {
                "one": {"components": ["tok2vec"], "L2": 0.1},
                "two": {"parameters": ["*/E"], "L2": 0.0},
            },
            "P219.*'one' and 'two'.*L2.*'tok2vec/hashembed/E'",
        ),
    ],
)
def test_groups_that_match_nothing_or_too_much_change_nothing(
    groups: dict[str, Any], problem: str
) -> None:
    nlp = make_nlp()
    before = [array for _, _, array in parameters(nlp)]
    with pytest.raises(ValueError, match=problem):
        nlp.update(make_examples(nlp), sgd=create_adamw(groups=groups))
    for (_, _, found), expected in zip(parameters(nlp), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_pipeline_without_our_components_is_to_be_noted() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": HASH}})
    nlp.initialize(lambda: make_examples(nlp))
    optimizer = create_adamw(groups={"one": {"components": ["tagger"], "factor": 0.0}})
    with pytest.raises(ValueError, match=r"P217.*note_pipeline"):
        nlp.update(make_examples(nlp), sgd=optimizer)
    note_pipeline(nlp)
    assert not any(change.any() for _, change in changes(nlp, optimizer).values())


def test_a_group_that_is_no_section_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"P216.*'slow'.* is None, not a section"):
        create_adamw(0.001, groups={"slow": None})  # type: ignore[dict-item]
