"""`psa attend`."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spacy

from ..analysis.inside import browse, is_png, numbers, tables
from ..figures.reading import SVG
from ..pipeline.conftest import NAME, make_nlp, tiny_model, train, trained_nlp
from ..pipeline.conftest import make_examples as examples_of
from .commands import plain, run, succeed

TEXT = "Ann saw <script>alert(1)</script> in New York ."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tagger"
    trained_nlp().to_disk(path)
    return path


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline whose second component sees the sentences set by the first."""
    nlp = make_nlp()
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("psa_tagger", name="names", config={"model": tiny_model(), "target": "ents"})
    nlp.initialize(lambda: examples_of(nlp))
    path = tmp_path_factory.mktemp("model") / "two"
    nlp.to_disk(path)
    return path


@pytest.fixture(scope="module")
def written(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that the command writes to the current folder by default."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert "Drew 6 images" in succeed("psa", "attend", model, TEXT)
    (path,) = folder.iterdir()
    assert path.name == "attend.html"
    return path


def test_page_is_written(model: Path, written: Path) -> None:
    page = written.read_text(encoding="utf8")
    assert ElementTree.fromstring(page).findtext("body/h1") == f"Inside {NAME} of {model.name}"
    assert "<script" not in page
    words = [row[0] for row in tables(page)["Tokens and their labels"][1:]]
    assert words == [token.text for token in spacy.load(model).make_doc(TEXT)]
    attention = numbers(tables(page)["Attention: context fusion 1"])
    assert attention.sum(axis=1) == pytest.approx([100.0] * len(words), abs=0.6)


def test_images_are_written_into_a_folder(model: Path, tmp_path: Path) -> None:
    succeed("psa", "attend", model, TEXT, "-o", tmp_path / "images")
    paths = sorted((tmp_path / "images").iterdir())
    assert [path.name for path in paths][:2] == [
        "1-attention-context-fusion-1.svg",
        "2-attention-context-fusion-2.svg",
    ]
    assert len(paths) == 6
    for path in paths:
        assert ElementTree.fromstring(path.read_text(encoding="utf8")).tag == f"{SVG}svg"


def test_one_image_has_all_of_them_below_each_other(model: Path, tmp_path: Path) -> None:
    succeed("psa", "attend", model, TEXT, "-o", tmp_path / "all.svg")
    root = ElementTree.fromstring((tmp_path / "all.svg").read_text(encoding="utf8"))
    parts = root.findall(f"{SVG}svg")
    assert len(parts) == 6
    assert sum(float(part.get("height")) for part in parts) == float(root.get("height"))
    assert all(float(part.get("width")) <= float(root.get("width")) for part in parts)


def test_images_of_an_earlier_run_are_told(model: Path, tmp_path: Path) -> None:
    words = ("psa", "attend", model, "Ann saw Bob .", "--output", tmp_path)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf8")
    assert "were there before" not in succeed(*words)
    assert "were there before" not in succeed(*words)
    (tmp_path / "99-gate.svg").write_text("<svg/>", encoding="utf8")
    message = " ".join(succeed(*words).split())
    assert "1 other images were there before, such as 99-gate.svg" in message
    assert (tmp_path / "99-gate.svg").is_file()


def test_images_in_a_folder_are_in_pixels_where_it_is_asked_for(
    model: Path, tmp_path: Path
) -> None:
    succeed("psa", "attend", model, TEXT, "-o", tmp_path / "images", "--format", "png")
    paths = sorted((tmp_path / "images").iterdir())
    assert paths[0].name == "1-attention-context-fusion-1.png"
    assert len(paths) == 6
    assert all(path.suffix == ".png" and is_png(path.read_bytes()) for path in paths)


def test_long_texts_are_cut_and_bytes_that_are_no_text_are_replaced(
    model: Path, tmp_path: Path
) -> None:
    succeed("psa", "attend", model, "a \udcff c d", "-o", tmp_path / "p.html", "--tokens", 2)
    page = (tmp_path / "p.html").read_text(encoding="utf8")
    assert "The first 2 of 4 tokens are shown." in page and "a \ufffd" in page


def test_component_can_be_chosen_and_sees_what_those_before_it_do(
    two: Path, tmp_path: Path
) -> None:
    options = ("-o", tmp_path / "p.html", "--component", "names")
    succeed("psa", "attend", two, "Ann eats. Bob saw ham.", *options)
    root = ElementTree.fromstring((tmp_path / "p.html").read_text(encoding="utf8"))
    assert root.findtext("body/h1") == f"Inside names of {two.name}"
    titles = [node.text for node in root.iter("h2")]
    assert titles == ["Sentence 1", "Sentence 2", "The model"]


def test_what_the_component_itself_writes_does_not_count(tmp_path: Path) -> None:
    nlp = make_nlp("ents")
    examples = examples_of(nlp)
    nlp.initialize(lambda: examples)
    train(nlp, examples, steps=2)
    nlp.to_disk(tmp_path / "model")
    succeed("psa", "attend", tmp_path / "model", "Bob saw Ann .", "-o", tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text(encoding="utf8")
    sure = [row[2] for row in tables(page)["Tokens and their labels"][1:]]
    # If the component saw its own entities as annotation, all labels would be certain.
    assert any(cell != "100.0" for cell in sure)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Ann", "-o", "images", "--format", "pdf"], r"\[P450\] 'pdf'.*'images'"),
        (["Ann", "-o", "page.svg", "--format", "png"], r"\[P450\] 'png'.*'page\.svg'"),
        (["", "-o", "page.html"], r"\[P380\]"),
    ],
)
def test_errors_leave_no_file(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("psa", "attend", model, *arguments)
    assert result.exit_code == 1
    assert re.search(message, " ".join(plain(result.output).split()))
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_checked_before_the_pipeline_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("psa", "attend", tmp_path / "nothing", "Ann", "-o", tmp_path / "file" / "a.html")
    assert result.exit_code == 1
    assert "Not a directory" in plain(result.output)


def test_no_pipeline_is_an_error(tmp_path: Path) -> None:
    result = run("psa", "attend", tmp_path / "none", "Ann")
    assert result.exit_code == 1
    assert "[E050]" in plain(result.output)


def test_a_browser_shows_the_page(written: Path, tmp_path: Path) -> None:
    shown, logged = browse(written, tmp_path / "profile")
    assert logged == []
    assert shown.count("<svg") == 6
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "Transitions" in shown


def test_a_browser_would_tell_of_errors(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><script>missing()</script>", encoding="utf8")
    _, logged = browse(page, tmp_path / "profile")
    assert any("missing is not defined" in line for line in logged)
