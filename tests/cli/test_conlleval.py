import json
import random
from pathlib import Path

import pytest
import spacy
from spacy.cli._util import app
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.cli.conlleval import score_docbins
from spacy_psa.cli.evaluate import evaluate_files

from ..pipeline.conftest import tiny_model, trained_nlp

WORDS = ["Mr", "X", "saw", "EU", "talks"]


def make_doc(words=WORDS, tags=None, pos=None, ents=None, chunks=None):
    doc = Doc(Vocab(), words=words, tags=tags, pos=pos, ents=ents)
    if chunks is not None:
        doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    return doc


def test_spans(save):
    gold = save("gold", make_doc(chunks=[(0, 2, "NP"), (2, 3, "VP"), (3, 5, "NP")]))
    predicted = save("predicted", make_doc(chunks=[(0, 2, "NP"), (2, 3, "VP"), (4, 5, "NP")]))
    result = score_docbins(gold, predicted)
    counts = result.chunks
    assert (counts.gold, counts.predicted, counts.correct) == (3, 3, 2)
    assert result.accuracy == pytest.approx(3 / 5)
    assert set(result.per_type) == {"NP", "VP"}


def test_documents_without_tokens_need_no_spans(save):
    gold = save("gold", make_doc(chunks=[(0, 2, "NP")]), make_doc([]))
    assert score_docbins(gold, gold, target="spans").chunks.f1 == 1.0


def test_entities(save):
    gold = save("gold", make_doc(ents=["B-PER", "I-PER", "O", "B-ORG", "O"]))
    predicted = save("predicted", make_doc(ents=["B-PER", "I-PER", "O", "O", "B-ORG"]))
    result = score_docbins(gold, predicted, target="ents")
    assert (result.chunks.gold, result.chunks.correct) == (2, 1)
    assert (result.tokens, result.correct_tags) == (5, 3)


def test_phrases_that_stand_in_tags(save):
    gold = save("gold", make_doc(tags=["B-PER", "I-PER", "O", "B-ORG", "O"]))
    predicted = save("predicted", make_doc(tags=["B-PER", "I-PER", "O", "O", "I-ORG"]))
    result = score_docbins(gold, predicted, target="bio")
    assert (result.chunks.gold, result.chunks.predicted, result.chunks.correct) == (2, 2, 1)
    assert (result.tokens, result.correct_tags) == (5, 3)


@pytest.mark.parametrize("target,argument", [("tag", "tags"), ("pos", "pos")])
def test_tags_of_tokens(save, target, argument):
    gold = save("gold", make_doc(**{argument: ["PROPN", "PROPN", "VERB", "PROPN", "NOUN"]}))
    predicted = save(
        "predicted", make_doc(**{argument: ["NOUN", "PROPN", "VERB", "PROPN", "NOUN"]})
    )
    result = score_docbins(gold, predicted, target=target)
    assert result.accuracy == pytest.approx(4 / 5)
    assert result.per_type["PROPN"].recall == pytest.approx(2 / 3)
    assert result.per_type["NOUN"].precision == pytest.approx(1 / 2)


def test_tokens_without_a_gold_tag_do_not_count(save):
    gold = save("gold", make_doc(tags=["NNP", "", "VBD", "", "NNS"]))
    predicted = save("predicted", make_doc(tags=["NNP", "NN", "VBD", "NN", "NN"]))
    result = score_docbins(gold, predicted, target="tag")
    assert (result.tokens, result.correct_tags) == (3, 2)


def doc_of(spans, missing=(), blocked=(), n=5):
    """A document with entities, missing tokens and blocked tokens."""
    doc = Doc(Vocab(), words=[f"w{i}" for i in range(n)])
    doc.set_ents(
        [Span(doc, *span) for span in spans],
        missing=[Span(doc, i, i + 1) for i in missing],
        blocked=[Span(doc, i, i + 1) for i in blocked],
        default="outside",
    )
    return doc


