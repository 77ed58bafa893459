import json

import pytest
from spacy.cli._util import app
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.cli.conlleval import score_docbins

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


def test_command_prints_the_table_and_writes_the_scores(save, tmp_path):
    path = save("gold", make_doc(chunks=[(0, 2, "NP"), (2, 3, "VP")]))
    output = tmp_path / "scores.json"
    arguments = ["psa", "conlleval", path, path, "--output", output]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0
    assert "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 2.\n" in result.output
    assert "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n" in result.output
    assert json.loads(output.read_text())["per_type"]["VP"]["f1"] == 1.0


def test_missing_span_groups_are_errors_that_name_those_there_are(save):
    path = save("gold", make_doc(chunks=[]))
    with pytest.raises(ValueError, match=r"P126.*Doc 1 in .*gold.*spans\['sc'\].*: chunks"):
        score_docbins(path, path, spans_key="sc")


@pytest.mark.parametrize("target", ["ents", "tag", "pos"])
def test_missing_annotation_is_an_error(save, target):
    path = save("gold", make_doc())
    with pytest.raises(ValueError, match=f"P126.*no annotation of {target}"):
        score_docbins(path, path, target=target)


def test_missing_predictions_are_an_error(save):
    gold, predicted = save("gold", make_doc(chunks=[])), save("predicted", make_doc())
    with pytest.raises(ValueError, match=r"P126.*predicted\.spacy"):
        score_docbins(gold, predicted)


def test_overlapping_spans_are_errors(save):
    path = save("gold", make_doc(chunks=[(0, 2, "NP"), (1, 3, "VP")]))
    with pytest.raises(ValueError, match="P102"):
        score_docbins(path, path)


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
    with pytest.raises(ValueError, match=r"P127.*spans, ents, tag, pos"):
        score_docbins(path, path, target="dep")
