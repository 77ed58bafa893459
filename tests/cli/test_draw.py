from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_psa.cli.draw import draw

from .commands import failure

CONFIGS = Path(__file__).parents[2] / "configs"


def test_config_is_drawn(tmp_path: Path):
    drawn = tmp_path / "a" / "m.svg"
    assert draw(CONFIGS / "sample.cfg", drawn, component="psa_ner") == "psa_ner"
    assert "spacy_psa.PSAEncoder.v1" in (tmp_path / "a" / "m.svg").read_text()


def test_component_can_be_chosen(tmp_path: Path):
    assert draw(CONFIGS / "sample.cfg", tmp_path / "m.svg", component="psa_pos") == "psa_pos"


def test_saved_pipeline_is_drawn(tmp_path: Path):
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_tagger")
    nlp.to_disk(tmp_path / "model")
    assert draw(tmp_path / "model", tmp_path / "m.svg") == "psa_tagger"


def test_unknown_component_is_an_error_that_names_the_others(tmp_path: Path):
    with pytest.raises(ValueError, match=r"\[P346\].*psa_pos, psa_chunks, psa_ner"):
        draw(CONFIGS / "sample.cfg", tmp_path / "m.svg", component="tagger")
    assert not (tmp_path / "m.svg").exists()


def test_missing_config_is_an_error(tmp_path: Path):
    with pytest.raises(ValueError, match=r"\[P109\]"):
        draw(tmp_path / "none.cfg", tmp_path / "m.svg")


def test_broken_config_is_an_error(tmp_path: Path):
    (tmp_path / "broken.cfg").write_text("[components.x\n")
    with pytest.raises(ValueError, match=r"\[P251\].*broken.cfg"):
        draw(tmp_path / "broken.cfg", tmp_path / "m.svg")


def test_a_model_may_be_that_of_another_component(tmp_path: Path):
    config = Config().from_disk(CONFIGS / "psa-ents.cfg", interpolate=False)
    config["components"]["other"] = {
        "factory": "psa_tagger",
        "model": config["components"]["psa_tagger"]["model"],
    }
    config["components"]["psa_tagger"]["model"] = "${components.other.model}"
    config.to_disk(tmp_path / "a.cfg")
    draw(tmp_path / "a.cfg", tmp_path / "m.svg", component="psa_tagger")
    assert "spacy_psa.PSAEncoder.v1" in (tmp_path / "m.svg").read_text()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("model.encoder.recurrent", "hiden_width"),
        ("model", "maks_length"),
        ("", "tagret"),
    ],
)
def test_a_misspelt_setting_is_an_error_as_in_training(tmp_path: Path, place: str, said: str):
    right = {"hiden_width": "hidden_width", "maks_length": "max_length", "tagret": "target"}[said]
    config = Config().from_disk(CONFIGS / "psa-ents.cfg", interpolate=False)
    section = config["components"]["psa_tagger"]
    for key in filter(None, place.split(".")):
        section = section[key]
    section[said] = section.pop(right)
    config.to_disk(tmp_path / "a.cfg")
    message = failure("psa", "draw", tmp_path / "a.cfg", "-o", tmp_path / "m.svg")
    told = f"unexpected argument: '{said}'. Did you mean '{right}'?"
    assert "[P437]" in message and told in message and "a.cfg" in message
    assert not (tmp_path / "m.svg").exists()
    paths = [f"--paths.{part}" for part in ("train", "dev")]
    DocBin(docs=[Doc(Vocab(), words=["a"])]).to_disk(tmp_path / "a.spacy")
    data = [word for path in paths for word in (path, tmp_path / "a.spacy")]
    assert told in failure("psa", "train", tmp_path / "a.cfg", "-o", tmp_path / "out", *data)


def test_an_unfilled_config_is_drawn(tmp_path: Path):
    config = Config().from_disk(CONFIGS / "psa-ents.cfg", interpolate=False)
    part = {key: config[key] for key in ("nlp", "components")}
    del part["components"]["psa_tagger"]["model"]["decoder"]
    part["nlp"] = {"lang": "ja", "pipeline": part["nlp"]["pipeline"]}
    Config(part).to_disk(tmp_path / "a.cfg")
    assert draw(tmp_path / "a.cfg", tmp_path / "m.svg") == "psa_tagger"
