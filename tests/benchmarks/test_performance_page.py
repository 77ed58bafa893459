"""The performance page, and the command that runs all of its benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as suite
from benchmarks import performance_page
from benchmarks.performance_page import PAGE, SECTIONS, make_pages
from benchmarks.performance_summary import span
from benchmarks.systems import RESULTS

MACHINE = {"processor": "P", "threads": 1, "torch": "2", "spacy": "3"}
STARTUP = {
    "machine": MACHINE,
    "clock": "wall",
    "device": "cpu",
    "repetitions": 3,
    "words": 10,
    "imports": {"spacy, torch": 2.0, "with spacy_psa": 2.1},
    "loading": {
        "empty pipeline": {"first": 0.75, "again": 0.2},
        "psa": {"first": 1.0, "again": 0.5},
    },
}
QUANTIZATION = {
    "machine": MACHINE,
    "repetitions": 3,
    "precision": "bf16",
    "systems": {
        "psa": {
            "speed": 1.5,
            "speed one by one": 1.25,
            "F1": {"full": 93.0, "reduced": 92.9},
            "model bytes": {"full": 4, "reduced": 2},
        }
    },
}


def test_the_pages_have_the_figures_of_the_results() -> None:
    pages = make_pages(RESULTS, PAGE)
    assert {path: path.read_text(encoding="utf8") for path in pages} == pages
    assert set(PAGE.with_suffix("").glob("*")) <= set(pages)


def test_what_is_not_measured_is_said(tmp_path: Path) -> None:
    pages = make_pages(tmp_path, tmp_path / "page.md")
    text = "".join(pages.values())
    assert text.count("Not measured yet: run `python -m benchmarks --only") == len(SECTIONS)
    assert "On a GPU" not in text


def test_results_are_shown_with_their_pictures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "startup.json").write_text(json.dumps(STARTUP), encoding="utf8")
    (folder / "startup.svg").write_text("<svg/>", encoding="utf8")
    (folder / "quantization.json").write_text(json.dumps(QUANTIZATION), encoding="utf8")
    gpu = {**STARTUP, "machine": {**MACHINE, "gpu": "G"}, "device": "cuda"}
    (folder / "startup-cuda.json").write_text(json.dumps(gpu), encoding="utf8")
    place = tmp_path / "page.md"
    options = ["--results", str(folder), "--page", str(place)]
    monkeypatch.setattr(sys, "argv", ["performance_page", *options])
    performance_page.main()
    startup, reduced = (
        (tmp_path / "page" / f"{name}.md").read_text(encoding="utf8")
        for name in ("startup", "quantization")
    )
    assert startup.count("| with spacy_psa | 1.050 | +0.10 |") == 2
    assert "![Startup time](../results/startup.svg)" in startup
    assert "| psa | 1.50 | 1.25 | -0.100 | 0.50 |" in reduced
    assert "Measured on G, with P, 1 thread(s)" in startup
    assert "## On a GPU" in startup and "On a GPU" not in reduced


def test_the_page_begins_with_a_screen_of_figures(tmp_path: Path) -> None:
    summary = make_pages(RESULTS, PAGE)[PAGE].partition("| measurement |")[0].splitlines()
    assert 10 < len(summary) <= 35
    (tmp_path / "startup.json").write_text(json.dumps(STARTUP), encoding="utf8")
    (tmp_path / "quantization.json").write_text(json.dumps(QUANTIZATION), encoding="utf8")
    first = tmp_path / "page.md"
    summary = make_pages(tmp_path, first)[first].partition("| measurement |")[0].splitlines()
    rows = [line for line in summary if line.startswith("| ") and "](" in line]
    assert rows == [
        "| Tagging in bfloat16 against float32 | psa 1.50 | [quantization](quantization.md) |",
        "| What `import spacy_psa` adds to spaCy and PyTorch | 0.10 s | [startup](startup.md) |",
    ]


def test_a_summary_has_the_lowest_and_the_highest_figure() -> None:
    assert span([2.0, 10.0, 9.0]) == "2.00 to 10.00"
    assert span([0.501, 0.502]) == "0.50"


def run_suite(monkeypatch: pytest.MonkeyPatch, options: str) -> list[list[str]]:
    """Run the suite with stubs for its scripts, of which `crf` fails."""
    commands: list[list[str]] = []

    def run(command: list[str], **settings: object) -> subprocess.CompletedProcess[str]:
        commands.append(command[1:])
        return subprocess.CompletedProcess(command, int("benchmarks.crf" in command))

    monkeypatch.setattr(suite, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(sys, "argv", ["benchmarks", *options.split()])
    suite.main()
    return commands


def test_the_suite_runs_what_it_can_and_says_what_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = run_suite(monkeypatch, "--only roofline startup quantization")
    scripts = [command[1] for command in commands]
    assert scripts == ["benchmarks.roofline", "benchmarks.startup", "benchmarks.performance_page"]
    assert "quantization: skipped" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="Failed: crf"):
        run_suite(monkeypatch, f"--output {tmp_path}")
    err = capsys.readouterr().err
    assert "components: skipped" in err and "[5/5] startup" in err


def test_options_reach_the_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = f"--data {tmp_path / 'd'} --vectors {tmp_path / 'v'} --runs {tmp_path / 'r'}"
    names = "roofline components quantization"
    roofline, components, quantization = run_suite(
        monkeypatch, f"--only {names} --quick --clock processor {data}"
    )
    assert roofline[4:8] == ["--clock", "processor", "--device", "cpu"]
    assert roofline[8:] == suite.SCRIPTS["roofline"].quick.split()
    assert components[components.index("--vectors") + 1] == str(tmp_path / "v")
    assert quantization[4:7] == [str(tmp_path / "r"), "--data", str(tmp_path / "d" / "test.spacy")]


def test_on_a_gpu_only_what_can_run_there_does(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = run_suite(monkeypatch, "--device cuda --only kernels scaling startup")
    scripts = [command[1] for command in commands]
    assert scripts == ["benchmarks.kernels", "benchmarks.scaling", "benchmarks.performance_page"]
    assert commands[0][-2:] == ["--device", "cuda"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_gpu_is_compared_with_the_cpu(
    device: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = f"--device {device} --only components --data {tmp_path}"
    (command, _) = run_suite(monkeypatch, options)
    assert ("--on-cpu" in command) is (device == "cuda")
