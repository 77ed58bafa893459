"""Escapes of special characters in the Penn Treebank and related corpora.

SOURCE: The README files of Treebank-2 (LDC95T7) and the OntoNotes 5.0 release notes (LDC2013T19).
"""

BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LCB-": "{",
    "-RCB-": "}",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LAB-": "<",
    "-RAB-": ">",
}
# OntoNotes escapes punctuation in transcribed speech, but not in written text.
SPOKEN_PUNCTUATION = {"/.": ".", "/?": "?", "/-": "-", "/,": ",", "/!": "!"}


def unescape_treebank(word: str) -> str:
    """Undo the escapes of the Penn Treebank: `-LRB-` is `(`, `1\\/2` is `1/2`, `\\*` is `*`."""
    if word in BRACKETS:
        return BRACKETS[word]
    if "\\" in word:
        return word.replace("\\/", "/").replace("\\*", "*").replace("\\|", "|")
    return word


def unescape_ontonotes(word: str) -> str:
    """Undo the escapes of OntoNotes: those of the treebank, and `/.` for `.` in speech."""
    return SPOKEN_PUNCTUATION.get(word) or unescape_treebank(word)
