import pytest
import srsly
from spacy.cli._util import app
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.cli.check import check, require, tables
from spacy_psa.cli.convert import convert
from spacy_psa.corpora import published
from tests.corpora.shared import shared_corpus

from .commands import run as run_spacy

STATS = """<?xml version="1.0" encoding="UTF-8"?>
<treebank>
  <size>
    <total><sentences>3</sentences><tokens>5</tokens><words>6</words><fused>1</fused></total>
    <train><sentences>2</sentences><tokens>4</tokens></train>
  </size>
</treebank>
"""


def run(*arguments):
    return run_spacy("psa", "check", *arguments)


def flat(text):
    return " ".join(text.split())


def make_doc(vocab):
    """Two sentences with three tokens and every kind of annotation that is counted."""
    doc = Doc(
        vocab,
        words=["EU", "rejects", "It"],
        tags=["NNP", "VBZ", "NNP"],
        sent_starts=[True, False, True],
        ents=["B-ORG", "O", "B-ORG"],
    )
    doc.spans["chunks"] = [Span(doc, 0, 1, "NP"), Span(doc, 1, 2, "VP"), Span(doc, 2, 3, "NP")]
    doc.spans["frames"] = [Span(doc, 1, 2, "reject.01")]
    return doc


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "corpus.spacy"
    DocBin(docs=[make_doc(Vocab())]).to_disk(path)
    return path


@pytest.fixture
def known(tmp_path, monkeypatch):
    """Published statistics of a corpus, which `path` matches completely."""
    figures = [
        {"count": "sentences", "splits": {"train": 4}, "offset": {"train": 2}, "why": "twice"},
        {"count": "tokens", "splits": {"train": 3}},
        {"count": "tags", "splits": {"train": 99}, "unchecked": "another tag set"},
        {"count": "entities", "splits": {"train": 2, "dev": 5}},
        {"count": "entity types", "splits": {"train": 1}},
        {"count": "chunks", "splits": {"train": 3}},
        {"count": "chunk types", "splits": {"train": 2}},
        {"count": "predicates", "splits": {"train": 1}},
    ]
    entry = {
        "title": "A corpus",
        "license": "none",
        "obtain": "Buy it from A. B. (https://example.org).",
        "where": "https://example.org",
        "folder": "assets/known",
        "figures": [{**figure, "source": "somewhere"} for figure in figures],
    }
    unknown = {**entry, "title": "Another", "obtain": None, "figures": []}
    data = tmp_path / "published.json"
    srsly.write_json(data, {"known": entry, "unknown": unknown})
    monkeypatch.setattr(published, "PATH", data)
    published.published_corpora.cache_clear()
    yield
    published.published_corpora.cache_clear()


def test_everything_that_figures_are_about_is_counted():
    counter = published.Counter()
    counter.add([make_doc(Vocab()), make_doc(Vocab())])
    assert counter.numbers == {
        "sentences": 4,
        "tokens": 6,
        "tags": 2,
        "chunks": 6,
        "chunk types": 2,
        "entities": 4,
        "entity types": 1,
        "predicates": 2,
    }


def test_documents_without_sentence_boundaries_count_as_one_sentence():
    counter = published.Counter()
    counter.add([Doc(Vocab(), words=["a", "b"]), Doc(Vocab(), words=["c"])])
    assert counter.numbers["sentences"] == 2
    assert counter.numbers["chunks"] == counter.numbers["predicates"] == 0


def test_a_complete_corpus_is_as_published(known, path):
    numbers, compared = check([path], corpus="known")
    assert numbers["sentences"] == 2
    assert "sentences" in compared and "predicates" in compared
    assert "tags" not in compared
    result = run(path, "--corpus", "known")
    assert result.exit_code == 0
    assert "Matches published figures: sentences, tokens, entities" in flat(result.output)


def test_differences_are_listed_with_their_source_and_way_of_counting(known, path):
    result = run(path, path, "--corpus", "known", "--split", "train")
    assert result.exit_code == 1
    output = flat(result.output)
    assert "[P172]" in output and "Traceback" not in output
    assert "4 sentences instead of 2 (published: 4, since twice) [somewhere]" in output
    assert "6 tokens instead of 3 [somewhere]" in output
    assert "entity types" not in output


def test_files_of_a_split_are_added_up(known, path):
    with pytest.raises(ValueError, match="4 entities instead of 5"):
        check([path, path], corpus="known", split="dev")


def test_nothing_to_compare_with_is_said(known, path):
    result = run(path, "--corpus", "unknown")
    assert result.exit_code == 0
    assert "No published figures for unknown (train)" in flat(result.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "nothing"], r"P100.*'nothing'.*known, unknown"),
        (["--corpus", "known", "--split", "test"], r"P171.*'test' of known.*train, dev"),
        ([], "P175"),
    ],
)
def test_wrong_options_are_errors(known, path, arguments, message):
    result = run(path, *arguments)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    for part in message.split(".*"):
        assert part in flat(result.output)


