import pytest

from spacy_psa.corpora.brackets import unescape_ontonotes, unescape_treebank


@pytest.mark.parametrize(
    "escaped,word",
    [
        ("-LRB-", "("),
        ("-RRB-", ")"),
        ("-LCB-", "{"),
        ("-RCB-", "}"),
        ("-LSB-", "["),
        ("-RSB-", "]"),
        ("1\\/2", "1/2"),
        ("\\*", "*"),
        ("\\*\\*", "**"),
        ("a\\|b", "a|b"),
    ],
)
@pytest.mark.parametrize("unescape", [unescape_treebank, unescape_ontonotes])
def test_escapes(unescape, escaped, word):
    assert unescape(escaped) == word


@pytest.mark.parametrize("word", ["-LRB", "--", "``", "''", "/", "and/or", "\\", "$", ".", "x"])
@pytest.mark.parametrize("unescape", [unescape_treebank, unescape_ontonotes])
def test_other_words_stay(unescape, word):
    assert unescape(word) == word


@pytest.mark.parametrize("mark", [".", "?", "-"])
def test_punctuation_of_speech_is_escaped_in_ontonotes_alone(mark):
    assert unescape_ontonotes(f"/{mark}") == mark
    assert unescape_treebank(f"/{mark}") == f"/{mark}"
