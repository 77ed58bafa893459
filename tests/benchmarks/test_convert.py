import pytest
from spacy.cli.convert import convert as spacy_convert
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from benchmarks import convert
from spacy_psa.corpora.formats import get_format


@pytest.fixture
def cases(tmp_path, monkeypatch):
    """The files built from the sample corpus, without repeating it."""
    monkeypatch.setenv("PSA_SHARED", str(tmp_path / "nothing"))
    monkeypatch.setattr(convert, "MIN_LINES", 0)
    return convert.make_cases(tmp_path)


def test_both_sides_read_the_same_words_and_entities(cases, tmp_path):
    for case in cases:
        spacy_convert(
            case.path, tmp_path, file_type="spacy", n_sents=1, converter=case.converter, silent=True
        )
        path = (tmp_path / case.path.name).with_suffix(".spacy")
        theirs = list(DocBin().from_disk(path).get_docs(Vocab()))
        # spaCy's converter turns document boundaries into Docs.
        theirs = [doc for doc in theirs if doc[0].text != "-DOCSTART-"]
        ours = list(get_format(case.form).read(case.path))
        assert [[token.text for token in doc] for doc in theirs] == [s.words for s in ours]
        if case.form != "conllu":
            found = [[(e.start, e.end, e.label_) for e in doc.ents] for doc in theirs]
            assert found == [s.ents for s in ours]


def test_results_are_rates_of_every_stage(cases, tmp_path):
    result = convert.run_case(cases[1], tmp_path, repeat=2)
    assert result["lines"] == cases[1].path.read_text(encoding="utf8").count("\n")
    stages = {"spacy convert", "psa convert", "read", "read into Docs"}
    assert set(result["lines_per_second"]) == stages
    for rate in result["lines_per_second"].values():
        assert 0 < rate["lowest"] <= rate["median"] <= rate["highest"]


def test_tables_have_a_row_for_each_corpus_and_the_ratio():
    rates = {"spacy convert": {"median": 20_000}, "psa convert": {"median": 50_000}}
    results = {
        "machine": convert.describe_machine(),
        "repetitions": 3,
        "cases": [{"name": "a corpus", "lines": 1234, "lines_per_second": rates}],
        "corpora": [],
        "start_up_seconds": {"spacy convert": 1.25},
    }
    text = convert.to_markdown(results)
    assert "| a corpus | 1,234 | 20 | 50 | 2.50 |" in text
    assert "1.2 s for `spacy convert`" in text
    rates = {"tag": {"median": 300_000}, "all": {"median": 120_000}, "export": {"median": 99_000}}
    results["corpora"] = [
        {"name": "another", "format": "iob", "lines": 5, "lines_per_second": rates}
    ]
    assert "| another | iob | 5 | 300 |  |  |  |  |  |  |  | 120 | 99 |" in (
        convert.to_markdown(results)
    )


def test_each_target_of_a_corpus_is_timed_and_the_export(tmp_path, monkeypatch):
    folder = tmp_path / "shared" / "corpora" / "conll2000"
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("He PRP B-NP\nruns VBZ B-VP\n\n", encoding="utf8")
    monkeypatch.setenv("PSA_SHARED", str(tmp_path / "shared"))
    [corpus] = convert.run_corpora(tmp_path, repeat=1)
    assert (corpus["format"], corpus["lines"]) == ("conll2000", 3)
    assert list(corpus["lines_per_second"]) == ["tag", "spans", "all", "export"]


def test_lines_of_words_and_propositions_are_both_counted(tmp_path, monkeypatch):
    folder = tmp_path / "shared" / "corpora" / "ewt_srl"
    folder.mkdir(parents=True)
    (folder / "dev.words").write_text("He\nruns\n\n", encoding="utf8")
    (folder / "dev.props").write_text("-\t(A0*)\nrun\t(V*)\n\n", encoding="utf8")
    monkeypatch.setenv("PSA_SHARED", str(tmp_path / "shared"))
    [corpus] = convert.run_corpora(tmp_path, repeat=1)
    assert corpus["lines"] == 6
