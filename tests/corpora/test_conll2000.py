from collections import Counter

import pytest

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.corpora.columns import read_columns
from spacy_psa.corpora.iob import read_conll2000
from spacy_psa.corpora.problems import Problems

from .shared import shared_corpus

TAGS = ["B-NP", "B-VP", "B-NP", "I-NP", "O"]
WORDS = ["He", "saw", "the", "deficits", "."]


def write(path, chunk_tags):
    rows = zip(WORDS, ["PRP", "VBD", "DT", "NNS", "."], chunk_tags, strict=True)
    path.write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf8")
    return path


def test_sentence_has_words_tags_and_chunks_but_no_entities(tmp_path):
    (sentence,) = read_conll2000(write(tmp_path / "a.txt", TAGS))
    assert sentence.words == WORDS
    assert sentence.tags == ["PRP", "VBD", "DT", "NNS", "."]
    assert sentence.chunks == [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")]
    assert sentence.ents is None
    assert (sentence.starts_document, sentence.line) == (False, 1)


@pytest.mark.parametrize("scheme", ["IOB1", "BIOES", "IO"])
def test_other_schemes_give_the_same_chunks(tmp_path, scheme):
    tags = SCHEMES[scheme].encode(SCHEMES["BIO"].decode(TAGS), len(TAGS))
    (sentence,) = read_conll2000(write(tmp_path / "a.txt", tags))
    assert sentence.chunks == [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")]


def test_ill_formed_tags_are_counted_and_read_as_conlleval_does(tmp_path):
    tags = ["I-NP", "Q-NP", "O", "E-VP", "I-VP"]
    problems = Problems(lenient=True)
    (sentence,) = read_conll2000(write(tmp_path / "a.txt", tags), problems=problems)
    assert sentence.chunks == [(0, 2, "NP"), (3, 4, "VP"), (4, 5, "VP")]
    assert (problems.counts, problems.notes.total()) == ({"P116": 1}, 1), "the prefix Q, and E-VP"


def test_a_sentence_without_chunks_has_an_empty_list(tmp_path):
    (sentence,) = read_conll2000(write(tmp_path / "a.txt", ["O"] * 5))
    assert sentence.chunks == []


def test_a_column_that_has_no_tags_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"P116.*line 2: 'NP' in column chunk"):
        list(read_conll2000(write(tmp_path / "a.txt", ["B-NP", "NP", "O", "O", "O"])))


@pytest.mark.parametrize(
    "name,n_sentences,n_tokens,n_labels", [("train", 8936, 211727, 11), ("test", 2012, 47377, 10)]
)
def test_counts_of_the_published_corpus(name, n_sentences, n_tokens, n_labels):
    sentences = list(read_conll2000(shared_corpus("conll2000") / f"{name}.txt"))
    labels = Counter(label for sentence in sentences for _, _, label in sentence.chunks)
    assert len(sentences) == n_sentences
    assert sum(len(sentence.words) for sentence in sentences) == n_tokens
    assert len(labels) == n_labels


def test_chunks_give_back_the_tags_of_the_published_corpus():
    path = shared_corpus("conll2000") / "test.txt"
    pairs = zip(read_columns(path, ("word", "POS", "chunk")), read_conll2000(path), strict=True)
    for rows, sentence in pairs:
        tags = SCHEMES["BIO"].encode(sentence.chunks, len(sentence.words))
        assert tags == [row.columns[2] for row in rows]
