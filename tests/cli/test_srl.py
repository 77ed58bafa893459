"""`psa srl-eval` and `psa srl-ensemble`."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config

from spacy_psa.cli.quantize import make_ensemble
from spacy_psa.cli.srl_eval import score_paths
from spacy_psa.inference import LinearChain, Potentials

from ..documentation import ROOT, code_blocks
from ..pipeline.srl_data import (
    WORDS,
    arguments,
    expected,
    given_doc,
    gold_doc,
    initialized_nlp,
    make_nlp,
    srl_of,
    tiny_model,
    train,
    trained_nlp,
)
from .commands import contents, run, succeed

GOLD = """\
-     (A0*)
say   (V*)
-     (A1*
-     *)

-
"""
PREDICTED = """\
-     (A0*)
say   (V*)
-     (A1*)
-     *

-
"""


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf8")
    return path


def test_props_are_scored(tmp_path: Path) -> None:
    gold, predicted = put(tmp_path, "g.props", GOLD), put(tmp_path, "p.props", PREDICTED)
    output = tmp_path / "out.json"
    result = run("psa", "srl-eval", gold, predicted, "--confusion", "--output", output)
    assert result.exit_code == 0, result.output
    assert "   Overall        1       1       1    50.00   50.00   50.00" in result.output
    assert "Unlabeled" in result.output
    scores = json.loads(output.read_text())
    assert (scores["f1"], scores["sentences"], scores["propositions"]) == (0.5, 2, 1)


def test_targets_that_the_official_script_does_not_read_are_named(tmp_path: Path) -> None:
    gold = put(tmp_path, "g.props", GOLD)
    predicted = put(tmp_path, "p.props", GOLD.replace("say ", "-   "))
    result = run("psa", "srl-eval", gold, predicted)
    assert result.exit_code == 0 and "100.00  100.00  100.00" in result.output
    text = " ".join(result.output.split())
    assert "p.props whose target is -, found by their argument V" in text
    assert "which srl-eval.pl does not read (the first in line 2): 1" in text
    assert "g.props whose" not in text


def test_formats_can_be_mixed(tmp_path: Path) -> None:
    put(tmp_path, "g.words", "He\nsays\nso\nnow\n\nOh\n")
    gold = put(tmp_path, "g.props", GOLD)
    docbin = tmp_path / "g.spacy"
    assert run("psa", "convert", gold, docbin, "--format", "conll2005").exit_code == 0
    assert score_paths(gold, docbin).arguments.f1 == 1.0
    assert score_paths(docbin, tmp_path / "g.words").arguments.f1 == 1.0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (GOLD.replace("*)\n\n", "*\n\n"), "P145"),
        (GOLD.replace("-     (A0*)", "-     *)"), "P145"),
        (GOLD.replace("-     *)\n", ""), "P145"),
        (GOLD + "\n-\n", "P328"),
        (GOLD + "-\n", "P329"),
    ],
    ids=["not closed", "not opened", "a line less", "a sentence more", "a token more"],
)
def test_files_that_do_not_fit_are_refused(tmp_path: Path, text: str, code: str) -> None:
    gold, predicted = put(tmp_path, "g.props", GOLD), put(tmp_path, "p.props", text)
    with pytest.raises(ValueError, match=code):
        score_paths(gold, predicted)


def test_other_words_are_refused(tmp_path: Path) -> None:
    nlp = trained_nlp()
    DocBin(docs=[gold_doc(nlp, 0)]).to_disk(tmp_path / "a.spacy")
    doc = gold_doc(nlp, 0)
    other = Doc(nlp.vocab, words=["X", *WORDS[0][1:]])
    other.spans.from_bytes(doc.spans.to_bytes())
    DocBin(docs=[other]).to_disk(tmp_path / "b.spacy")
    with pytest.raises(ValueError, match="P329"):
        score_paths(tmp_path / "a.spacy", tmp_path / "b.spacy")


def test_documents_without_frames_are_refused(tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    DocBin(docs=[nlp("a b")]).to_disk(tmp_path / "a.spacy")
    with pytest.raises(ValueError, match="P330"):
        score_paths(tmp_path / "a.spacy", tmp_path / "a.spacy")


def test_a_pipeline_is_scored_on_the_given_predicates(tmp_path: Path) -> None:
    nlp = trained_nlp()
    nlp.to_disk(tmp_path / "model")
    docs = [gold_doc(nlp, i) for i in range(len(WORDS))]
    DocBin(docs=docs).to_disk(tmp_path / "gold.spacy")
    result = score_paths(tmp_path / "gold.spacy", tmp_path / "model")
    assert (result.arguments.f1, result.propositions) == (1.0, 6)


def test_a_pipeline_without_the_component_is_refused(tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[gold_doc(nlp, 0)]).to_disk(tmp_path / "gold.spacy")
    with pytest.raises(ValueError, match="P346"):
        score_paths(tmp_path / "gold.spacy", tmp_path / "model")


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two trained pipelines with different decoders."""
    folder = tmp_path_factory.mktemp("members")
    crf = tiny_model(decoder={"@architectures": "spacy_psa.CRF.v1"})
    other = initialized_nlp(crf)
    train(other, steps=40)
    paths = [folder / "first", folder / "second"]
    trained_nlp().to_disk(paths[0])
    other.to_disk(paths[1])
    return paths