def test_missing_files_are_errors(known, tmp_path):
    result = run(tmp_path / "nothing.spacy", "--corpus", "known")
    assert result.exit_code == 1
    assert "[P109]" in result.output


def test_no_file_is_an_error(known):
    assert "[P175]" in run("--corpus", "known").output


def test_size_of_a_treebank_is_compared_with_its_own_statistics(path, tmp_path):
    stats = tmp_path / "stats.xml"
    stats.write_text(STATS, encoding="utf8")
    with pytest.raises(ValueError, match=r"P172.*2 sentences instead of 3.*3 tokens instead of 6"):
        check([path], stats_path=stats, split="total")
    # If no token is split, the statistics may lack the number of words.
    with pytest.raises(ValueError, match=r"P172.*3 tokens instead of 4 \[stats\.xml"):
        check([path], stats_path=stats, split="train")


def test_a_corpus_is_compared_with_one_kind_of_figures(known, path, tmp_path):
    result = run(path, "--corpus", "known", "--stats", tmp_path / "stats.xml")
    assert result.exit_code == 1 and "P272" in result.output and "stats.xml" in flat(result.output)


def test_treebank_without_statistics_is_compared_with_nothing(path, tmp_path):
    result = run(path, "--stats", tmp_path / "stats.xml", "--split", "total")
    assert result.exit_code == 0
    assert "There is no" in flat(result.output)


@pytest.mark.parametrize("text", [STATS, "<treebank/>", "no XML", "<a><size><dev/></size></a>"])
def test_treebank_statistics_without_the_split_are_an_error(path, tmp_path, text):
    stats = tmp_path / "stats.xml"
    stats.write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match=r"P174.*stats\.xml.*'dev'"):
        check([path], stats_path=stats, split="dev")


def test_missing_files_of_a_licensed_corpus_say_where_to_get_them(known, tmp_path):
    result = CliRunner().invoke(
        app, ["psa", "require", str(tmp_path / "nothing"), "--corpus", "known"]
    )
    assert result.exit_code == 1
    assert "Buy it from A. B. (https://example.org)." in flat(result.output)


def test_missing_files_of_a_free_corpus_name_its_address(known, tmp_path):
    message = r"P173.*nothing\. Get it from https://example\.org, and put it in assets/known\."
    with pytest.raises(ValueError, match=message):
        require([tmp_path / "nothing"], corpus="unknown")


def test_an_empty_folder_is_not_a_corpus(known, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="P173"):
        require([tmp_path / "empty"], corpus="known")


def test_files_that_are_there_are_found(known, path):
    result = CliRunner().invoke(
        app, ["psa", "require", str(path), str(path.parent), "--corpus", "known"]
    )
    assert result.exit_code == 0


def test_table_shows_published_numbers_and_remarks(known):
    output = run("--table", "--corpus", "known").output
    assert "### A corpus" in output
    assert "|  | train | dev | source | remarks |" in output
    assert "| sentences | 4 |  | somewhere | twice (+2) |" in output
    assert "| tags | 99 |  | somewhere | not compared: another tag set |" in output
    assert "| entities | 2 | 5 | somewhere |  |" in output


def test_tables_of_all_corpora_are_those_with_figures():
    titles = [c.title for c in published.published_corpora().values() if c.figures]
    text = run("--table").output
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == titles
    assert text.strip() == tables(list(published.published_corpora())).strip()


def test_published_figures_are_of_known_kinds_with_a_source():
    for corpus in published.published_corpora().values():
        for figure in corpus.figures:
            assert figure.count in published.COUNTS
            assert figure.source
            assert set(figure.splits) <= set(published.SPLITS)
            assert set(figure.offset) <= set(figure.splits)
            assert bool(figure.offset) == bool(figure.why)


def test_figures_that_count_the_same_agree():
    """Published figures that count the same thing must be equal."""
    for corpus in published.published_corpora().values():
        expected = {}
        for split in corpus.splits:
            for figure in corpus.checked(split):
                n = expected.setdefault((figure.count, split), figure.expected(split))
                assert n == figure.expected(split), (corpus.name, figure)


def test_conll2000_is_as_published(tmp_path):
    output = tmp_path / "test.spacy"
    convert(shared_corpus("conll2000") / "test.txt", output, form="conll2000")
    assert check([output], corpus="conll2000", split="test")[1] == ["sentences", "tokens", "chunks"]


def test_truncated_corpus_is_not_as_published(tmp_path):
    lines = (shared_corpus("conll2000") / "test.txt").read_text(encoding="utf8").splitlines()
    path, output = tmp_path / "test.txt", tmp_path / "test.spacy"
    path.write_text("\n".join(lines[:2000]), encoding="utf8")
    convert(path, output, form="conll2000")
    with pytest.raises(ValueError, match=r"P172.* sentences instead of 2,012.* of 47,377.* chunks"):
        check([output], corpus="conll2000", split="test")
