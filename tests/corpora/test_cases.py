"""Files like those of users, which are not part of the project: each is read, or refused."""

import csv
import os
import shlex

import pytest
from spacy.cli._util import app
from typer.testing import CliRunner

import spacy_psa.cli  # noqa: F401  (adds the commands to spaCy's)

from .rendering import render_docbin
from .shared import shared_folder

STRAY = (
    "([Ann/NNP]PER)NP (saw/VBD)VP (the/DT [Cup/NNP Final/NNP]MISC)NP ./. | "
    "([Bob/NNP]PER)NP (left/VBD)VP ([Rome/NNP]LOC)NP ./."
)
ONE_STRAY = "do not fit its scheme, IOB1, and are read as conlleval reads them (the first in line 6"
# The annotation, and a part of what is printed; None for an error
CASES = {
    "stray_b.iob1.conll": (STRAY, ONE_STRAY),
    "one_odd_tag.bio.txt": ("[Ann]PER left | [San Remo]LOC .", "line 4: 'I-LOC'"),
    "placeholder_chunk.conll": ("[Ann]Person runs", "placeholders (not read)"),
    "index_column.tsv": ("[Ann]PER saw [Rome]LOC | [Bob]PER left", "numbers (not read)"),
    "header.tsv": ("[Ann]PER saw [Rome]LOC", "header=true"),
    "tag_first.tsv": (None, "--option word_column=1 --option tag_column=0"),
    "other_labels.txt": ("[Ann]Person runs .", "Found conll2002"),
    "spacy_iob.iob": (
        "[Ann/NNP]PER runs/VBZ | [Bob/NNP]PER sleeps/VBZ",
        "joined by '|'",
    ),
    "bare_bio.tsv": ("[Ann Lee]ENT ran", "bare B, I, O → doc.ents"),
    "cr_only.conll": ("[Ann]PER ran | [Bob]PER sat", "Found iob"),
    "blank_token.tsv": ("[Ann]PER saw", "(column 0, counted from 0) is empty"),
    "misc_name.conllu": ("[Ann]PER runs", "Found conllu"),
    "plus.conllup": ("[Ann]PER runs", "Found conllu"),
    "prodigy.jsonl": ("[Ann]PER met [Bob]PER in [Rome]LOC \U0001f600 today .", "Found offsets"),
}


def rows():
    try:
        folder = shared_folder("cases")
    except pytest.skip.Exception:
        return []
    with (folder / "cases.tsv").open(encoding="utf8", newline="") as file_:
        return [tuple(row.values())[:2] for row in csv.DictReader(file_, delimiter="\t")]


def run(path, output, *options):
    result = CliRunner().invoke(app, ["psa", "convert", str(path), str(output), *options])
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize("name,command", rows() or [("", "")])
def test_files_of_users(tmp_path, name, command):
    path, output = shared_folder("cases") / name, tmp_path / "a.spacy"
    command, _, also = command.partition(" (also ")
    ways = [shlex.split(command.partition(" OUT")[2])]
    if also:
        ways.append(shlex.split(also.rstrip(")")))
    if name == "on/":
        code, text = run(path, output, *ways[0])
        assert code == 0 and "Wrote 2 Docs" in text
        return
    expected, printed = CASES[name]
    for options in ways:
        if command.startswith("cat "):
            read_end, write_end = os.pipe()
            os.write(write_end, path.read_bytes())
            os.close(write_end)
            code, text = run(f"/dev/fd/{read_end}", output, *options)
            os.close(read_end)
        else:
            code, text = run(path, output, *options)
        assert (printed in text) and (code == 0) == (expected is not None), text
        assert expected is None or render_docbin(output) == expected