def both(save, gold, predicted, target="ents"):
    """The counts of `psa conlleval`, checked against those of `psa evaluate`."""
    paths = save("gold", *gold), save("predicted", *predicted)
    found = score_docbins(*paths, target=target)
    (report,) = evaluate_files(str(paths[1]), [paths[0]], target=target, n_resamples=1)
    assert found.chunks == report.total.counts
    assert found.per_type == {row.name: row.counts for row in report.breakdowns["label"].rows}
    assert found.tokens == report.n_tokens
    assert found.accuracy == pytest.approx(report.scores["accuracy"])
    counts = found.chunks
    return counts.gold, counts.predicted, counts.correct


@pytest.mark.parametrize(
    "gold,missing,predicted,counts",
    [
        # Spans are not cut
        ([(0, 1, "X")], [1, 2], [(0, 3, "X")], (1, 0, 0)),
        ([(0, 1, "X")], [2, 3], [(0, 1, "X"), (1, 3, "Y"), (3, 5, "Y")], (1, 1, 1)),
        # Spans are not joined
        ([(0, 1, "X"), (2, 3, "X")], [1], [(0, 1, "X"), (2, 3, "X")], (2, 2, 2)),
        ([(0, 1, "X")], [1, 2], [(0, 1, "X"), (2, 5, "X")], (1, 1, 1)),
    ],
)
def test_predicted_spans_that_touch_an_unknown_token_do_not_count(
    save, gold, missing, predicted, counts
):
    assert both(save, [doc_of(gold, missing)], [doc_of(predicted)]) == counts


def test_figures_on_incomplete_entities_are_those_of_evaluate(save):
    rng = random.Random(0)

    def some(n):
        """A document of random spans, with missing or blocked tokens between them."""
        spans, others, i = [], ([], [], []), rng.randrange(3)
        while i < n:
            end = min(n, i + rng.randint(1, 3))
            if rng.random() < 0.6:
                spans.append((i, end, rng.choice("XY")))
            else:
                rng.choice(others).extend(range(i, end))
            i = end + rng.choice([0, 0, 1])
        return doc_of(spans, *others[:2], n=n)

    lengths = [rng.randint(3, 9) for _ in range(300)]
    pairs = [(some(n), some(n)) for n in lengths]
    pairs = [pair for pair in pairs if all(doc.has_annotation("ENT_IOB") for doc in pair)]
    gold, predicted, correct = both(save, *zip(*pairs, strict=True))
    assert 0 < correct < min(gold, predicted)


def test_figures_on_incomplete_tags_are_those_of_evaluate(save):
    rng = random.Random(0)
    docs = [
        [make_doc(tags=[rng.choice(["", "A", "B"]) for _ in range(4)] + ["A"]) for _ in range(50)]
        for _ in range(2)
    ]
    gold, predicted, correct = both(save, *docs, target="tag")
    assert 0 < correct < min(gold, predicted)


def test_phrases_in_tags_are_not_joined_over_unknown_tokens(save):
    gold = save("gold", make_doc(tags=["B-X", "", "I-X", "O", "O"]))
    predicted = save("predicted", make_doc(tags=["B-X", "O", "I-X", "I-X", "O"]))
    result = score_docbins(gold, predicted, target="bio")
    counts = result.chunks
    assert (counts.gold, counts.predicted, counts.correct) == (2, 2, 1)
    assert (result.tokens, result.correct_tags) == (4, 3)


def test_command_prints_the_table_and_writes_the_scores(save, tmp_path):
    path = save("gold", make_doc(chunks=[(0, 2, "NP"), (2, 3, "VP")]))
    output = tmp_path / "scores.json"
    arguments = ["psa", "conlleval", path, path, "--output", output]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0
    assert "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 2.\n" in result.output
    assert "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n" in result.output
    assert json.loads(output.read_text())["per_type"]["VP"]["f1"] == 1.0


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    """Untrained pipelines by the targets of their components."""
    folder = tmp_path_factory.mktemp("pipelines")
    for targets in (["ents"], ["spans"], ["ents", "tag"]):
        nlp = spacy.blank("xx")
        for target in targets:
            config = {"model": tiny_model(), "target": target, "spans_key": "sc"}
            nlp.add_pipe("psa_tagger", name=target, config=config)
        doc = make_doc(tags=["A"] * 5, ents=["B-PER", "O", "O", "O", "O"])
        doc.spans["sc"] = list(doc.ents)
        nlp.initialize(lambda doc=doc: [Example(doc.copy(), doc)])
        nlp.to_disk(folder / "-".join(targets))
    return folder


