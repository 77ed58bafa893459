"""`spacy-psa`, the commands without spaCy's command line."""

import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from spacy_psa.cli import psa_cli

from .documentation import entry_points


def test_help_is_shown_without_importing_spacy_or_torch() -> None:
    code = (
        "import sys; from spacy_psa.__main__ import main; sys.argv = ['spacy-psa', 'convert', "
        "'--help']\ntry: main()\nexcept SystemExit: pass\n"
        "print({'spacy', 'thinc', 'torch'} & set(sys.modules))"
    )
    before = os.times()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    after = os.times()
    assert "Usage: spacy-psa convert" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "set()"
    seconds = after.children_user + after.children_system
    assert seconds - before.children_user - before.children_system < 1.5


def test_commands_run_without_spacys_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.iob"
    path.write_text("Ann B-PER\nran O\n", encoding="utf8")
    command = ["spacy-psa", "convert", str(path), str(tmp_path / "a.spacy")]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        runpy.run_module("spacy_psa", run_name="__main__")
    assert end.value.code == 0 and (tmp_path / "a.spacy").is_file()


def test_the_shell_completes_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"_SPACY_PSA_COMPLETE": "complete_bash", "COMP_WORDS": "spacy-psa di", "COMP_CWORD": 1}
    for name, value in asked.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(SystemExit):
        psa_cli(prog_name="spacy-psa")
    assert capsys.readouterr().out == "distill\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes standard output")
def test_with_standard_output_closed_messages_are_lost_and_data_are_an_error(
    tmp_path: Path,
) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = f"{shlex.join([sys.executable, '-m', 'spacy_psa', *words])} >&-"
        return subprocess.run(line, shell=True, stderr=subprocess.PIPE, text=True)

    done = run("results", "--output", str(tmp_path / "results.md"))
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "results.md").is_file()
    done = run("help")
    assert done.returncode == 1 and "[P412] Standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_is_installed() -> None:
    assert ("console_scripts", "spacy-psa", "spacy_psa.__main__:main") in set(entry_points())


def test_commands_are_those_of_spacys_command_line() -> None:
    from spacy.cli._util import app

    (group,) = [group for group in app.registered_groups if group.typer_instance is psa_cli]
    assert group.typer_instance.info.name == "psa"
