import shlex

import pytest
from spacy.cli._util import app
from typer.testing import CliRunner

import spacy_psa.cli  # noqa: F401  (adds the commands to spaCy's)

from .oddities import ODDITIES
from .rendering import render_docbin


@pytest.mark.parametrize("oddity", ODDITIES, ids=lambda oddity: oddity.name)
def test_odd_files_are_read_as_meant_or_refused(tmp_path, oddity):
    path, output = tmp_path / "file", tmp_path / "a.spacy"
    path.write_text(oddity.text, encoding="utf8", newline="")
    options = shlex.split(oddity.options)
    result = CliRunner().invoke(app, ["psa", "convert", str(path), str(output), *options])
    text = " ".join(result.output.split())
    code, _, message = oddity.expected.partition(" ")
    if code.startswith("P") and code[1:].isdecimal():
        assert result.exit_code == 1 and not output.exists(), text
        assert f"[{code}]" in text and message in text
    else:
        assert result.exit_code == 0, text
        assert render_docbin(output) == oddity.expected
        assert ("Found " in text) == ("-f" not in options)
