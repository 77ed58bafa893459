"""`psa quantize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_psa.cli._predictions import System
from spacy_psa.models.labeler import shim_of
from spacy_psa.models.network_shim import NetworkShim, reduce_pipeline

from ..pipeline.conftest import (
    WORDS,
    annotation,
    gold_doc,
    make_adam,
    make_docs,
    make_examples,
    tagger_of,
    trained_nlp,
)
from .commands import contents, failure, succeed


def test_the_speed_on_few_words_is_measured_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.6, 1.0, 1.1, 2.0, 2.4])
    monkeypatch.setattr("spacy_psa.cli._predictions.perf_counter", lambda: next(clock))
    monkeypatch.setattr(System, "predict", lambda self, gold, *_: [gold])
    system = System("name", None)
    docs = make_docs(spacy.blank("en"))
    predictions, n_words, seconds = system.predict_timed(docs, "gold", [])
    assert predictions == [docs] and n_words == sum(map(len, docs))
    assert seconds == pytest.approx(0.4)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A pipeline that predicts chunks."""
    path = tmp_path / "model"
    trained_nlp("spans").to_disk(path)
    return path


@pytest.fixture
def output(model: Path, tmp_path: Path) -> Path:
    """The same pipeline in reduced precision."""
    path = tmp_path / "reduced"
    succeed("psa", "quantize", model, "-o", path)
    return path


def fail(*arguments: object) -> str:
    return failure("psa", "quantize", *arguments)


def emissions(nlp: Language, words: Any = WORDS) -> torch.Tensor:
    return tagger_of(nlp).model.predict(make_docs(nlp, words)).emissions


def reduced_nlp(target: str = "spans") -> Language:
    nlp = trained_nlp(target)
    reduce_pipeline(nlp, "bf16")
    return nlp


def test_output_is_a_pipeline_that_predicts_as_before(model: Path, output: Path):
    full, reduced = spacy.load(model), spacy.load(output)
    expected = [annotation(doc) for doc in full.pipe(make_docs(full))]
    assert [annotation(doc) for doc in reduced.pipe(make_docs(reduced))] == expected
    difference = (emissions(full) - emissions(reduced)).abs().max()
    assert 0 < difference < 0.2
    names = {name for name in contents(output) if name.startswith("psa_tagger")}
    assert names == {"psa_tagger/cfg", "psa_tagger/model", "psa_tagger/model.sha256"}
    assert (output / "psa_tagger/model").stat().st_size < (
        model / "psa_tagger/model"
    ).stat().st_size


def test_model_is_not_touched(model: Path, tmp_path: Path):
    before = contents(model)
    succeed("psa", "quantize", model, "-o", tmp_path / "reduced", "--precision", "bf16")
    assert contents(model) == before


def test_scores_before_and_after_are_printed(model: Path, tmp_path: Path):
    data = tmp_path / "dev.spacy"
    DocBin(docs=[gold_doc(spacy.blank("xx"), i) for i in range(len(WORDS))]).to_disk(data)
    shown = succeed("psa", "quantize", model, "-o", tmp_path / "reduced", "--data", data)
    [row] = [line.split() for line in shown.splitlines() if line.startswith("spans['sc']")]
    assert row[-2:] == ["100.00", "100.00"]
    assert "words per second" in shown and "size (MB)" in shown


def test_folder_that_is_there_is_only_replaced_by_force(model: Path, output: Path):
    before = contents(output)
    (output / "mine").write_text("x", encoding="utf8")
    message = fail(model, "-o", output)
    assert "[P443]" in message and "--force" in message
    assert (output / "mine").is_file()
    succeed("psa", "quantize", model, "-o", output, "--force")
    assert contents(output).keys() == before.keys()


def test_force_replaces_neither_model_nor_what_is_no_pipeline(model: Path, tmp_path: Path):
    before = contents(model)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("x", encoding="utf8")
    for path in (model, tmp_path, model / "inside", other, other / "letter.txt"):
        assert "[P443]" in fail(model, "-o", path, "--force")
    # Do not suggest an option that would not help
    assert "--force" not in fail(model, "-o", other)
    assert contents(model) == before
    assert (other / "letter.txt").is_file()


