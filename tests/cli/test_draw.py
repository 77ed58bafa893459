from pathlib import Path

import pytest
import spacy

from spacy_psa.cli.draw import draw

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
