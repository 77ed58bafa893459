import pytest

from spacy_psa.annotation.propositions import Frame
from spacy_psa.corpora.sentence import Sentence
from spacy_psa.corpora.stats import CorpusStats

FULL = Sentence(
    ["I", "am", "here"],
    tags=["PRP", "", "RB"],
    lemmas=["I", "", ""],
    chunks=[(0, 1, "NP")],
    frames=[Frame(1, "be", None, [(0, 1, "A1"), (2, 3, "A2")]), Frame(2, None, None, [])],
    speakers="Ann",
    starts_document=True,
)
BARE = Sentence(["Oh"], ents=[])


def count(*sentences):
    stats = CorpusStats()
    assert list(stats.count(sentences)) == list(sentences)
    return stats


def test_labels_are_counted_however_many_sentences_there_are(monkeypatch):
    expected = count(*[FULL, BARE] * 5).to_dict()
    monkeypatch.setattr("spacy_psa.corpora.stats._N_WAITING", 3)
    assert count(*[FULL, BARE] * 5).to_dict() == expected
    assert expected["labels"]["tags"] == {"PRP": 5, "RB": 5}


def test_what_was_passed_is_counted_where_reading_ends_early():
    def sentences():
        yield FULL
        raise ValueError("broken")

    stats = CorpusStats()
    with pytest.raises(ValueError, match="broken"):
        list(stats.count(sentences()))
    assert stats.labels["tags"] == {"PRP": 1, "RB": 1}


def test_everything_is_counted():
    assert count(FULL, BARE).to_dict() == {
        "docs": 0,
        "documents": 1,
        "sentences": 2,
        "tokens": 4,
        "longest_sentence": 3,
        "lemmas": 1,
        "predicates": 2,
        "labels": {
            "tags": {"PRP": 1, "RB": 1},
            "chunks": {"NP": 1},
            "frames": {"A1": 1, "A2": 1},
            "speakers": {"Ann": 1},
            "ents": {},
        },
    }


def test_sums_are_the_counts_of_both():
    assert count(FULL) + count(BARE, FULL) == count(FULL, BARE, FULL)


def test_layers_without_labels_are_there():
    stats = count(BARE)
    assert stats.has("ents") and not stats.has("tags") and not stats.has("lemmas")
    assert ("ents", "0", "") in stats.rows()


def test_tables_name_the_most_frequent_labels():
    tags = [f"T{i}" for i in range(20)]
    stats = count(Sentence(["a"] * 20, tags=tags), Sentence(["b"], tags=["T19"]))
    (row,) = [row for row in stats.rows() if row[0] == "tags"]
    assert row[1] == "21"
    assert row[2].startswith("20: T19, T0, ") and row[2].endswith("T10, …")


def test_tables_have_fewer_of_labels_that_are_long():
    tags = [f"{'T' * 25}{i}" for i in range(4)]
    (row,) = [row for row in count(Sentence(["a"] * 4, tags=tags)).rows() if row[0] == "tags"]
    assert row[2] == f"4: {tags[0]}, {tags[1]}, …"
