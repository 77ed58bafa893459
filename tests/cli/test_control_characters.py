"""Labels, words, names of components and files that would control a terminal, in every command."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_psa.printable import CONTROLS

from ..robustness.pipelines import SYSTEMS, labeler, shake
from .commands import plain, run, succeed

ODD = "\x1b[31m\x07\x9b\u202e<&\"'|"
NAME, LABEL, WORD = f"ner{ODD}", f"PER{ODD}", f"Ann{ODD}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nlp = spacy.blank("xx")
    config = {"model": labeler(*SYSTEMS["psa"]), "target": "ents"}
    pipe = nlp.add_pipe("psa_tagger", name=NAME, config=config)
    pipe.initialize(lambda: [Example(doc.copy(), doc) for doc in documents()], nlp=nlp)
    shake(pipe.model, 0)
    path = tmp_path_factory.mktemp("odd") / f"model{ODD}"
    nlp.to_disk(path)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd") / f"data{ODD}.spacy"
    DocBin(docs=documents()).to_disk(path)
    return path


def documents() -> list[Doc]:
    vocab = spacy.blank("xx").vocab
    docs = [Doc(vocab, words=[WORD, "saw", name, "."]) for name in ("Bob", WORD, "Rome") * 3]
    for i, doc in enumerate(docs):
        doc.ents = [Span(doc, 0, 1, LABEL), *([Span(doc, 2, 3, "B")] if i % 2 else [])]
    return docs


def assert_safe(output: str, *files: Path) -> None:
    """Check that the colors of messages are all that controls the terminal, and that files are well
    formed and contain no control characters."""
    assert CONTROLS.findall(plain(output)) == []
    for path in files:
        text = path.read_text(encoding="utf8")
        assert CONTROLS.findall(text) == []
        if path.suffix in (".svg", ".html"):
            ElementTree.fromstring(text)


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("evaluate MODEL DATA --resamples 5 --errors 3 -o OUT", ".html"),
        ("evaluate MODEL DATA --resamples 5 --errors 3 -o OUT", ".md"),
        ("compare MODEL DATA DATA --trials 5 -o OUT", ".md"),
        ("draw MODEL -o OUT", ".svg"),
        ("lattice MODEL WORD -o OUT", ".svg"),
        ("attend MODEL WORD -o OUT", ".html"),
        ("attend MODEL WORD -o OUT", ".svg"),
        ("labels MODEL -o OUT", ".svg"),
        ("labels MODEL MODEL -o OUT", ".html"),
        ("calibrate MODEL DATA --output COPY --plot OUT", ".svg"),
        ("conlleval DATA MODEL --target ents", ""),
        ("conlleval DATA DATA --target ents", ""),
        ("tag MODEL WORD", ""),
        ("split DATA COPY.spacy REST.spacy -n 2", ""),
        ("export DATA -o COPY.conll -f conll2003", ""),
        ("quantize MODEL -o COPY", ""),
    ],
)
def test_no_command_lets_them_through(
    model: Path, data: Path, tmp_path: Path, command: str, ending: str
) -> None:
    places = {"MODEL": model, "DATA": data, "WORD": f"{WORD} saw Bob"}
    output = tmp_path / f"out{ODD}{ending}"
    words = [
        str(
            places.get(
                word, output if word == "OUT" else word.replace("COPY", f"{tmp_path}/c{ODD}")
            )
        )
        for word in command.replace("REST", f"{tmp_path}/rest").split(" ")
    ]
    assert_safe(succeed("psa", *words), *([output] if ending else []))


@pytest.mark.parametrize(
    "arguments",
    [
        (f"no{ODD}",),
        (f"convert{ODD}", "a", "b"),
        ("convert", f"no{ODD}.conll", "out.spacy"),
        ("convert", f"--no{ODD}", "a", "b"),
        ("evaluate", f"no{ODD}", "b.spacy"),
        ("init-config", "o.cfg", "--target", "ents", "--system", f"no{ODD}"),
    ],
)
def test_no_error_lets_them_through(arguments: tuple[str, ...]) -> None:
    result = run("psa", *arguments)
    assert result.exit_code in (1, 2)
    assert r"\x1b[31m" in plain(result.output)
    assert_safe(result.output)


def test_training_does_not_let_them_through(model: Path, data: Path, tmp_path: Path) -> None:
    config = spacy.load(model).config
    corpus = {"@readers": "spacy.Corpus.v1", "path": str(data)}
    config["corpora"] = {"train": corpus, "dev": corpus}
    config["training"].update(max_steps=2, logger={"@loggers": "spacy_psa.JsonlLogger.v1"})
    config.to_disk(tmp_path / f"c{ODD}.cfg")
    run_folder = tmp_path / f"run{ODD}"
    output = succeed("psa", "train", tmp_path / f"c{ODD}.cfg", "-o", run_folder)
    assert "LOSS" in output
    assert_safe(output)
    pages = [tmp_path / f"curves{ending}" for ending in (".svg", ".html")]
    assert_safe(succeed("psa", "curves", run_folder, "-o", pages[0], "-o", pages[1]), *pages)


def test_a_file_with_them_is_converted_safely(tmp_path: Path) -> None:
    path = tmp_path / f"in{ODD}.conll"
    path.write_text(f"Ann{ODD} B-PER{ODD}\nsaw O\n\nBob I-PER{ODD}\n\n", encoding="utf8")
    assert_safe(run("psa", "convert", path, tmp_path / "o.spacy", "-f", "iob", "--lenient").output)
