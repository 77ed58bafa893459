"""A damaged model is detected, wherever the damage is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import spacy
import srsly

from spacy_psa.pipeline.storage import check_folder

from .conftest import assert_same_weights, initialized_nlp, tagger_of, trained_nlp, weights
from .srl_data import NAME as SRL_NAME
from .srl_data import srl_of
from .srl_data import trained_nlp as trained_srl


def test_the_checksum_is_that_of_sha256sum(tmp_path: Path) -> None:
    tagger_of(trained_nlp()).to_disk(tmp_path)
    digest = hashlib.sha256((tmp_path / "model").read_bytes()).hexdigest()
    assert (tmp_path / "model.sha256").read_text(encoding="utf8") == f"{digest}  model\n"


@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_the_checksum_is_one_of_the_first_two(tmp_path: Path, n_before: int) -> None:
    (tmp_path / "model").write_bytes(b"weights")
    own = hashlib.sha256(b"weights").hexdigest()
    lines = [f"{digest}  model\n" for digest in (*(f"{i}" * 64 for i in range(n_before)), own)]
    (tmp_path / "model.sha256").write_text("".join(lines), encoding="utf8")
    if n_before < 2:
        check_folder(tmp_path)
    else:
        with pytest.raises(ValueError, match=rf"P314.*{own[:12]}….*not {'0' * 12}…"):
            check_folder(tmp_path)


def test_a_flipped_bit_is_noticed_in_bytes() -> None:
    nlp = trained_nlp()
    entries = srsly.msgpack_loads(tagger_of(nlp).to_bytes())
    changed = bytearray(entries["model"])
    changed[-100] ^= 1
    data = srsly.msgpack_dumps({**entries, "model": bytes(changed)})
    with pytest.raises(ValueError, match=r"P311.*P314"):
        tagger_of(initialized_nlp()).from_bytes(data)


def test_semantic_roles_have_a_checksum_too(tmp_path: Path) -> None:
    nlp = trained_srl()
    nlp.to_disk(tmp_path)
    path = tmp_path / SRL_NAME / "model"
    path.write_bytes(path.read_bytes()[:-8] + b"damaged!")
    with pytest.raises(ValueError, match=r"P311.*P314"):
        spacy.load(tmp_path)
    assert srl_of(nlp).labels


def test_a_model_without_a_checksum_is_loaded(tmp_path: Path) -> None:
    nlp = trained_nlp()
    tagger_of(nlp).to_disk(tmp_path)
    (tmp_path / "model.sha256").unlink()
    loaded = initialized_nlp(seed=3)
    tagger_of(loaded).from_disk(tmp_path)
    assert_same_weights(weights(loaded), weights(nlp))


def test_a_model_that_is_excluded_is_not_checked(tmp_path: Path) -> None:
    tagger_of(trained_nlp()).to_disk(tmp_path)
    (tmp_path / "model").write_bytes(b"damaged")
    tagger_of(initialized_nlp()).from_disk(tmp_path, exclude=["model"])
    tagger_of(trained_nlp()).to_disk(tmp_path / "without", exclude=["model"])
    assert not (tmp_path / "without" / "model.sha256").exists()
    assert "model.sha256" not in srsly.msgpack_loads(
        tagger_of(trained_nlp()).to_bytes(exclude=["model"])
    )