def _potentials(path: Path, inputs: tuple) -> Potentials:
    return srl_of(spacy.load(path)).model.predict(inputs).detach()


def test_an_ensemble_averages_the_distributions(members: list[Path], tmp_path: Path) -> None:
    assert run("psa", "srl-ensemble", *members, "-o", tmp_path / "both").exit_code == 0
    nlp = spacy.load(tmp_path / "both")
    inputs = ([given_doc(nlp, 1)], [[1, 6, 7]])
    wanted = np.mean(
        [LinearChain(_potentials(path, inputs)).marginals.numpy() for path in members],
        axis=0,
    )
    found = LinearChain(srl_of(nlp).model.predict(inputs)).marginals.numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert arguments(nlp(given_doc(nlp, 1))) == expected(1)


@pytest.mark.parametrize("place", ["runs", "first", "first/both", ".", "notes", "notes/letter.txt"])
def test_an_ensemble_replaces_no_member_and_nothing_else_than_a_pipeline(
    members: list[Path], tmp_path: Path, place: str
) -> None:
    folder = tmp_path / "runs"
    for member in members:
        shutil.copytree(member, folder / member.name)
    (folder / "notes").mkdir()
    (folder / "notes" / "letter.txt").write_text("x", encoding="utf8")
    before = contents(folder)
    paths = [folder / member.name for member in members]
    output = folder if place == "runs" else folder / place
    for options in ([], ["--force"]):
        result = run("psa", "srl-ensemble", *paths, "-o", output, *options)
        assert result.exit_code == 1 and "[P443]" in result.output
    assert contents(folder) == before


def test_an_ensemble_replaces_a_pipeline_by_force(members: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "both"
    shutil.copytree(members[0], output)
    before = contents(output)
    result = run("psa", "srl-ensemble", *members, "-o", output)
    assert result.exit_code == 1
    assert "[P443]" in result.output and "--force" in result.output
    assert contents(output) == before
    assert run("psa", "srl-ensemble", *members, "-o", output, "--force").exit_code == 0
    assert "RoleEnsemble" in (output / "config.cfg").read_text(encoding="utf8")


def test_an_ensemble_cannot_be_trained(members: list[Path]) -> None:
    nlp = make_ensemble(members)
    with pytest.raises(ValueError, match="P333"):
        nlp.update([Example(given_doc(nlp, 0), gold_doc(nlp, 0))])


def test_an_ensemble_gains_no_labels(members: list[Path]) -> None:
    nlp = make_ensemble(members)
    labels = srl_of(nlp).labels
    with pytest.raises(ValueError, match="P304"):
        srl_of(nlp).add_label("A9")
    assert srl_of(nlp).labels == labels and len(srl_of(nlp).tags) == srl_of(nlp).model.get_dim("nO")


def test_an_ensemble_has_more_than_one_model(members: list[Path]) -> None:
    with pytest.raises(ValueError, match="P334"):
        make_ensemble(members[:1])


def test_models_of_other_labels_are_refused(members: list[Path], tmp_path: Path) -> None:
    nlp = make_nlp()
    srl_of(nlp).add_label("A9")
    nlp.to_disk(tmp_path / "other")
    with pytest.raises(ValueError, match="P332"):
        make_ensemble([members[0], tmp_path / "other"])


def test_the_config_of_the_page_finds_predicates_and_is_evaluated(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    path = tmp_path / "train.spacy"
    DocBin(docs=[gold_doc(nlp, i) for i in range(len(WORDS))]).to_disk(path)
    (block,) = code_blocks(ROOT / "docs" / "srl.md", "ini")
    excerpt = block.replace('"corpus/train.spacy"', f'"{path}"')
    config = Config().from_str("[components]\n\n[corpora]\n\n" + excerpt)
    config["corpora"]["dev"] = config["corpora"]["train"]
    config["nlp"] = {"lang": "en", "pipeline": ["predicate_tagger", "psa_srl"]}
    config["components"]["psa_srl"]["model"] = tiny_model()
    config["training"] = {"max_steps": 2, "eval_frequency": 1}
    filled = load_model_from_config(config, auto_fill=True).config
    filled.to_disk(tmp_path / "x.cfg")
    paths = ("--output", tmp_path / "out", "--paths.dev", path)
    output = succeed("psa", "train", tmp_path / "x.cfg", *paths)
    (line,) = (line for line in output.splitlines() if line.startswith("Next: "))
    assert line.endswith(f"{path} --component psa_srl")
    assert "psa_srl → roles" in succeed(*shlex.split(line)[4:])
