from collections import Counter

import pytest

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


def test_ill_formed_tags_are_counted_and_read_as_conlleval_does(tmp_path):
    tags = ["I-NP", "Q-NP", "O", "E-VP", "I-VP"]
    problems = Problems(lenient=True)
    (sentence,) = read_conll2000(write(tmp_path / "a.txt", tags), problems=problems)
    assert sentence.chunks == [(0, 2, "NP"), (3, 4, "VP"), (4, 5, "VP")]
    assert (problems.counts, problems.notes.total()) == ({"P116": 1}, 1), "the prefix Q, and E-VP"


@pytest.mark.parametrize(
    "name,n_sentences,n_tokens,n_labels", [("train", 8936, 211727, 11), ("test", 2012, 47377, 10)]
)
def test_counts_of_the_published_corpus(name, n_sentences, n_tokens, n_labels):
    sentences = list(read_conll2000(shared_corpus("conll2000") / f"{name}.txt"))
    labels = Counter(label for sentence in sentences for _, _, label in sentence.chunks)
    assert len(sentences) == n_sentences
    assert sum(len(sentence.words) for sentence in sentences) == n_tokens
    assert len(labels) == n_labels
