"""Settings that are changed while a pipeline is loaded."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

from . import srl_data
from .conftest import NAME, make_nlp, tagger_of, trained_nlp

# The default of settings that may be changed after training, and another value
SETTINGS: dict[str, tuple[Any, Any]] = {
    "overwrite": (False, True),
    "probabilities": (False, True),
    "threshold": (None, 0.5),
    "allow_space": (False, True),
    "constrain_training": (False, True),
    "label_smoothing": (0.0, 0.1),
    "max_grad_norm": (5.0, None),
}


def load(path: Path, component: str = NAME, **settings: Any) -> Language:
    return spacy.load(path, config={"components": {component: settings}})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    trained_nlp("ents").to_disk(path)
    return path


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("to_default", [False, True], ids=["from the default", "to the default"])
def test_settings_can_be_changed(name: str, to_default: bool, tmp_path: Path) -> None:
    before, after = SETTINGS[name][:: -1 if to_default else 1]
    nlp = make_nlp("ents", **{name: before})
    nlp.to_disk(tmp_path / "first")
    changed = load(tmp_path / "first", **{name: after})
    assert tagger_of(changed).cfg[name] == after
    assert changed.config["components"][NAME][name] == after
    changed.to_disk(tmp_path / "second")
    assert tagger_of(spacy.load(tmp_path / "second")).cfg[name] == after
    assert tagger_of(spacy.load(tmp_path / "first")).cfg[name] == before


def test_predictions_follow(saved: Path) -> None:
    text = "Ann Lee likes green Berlin ."
    assert len(spacy.load(saved)(text).ents) == 2
    assert not load(saved, threshold=1.0)(text).ents
    assert load(saved, probabilities=True)(text).ents[0]._.psa_score > 0.5


def test_what_was_changed_in_python_stays(tmp_path: Path) -> None:
    nlp = make_nlp("ents", threshold=0.25)
    tagger_of(nlp).cfg.update(threshold=0.75, max_grad_norm=2.0)
    nlp.to_disk(tmp_path)
    assert tagger_of(spacy.load(tmp_path)).cfg["threshold"] == 0.75
    changed = tagger_of(load(tmp_path, max_grad_norm=3.0)).cfg
    assert (changed["threshold"], changed["max_grad_norm"]) == (0.75, 3.0)


def test_variables_count(tmp_path: Path) -> None:
    make_nlp("ents").to_disk(tmp_path)
    config = (tmp_path / "config.cfg").read_text(encoding="utf8")
    config = config.replace("threshold = null", "threshold = ${vars.least}")
    (tmp_path / "config.cfg").write_text(f"{config}\n[vars]\nleast = null\n", encoding="utf8")
    nlp = spacy.load(tmp_path, config={"vars": {"least": 0.5}})
    assert tagger_of(nlp).cfg["threshold"] == 0.5


def test_a_setting_that_the_saved_config_lacks(tmp_path: Path) -> None:
    make_nlp("ents").to_disk(tmp_path)
    config = (tmp_path / "config.cfg").read_text(encoding="utf8")
    (tmp_path / "config.cfg").write_text(config.replace("allow_space = false\n", ""), "utf8")
    assert tagger_of(load(tmp_path, allow_space=True)).cfg["allow_space"] is True


@pytest.mark.parametrize(
    ("name", "value"), [("target", "tag"), ("spans_key", "other"), ("set_separator", "|")]
)
def test_what_is_read_and_written_cannot_be_changed(saved: Path, name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"P318.* {name} "):
        load(saved, **{name: value})


def test_the_sizes_of_the_network_cannot_be_changed(saved: Path) -> None:
    with pytest.raises(ValueError, match="P311"):
        load(saved, model={"encoder": {"recurrent": {"hidden_width": 32}}})


def test_values_and_labels_are_checked(saved: Path) -> None:
    with pytest.raises(ValueError, match="P210"):
        load(saved, threshold=2.0)
    nlp = trained_nlp("ents", threshold={"PER": 0.5})
    nlp.to_disk(saved.parent / "by-label")
    with pytest.raises(ValueError, match="P210"):
        load(saved.parent / "by-label", threshold={"PER": -1.0})


def test_a_pipeline_made_by_hand_takes_the_saved_settings(tmp_path: Path) -> None:
    make_nlp("ents", threshold=0.75).to_disk(tmp_path)
    assert tagger_of(make_nlp("ents").from_disk(tmp_path)).cfg["threshold"] == 0.75


@pytest.mark.parametrize("is_read", [False, True])
def test_a_component_loaded_on_its_own_takes_the_saved_settings(
    tmp_path: Path, is_read: bool
) -> None:
    make_nlp("ents", threshold=0.75).to_disk(tmp_path)
    nlp = make_nlp("ents")
    if is_read:
        assert nlp.config["components"][NAME]["threshold"] is None
    tagger_of(nlp).from_disk(tmp_path / NAME, exclude=["vocab"])
    assert tagger_of(nlp).cfg["threshold"] == 0.75


def test_a_sourced_component_keeps_its_settings(saved: Path) -> None:
    changed = load(saved, threshold=0.5)
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=changed)
    assert tagger_of(nlp).cfg["threshold"] == 0.5


def test_a_changed_component_can_be_pickled(saved: Path) -> None:
    copy = pickle.loads(pickle.dumps(tagger_of(load(saved, threshold=0.5))))
    assert copy.cfg["threshold"] == 0.5


@pytest.mark.parametrize(
    ("name", "value"), [("allow_space", True), ("label_smoothing", 0.2), ("max_grad_norm", None)]
)
def test_settings_of_roles_can_be_changed(tmp_path: Path, name: str, value: Any) -> None:
    srl_data.make_nlp().to_disk(tmp_path)
    nlp = load(tmp_path, srl_data.NAME, **{name: value})
    assert srl_data.srl_of(nlp).cfg[name] == value
    assert srl_data.srl_of(spacy.load(tmp_path)).cfg[name] != value


def test_a_component_outside_its_pipeline_can_be_loaded(saved: Path) -> None:
    nlp = make_nlp("ents", threshold=0.5)
    component = tagger_of(nlp)
    nlp.remove_pipe(NAME)
    component.from_disk(saved / NAME, exclude=["vocab"])
    assert component.labels == tagger_of(trained_nlp("ents")).labels
    assert component.cfg["threshold"] is None
