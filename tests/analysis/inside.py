"""Pipelines to inspect, and helpers that read the pages about them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Config

from spacy_psa.analysis.activations import labeler_networks
from spacy_psa.analysis.attention import Insight, Layer, look_inside
from spacy_psa.layers.labeler import SequenceLabelerNetwork
from spacy_psa.pipeline.components import Component

from ..pipeline.conftest import SPANS, WORDS, initialized_nlp, tiny_model
from ..test_systems import read_config, small

torch.set_num_threads(1)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SENTENCE = ["Ann", "likes", "new", "ham", "."]
CLOSE = 2e-5  # tolerance for the sum of a few float32 products


def is_png(data: bytes) -> bool:
    """Whether the data begins and ends like a PNG image."""
    return data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")


def system_nlp(system: str) -> Language:
    """A chunking system from `configs`, small and initialized."""
    config = read_config(system, "spans")
    nlp = load_model_from_config(Config().from_str(config.to_str(), overrides=small(config)))
    examples = []
    for words, spans in zip(WORDS, SPANS, strict=True):
        doc = Doc(nlp.vocab, words=words)
        doc.spans["chunks"] = [Span(doc, *span) for span in spans]
        examples.append(Example(Doc(nlp.vocab, words=words), doc))
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    return nlp


def paper_nlp() -> Language:
    """An initialized tagger with the paper's mask: no token attends to itself."""
    masks = {f"encoder__{x}_fusion__bias__self_mask": True for x in ("first", "second")}
    return initialized_nlp(model=tiny_model(**masks))


def ours(nlp: Language) -> Component:
    """The last of our components in the pipeline."""
    return [pipe for _, pipe in nlp.pipeline if isinstance(pipe, Component)][-1]


def network_of(nlp: Language) -> SequenceLabelerNetwork:
    """The network of that component."""
    return labeler_networks(ours(nlp).model)[0]


@contextmanager
def inputs(network: torch.nn.Module, kind: type) -> Iterator[dict[str, NDArray[np.float64]]]:
    """The inputs of all layers of a type for the first sequence of a batch, by layer name."""
    found: dict[str, NDArray[np.float64]] = {}

    def record(name: str, layer: torch.nn.Module) -> Any:
        def hook(layer: Any, args: tuple[Any, ...]) -> None:
            x, mask = args
            found[name] = mask.unpack(x)[0].detach().double().numpy()

        return layer.register_forward_pre_hook(hook)

    handles = [record(n, layer) for n, layer in network.named_modules() if isinstance(layer, kind)]
    yield found
    for handle in handles:
        handle.remove()


def make_doc(nlp: Language, words: Sequence[str] = SENTENCE, starts: tuple[int, ...] = ()) -> Doc:
    """A document without annotation, except for sentence starts if given."""
    sentences = [i in starts for i in range(len(words))] if starts else None
    return Doc(nlp.vocab, words=words, sent_starts=sentences)


def look(nlp: Language, words: Sequence[str] = SENTENCE, **settings: int) -> Insight:
    """Inspect the component on the given words."""
    return look_inside(ours(nlp), make_doc(nlp, words), **settings)


def layers_with(insight: Insight, name: str, passage: int = 0) -> list[Layer]:
    """The layers of a passage that show the named kind of value."""
    return [x for x in insight.passages[passage].layers if name in x.view.values]


def parse(page: str) -> ElementTree.Element:
    """Parse a page as XML, which fails unless the page is well-formed."""
    return ElementTree.fromstring(page)


def tables(page: str) -> dict[str, list[list[str]]]:
    """The cells of a page's tables by caption, including row and column names."""
    return {
        table.findtext("caption"): [
            ["".join(cell.itertext()) for cell in row] for row in table.iter("tr")
        ]
        for table in parse(page).iter("table")
    }


def numbers(table: list[list[str]]) -> NDArray[np.float64]:
    """The numbers in a table; NaN for empty cells."""
    return np.array([[float(cell or "nan") for cell in row[1:]] for row in table[1:]])


def browse(page: Path, profile: Path) -> tuple[str, list[str]]:
    """Open a page in a browser and return its DOM and console messages."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command = [browser, *options, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