def test_a_pipeline_is_scored_on_its_target(save, pipelines):
    doc = make_doc(ents=["B-PER", "I-PER", "O", "O", "O"])
    doc.spans["sc"] = list(doc.ents)
    gold = save("gold", doc)
    for name in ("ents", "spans"):
        assert score_docbins(gold, pipelines / name).chunks.gold == 1
    with pytest.raises(ValueError, match=r"P347.*ents-tag.*: ents, tag\..*--component"):
        score_docbins(gold, pipelines / "ents-tag")
    assert score_docbins(gold, pipelines / "ents-tag", target="ents").chunks.gold == 1
    assert score_docbins(gold, pipelines / "ents-tag", component="ents").chunks.gold == 1


def test_options_come_before_the_target_of_a_pipeline(save, pipelines):
    gold = save("gold", make_doc(tags=["A"] * 5, chunks=[]))
    with pytest.raises(ValueError, match=r"P126.*gold.*chunks"):
        score_docbins(gold, pipelines / "spans", spans_key="other")
    with pytest.raises(ValueError, match=r"P126.*ents.*not annotated with tag"):
        score_docbins(gold, pipelines / "ents", target="tag")


def test_a_pipeline_may_leave_a_document_without_labels(save, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("attribute_ruler").add([[{"ORTH": "saw"}]], {"TAG": "VBD"})
    nlp.to_disk(tmp_path / "nlp")
    gold = [make_doc(tags=["NNP", "NNP", "VBD", "NNP", "NNS"]), make_doc(["Go"], tags=["VB"])]
    result = score_docbins(save("gold", *gold), tmp_path / "nlp", target="tag")
    assert (result.tokens, result.correct_tags) == (6, 1)
    with pytest.raises(ValueError, match=r"P126.*nlp is not annotated with pos"):
        gold = save("pos", make_doc(pos=["PROPN", "PROPN", "VERB", "PROPN", "NOUN"]))
        score_docbins(gold, tmp_path / "nlp", target="pos")


def test_a_threshold_that_leaves_no_label_is_named(save, tmp_path):
    nlp = trained_nlp("tag")
    nlp.get_pipe("psa_tagger").cfg["threshold"] = 1.0
    nlp.to_disk(tmp_path / "nlp")
    gold = save("gold", make_doc(["Ann", "Zoe"], tags=["NNP", "NNP"]))
    with pytest.raises(
        ValueError, match=r"P126.*nlp is not.* tag\. Lower the threshold of 'psa_ta"
    ):
        score_docbins(gold, tmp_path / "nlp")
    unannotated = save("unannotated", make_doc(["Ann", "Zoe"]))
    with pytest.raises(ValueError, match=r"P126.*annotated with tag\. Choose"):
        score_docbins(unannotated, tmp_path / "nlp")


def test_any_label_of_a_set_is_correct(save, tmp_path):
    nlp = spacy.blank("xx")
    config = {"model": tiny_model(), "target": "tag", "set_separator": "|"}
    nlp.add_pipe("psa_tagger", config=config)
    nlp.initialize(lambda: [Example(make_doc(), make_doc(tags=["A"] * 5))])
    nlp.to_disk(tmp_path / "pipeline")
    gold = save("gold", make_doc(tags=["A|B", "B|C", "A", "A", "A"]))
    assert score_docbins(gold, tmp_path / "pipeline").correct_tags == 4


def test_an_installed_pipeline_is_loaded_by_its_name(save, pipelines, monkeypatch):
    # As spaCy loads a package, without installing one
    monkeypatch.setattr("spacy.util.is_package", lambda name: name == "en_spans")
    monkeypatch.setattr("spacy.load", lambda name: spacy.util.load_model(pipelines / "spans"))
    doc = make_doc(ents=["B-PER", "I-PER", "O", "O", "O"])
    doc.spans["sc"] = list(doc.ents)
    gold = save("gold", doc)
    by_name = score_docbins(gold, Path("en_spans"))
    assert by_name.to_dict() == score_docbins(gold, pipelines / "spans").to_dict()


def test_options_that_would_be_ignored_are_errors(save, pipelines):
    gold = save("gold", make_doc(tags=["A"] * 5, chunks=[]))
    with pytest.raises(ValueError, match=r"P272.*--component is for a pipeline.*gold\.spacy"):
        score_docbins(gold, gold, component="psa_tagger")
    with pytest.raises(ValueError, match=r"P109.*nowhere"):
        score_docbins(gold, Path("nowhere.spacy"), component="psa_tagger")
    with pytest.raises(ValueError, match=r"P272.*--spans-key.*the target is 'tag'"):
        score_docbins(gold, gold, target="tag", spans_key="chunks")
    with pytest.raises(ValueError, match=r"P272.*--spans-key.*the target is 'ents'"):
        score_docbins(gold, pipelines / "ents", spans_key="chunks")
    with pytest.raises(ValueError, match="P267"):
        score_docbins(gold, pipelines / "ents-tag", component="tag", target="ents")


def test_missing_span_groups_are_errors_that_name_those_there_are(save):
    path = save("gold", make_doc(chunks=[]))
    with pytest.raises(ValueError, match=r"P126.*Doc 1 in .*gold.*spans\['sc'\].*: chunks"):
        score_docbins(path, path, spans_key="sc")


@pytest.mark.parametrize("target", ["ents", "tag", "pos"])
def test_missing_annotation_is_an_error(save, target):
    path = save("gold", make_doc())
    with pytest.raises(ValueError, match=f"P126.*not annotated with {target}"):
        score_docbins(path, path, target=target)


def test_missing_predictions_are_an_error(save):
    gold, predicted = save("gold", make_doc(chunks=[])), save("predicted", make_doc())
    with pytest.raises(ValueError, match=r"P126.*predicted\.spacy"):
        score_docbins(gold, predicted)


@pytest.mark.parametrize("wrong", ["gold", "predicted"])
@pytest.mark.parametrize(
    "chunks,problem",
    [([(0, 2, "NP"), (1, 3, "VP")], r"\(1, 3, 'VP'\) overlaps"), ([(1, 1, "NP")], "is empty")],
)
def test_spans_that_tags_cannot_stand_for_are_errors_that_name_the_doc(
    save, wrong, chunks, problem
):
    fine = make_doc(chunks=[(0, 2, "NP")])
    paths = {name: save(name, fine, fine) for name in ("gold", "predicted")}
    paths[wrong] = save(wrong, fine, make_doc(chunks=chunks))
    with pytest.raises(ValueError, match=rf"P134\] Doc 2 in .*{wrong}\.spacy.*{problem}"):
        score_docbins(paths["gold"], paths["predicted"])


def test_other_words_are_errors(save):
    gold, predicted = save("gold", make_doc()), save("predicted", make_doc(words=["Mrs", "X"]))
    with pytest.raises(ValueError, match=r"P125.*Doc 1"):
        score_docbins(gold, predicted)


def test_other_numbers_of_docs_are_errors(save):
    gold, predicted = save("gold", make_doc(), make_doc()), save("predicted", make_doc())
    with pytest.raises(ValueError, match=r"P124.*2 Docs.*has 1"):
        score_docbins(gold, predicted)


def test_unknown_targets_are_errors(save):
    path = save("gold", make_doc())
    with pytest.raises(ValueError, match=r"P100.*spans, ents, tag, pos"):
        score_docbins(path, path, target="dep")
