"""How the commands are listed and explained."""

from __future__ import annotations

import pytest
from click.testing import Result
from typer.main import get_command
from typer.testing import CliRunner

from spacy_psa.cli import psa_cli
from spacy_psa.cli._util import PANELS, paper_cli

COMMANDS = get_command(psa_cli).commands
PAPER = sorted(get_command(paper_cli).commands)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(psa_cli, list(arguments))


def test_each_command_is_listed_once_in_a_panel() -> None:
    lines = run("--help").output.splitlines()
    places = [lines.index(f"{panel}:") for panel in PANELS]
    assert places == sorted(places)
    listed = [line.split()[0] for line in lines[places[0] :] if line.startswith("  ")]
    assert sorted(listed) == sorted(name for name, found in COMMANDS.items() if not found.hidden)


def test_commands_of_papers_have_two_names() -> None:
    assert sorted(name for name, found in COMMANDS.items() if found.hidden) == PAPER
    found = [line.split()[0] for line in run("paper", "--help").output.splitlines()[-len(PAPER) :]]
    assert sorted(found) == PAPER
    for name in PAPER:
        short, whole = run(name, "--help").output, run("paper", name, "--help").output
        assert short.splitlines()[1:] == whole.splitlines()[1:]


@pytest.mark.parametrize("words", [(), ("train",), ("paper",), ("paper", "fetch")])
def test_help_is_that_of_the_option(words: tuple[str, ...]) -> None:
    done = run("help", *words)
    assert done.exit_code == 0
    assert done.output == run(*words, "--help").output


def test_help_on_what_is_not_there_is_an_error() -> None:
    done = run("help", "trian")
    assert done.exit_code == 2 and "trian" in done.output


@pytest.mark.parametrize("words", [(), ("paper",)])
def test_every_summary_is_a_whole_sentence_in_80_columns(words: tuple[str, ...]) -> None:
    """`spacy psa --help` is as wide as the terminal, at most 80 columns."""
    for arguments in ((*words, "--help"), ("help", *words)):
        listed = CliRunner().invoke(psa_cli, list(arguments), terminal_width=80).output
        commands = get_command(paper_cli if words else psa_cli).commands.values()
        lines = listed.splitlines()
        for command in commands:
            if not command.hidden:
                (line,) = (line for line in lines if line.split()[:1] == [command.name])
                summary = line.split(maxsplit=1)[1]
                assert summary.endswith(".") and not summary.endswith("..."), line
                assert len(line) <= 80
