"""The table of docs/corpora.md that shows files and the options that read them."""

import re
import shlex

import pytest
from spacy.cli._util import app
from typer.testing import CliRunner

import spacy_psa.cli  # noqa: F401  (adds the commands to spaCy's)
from tests.documentation import ROOT

from .rendering import render_docbin

PAGE = (ROOT / "docs" / "corpora.md").read_text(encoding="utf8")
TABLE = PAGE.partition("| my file looks like this |")[2].partition("\n\n")[0]
ROWS = [re.split(r"(?<!\\) *\| ?", line.strip("| "))[:3] for line in TABLE.splitlines()[2:]]


@pytest.mark.parametrize("text,options,expected", ROWS)
def test_files_that_look_like_those_in_the_documentation_are_read(
    tmp_path, text, options, expected
):
    lines = re.findall("`([^`]+)`", text.replace("\\|", "|").replace("→", "\t"))
    path, output = tmp_path / "file", tmp_path / "a.spacy"
    path.write_text("\n".join(lines), encoding="utf8")
    command = shlex.split(options.strip("` "))
    result = CliRunner().invoke(app, ["psa", "convert", str(path), str(output), *command])
    assert result.exit_code == 0, result.output
    assert render_docbin(output) == " | ".join(re.findall("`([^`]+)`", expected))


def test_the_table_is_there():
    assert len(ROWS) > 15