def test_reducing_twice_and_nothing_to_reduce_are_errors(output: Path, tmp_path: Path):
    assert "[P441]" in fail(output, "-o", tmp_path / "again")
    spacy.blank("xx").to_disk(tmp_path / "blank")
    assert "[P442]" in fail(tmp_path / "blank", "-o", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_bytes_and_files_are_read_back_exactly(output: Path, tmp_path: Path):
    nlp = spacy.load(output)
    expected = emissions(nlp)
    again = trained_nlp("spans").from_bytes(nlp.to_bytes())
    assert torch.equal(emissions(again), expected)
    assert again.to_bytes() == nlp.to_bytes()
    nlp.to_disk(tmp_path / "copy")
    name = "psa_tagger/model"
    assert contents(tmp_path / "copy")[name] == contents(output)[name]


def test_full_weights_can_be_read_into_a_reduced_pipeline():
    full = trained_nlp("spans")
    nlp = reduced_nlp().from_bytes(full.to_bytes())
    assert torch.equal(emissions(nlp), emissions(full))
    nlp.update(make_examples(nlp), sgd=make_adam())


def test_training_is_refused_and_changes_nothing():
    nlp = reduced_nlp()
    before = nlp.to_bytes()
    for optimizer in (make_adam(), nlp.resume_training()):
        with pytest.raises(ValueError, match=r"\[P440\].*psa_tagger.*bf16.*psa quantize"):
            nlp.update(make_examples(nlp), sgd=optimizer)
    with pytest.raises(ValueError, match=r"\[P440\]"):
        nlp.rehearse(make_examples(nlp), sgd=make_adam())
    with pytest.raises(ValueError, match=r"\[P440\]"):
        shim_of(tagger_of(nlp).model.get_ref("network")).begin_update(None)
    assert nlp.to_bytes() == before


def test_initializing_anew_gives_full_precision():
    nlp = reduced_nlp()
    nlp.initialize(lambda: make_examples(nlp))
    nlp.update(make_examples(nlp), sgd=make_adam())


def test_one_document_is_as_in_a_batch():
    nlp = reduced_nlp()
    alone = torch.cat([emissions(nlp, [words]) for words in WORDS])
    torch.testing.assert_close(emissions(nlp), alone, rtol=0.0, atol=1e-5)


def test_probabilities_are_those_of_full_precision_nearly():
    full, reduced = trained_nlp("spans"), reduced_nlp()
    for nlp in (full, reduced):
        tagger_of(nlp).cfg["probabilities"] = True
    scores = [
        [span._.psa_score for doc in nlp.pipe(make_docs(nlp)) for span in doc.spans["sc"]]
        for nlp in (full, reduced)
    ]
    np.testing.assert_allclose(*scores, atol=0.02)


def test_several_processes_predict_the_same(output: Path):
    nlp = spacy.load(output)
    texts = [" ".join(words) for words in WORDS] * 2
    expected = [annotation(doc) for doc in nlp.pipe(texts)]
    assert [annotation(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)] == expected


def _network_shim(nlp: Language) -> NetworkShim:
    return shim_of(tagger_of(nlp).model.get_ref("network"))


@pytest.mark.parametrize("precision", ["fp8", 16, None, ["bf16"], "fp32"])
def test_other_precisions_in_a_file_are_refused(precision: object):
    message = srsly.msgpack_loads(_network_shim(reduced_nlp()).to_bytes())
    message["precision"] = precision
    with pytest.raises(ValueError, match=r"\[P20[23]\]"):
        _network_shim(trained_nlp("spans")).from_bytes(srsly.msgpack_dumps(message))


def test_tensors_of_another_type_are_refused():
    message = srsly.msgpack_loads(_network_shim(reduced_nlp()).to_bytes())
    tensors = load_tensors(message["state"])
    name = next(name for name, tensor in tensors.items() if tensor.dtype == torch.bfloat16)
    tensors[name] = tensors[name].float()
    message["state"] = save_tensors(tensors)
    with pytest.raises(ValueError, match=r"\[P203\].*float32"):
        _network_shim(trained_nlp("spans")).from_bytes(srsly.msgpack_dumps(message))


def test_force_does_not_replace_the_data(model: Path, output: Path):
    data = output / "dev.spacy"
    DocBin(docs=[gold_doc(spacy.blank("xx"), 0)]).to_disk(data)
    assert "[P443]" in fail(model, "-o", output, "--force", "--data", data)
    assert data.is_file()
