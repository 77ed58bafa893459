"""Texts that are read from right to left stand so on pages, whatever else is in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
import torch
from spacy.tokens import Doc

from spacy_psa.analysis.lattice import draw_lattice, make_lattice
from spacy_psa.evaluation import evaluate, make_layer, pair_sentences
from spacy_psa.evaluation.report_page import to_html
from spacy_psa.figures.pages import render
from spacy_psa.inference import LinearChain, Potentials

from .browser import BROWSER, WITHOUT_BROWSER, browsing

# A name in Latin letters between Hebrew words: in a line that is read from left to right, what
# comes before the name stands left of it
WORDS = ["דוד", "גר", "עם", "Alice", "בתל", "אביב"]
TEXT = " ".join(WORDS)
# The left edges of words in the first element with a selector
EDGES = """(([selector, ...words]) => words.map((word) => {
  const texts = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const start = texts.currentNode.data.indexOf(word);
    if (start < 0) continue;
    range.setStart(texts.currentNode, start);
    range.setEnd(texts.currentNode, start + word.length);
    return range.getBoundingClientRect().left;
  }
}))(%s)"""


def evaluation() -> str:
    vocab = spacy.blank("xx").vocab
    gold = Doc(vocab, words=WORDS, ents=["O", "O", "O", "B-PER", "O", "O"])
    predicted = Doc(vocab, words=WORDS, ents=["O"] * len(WORDS))
    layer = make_layer("ents", spans_key="")
    return to_html([evaluate(pair_sentences([gold], [predicted], layer), layer)], "Evaluation")


def attention() -> str:
    return render("attention.html.jinja", "Inside", text=TEXT, intro="", parts=[])


def lattice() -> str:
    chain = LinearChain(Potentials(torch.zeros(len(WORDS), 2), [len(WORDS)]))
    drawing = draw_lattice(make_lattice(chain, WORDS, ["O", "S-PER"]), TEXT)
    return render("plots.html.jinja", "Lattice", intro="", images=[drawing], tables=[])


@pytest.mark.skipif(BROWSER is None, reason=WITHOUT_BROWSER)
@pytest.mark.parametrize(
    ("make", "selector"),
    [
        (evaluation, "ul:last-of-type li"),
        (attention, "blockquote"),
        (lattice, 'text[font-size="14"]'),
    ],
)
def test_words_stand_from_right_to_left(
    make: Callable[[], str], selector: str, tmp_path: Path
) -> None:
    with browsing(tmp_path) as tab:
        tab.show(make(), 1200)
        first, name, last = tab.run(EDGES % [selector, "דוד", "Alice", "אביב"])
    assert first > name > last
