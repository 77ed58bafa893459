"""Text and JSON lines are annotated where pyarrow is not installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spacy.language import Language

import spacy_psa.scale

from .conftest import SENTENCES, failures_of, gzipped, rows_of


@pytest.fixture
def apply() -> Iterator[Any]:
    """`spacy_psa.apply`, imported where there is no pyarrow. Other tests get the modules that were
    there: of two copies of a class, neither knows the other's instances."""
    ours = [name for name in sys.modules if name.startswith(("pyarrow", "spacy_psa.scale."))]
    before = {name: sys.modules.pop(name) for name in ours}
    attributes = dict(vars(spacy_psa.scale))
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # imports fail
    from spacy_psa.scale.bulk import apply

    yield apply
    for name in [name for name in sys.modules if name.startswith(("pyarrow", "spacy_psa.scale."))]:
        del sys.modules[name]
    sys.modules.update(before)
    vars(spacy_psa.scale).clear()
    vars(spacy_psa.scale).update(attributes)


def test_text_and_json_lines_need_no_pyarrow(
    nlp: Language, texts: Path, tmp_path: Path, apply: Any
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    records = [{"text": text, "n": i} for i, text in enumerate(SENTENCES)]
    lines = folder / "a.jsonl"
    lines.write_text("\n".join(map(json.dumps, records)), encoding="utf8")
    whole = gzipped(texts).rename(folder / "b.txt.gz")
    (folder / "c.txt.gz").write_bytes(whole.read_bytes()[:-30])
    found = apply(nlp, folder, tmp_path / "out", format="jsonl", block_size=500)
    rows = rows_of(tmp_path / "out")
    assert [row["text"] for row in rows[: 2 * len(SENTENCES)]] == 2 * SENTENCES
    assert [row["meta"] for row in rows[:2]] == ['{"n": 0}', '{"n": 1}']
    tags = [[token["tag"] for token in row["tokens"]] for row in rows[: len(SENTENCES)]]
    assert tags == [[token.tag_ for token in doc] for doc in nlp.pipe(SENTENCES)]
    assert found.failed == 1
    assert "cannot be read" in failures_of(tmp_path / "out")[0]["error"]


@pytest.mark.parametrize(
    ("name", "settings", "what"),
    [
        ("a.txt", {}, r"The format 'parquet' \(unlike 'jsonl' and 'spacy'\)"),
        ("a.parquet", {"format": "jsonl"}, "Reading '.*a.parquet'"),
        ("a.txt.zst", {"format": "jsonl"}, "Reading '.*a.txt.zst'"),
        ("s3://bucket/a.txt", {"format": "jsonl"}, "Reading 's3://bucket/a.txt'"),
    ],
)
def test_what_needs_pyarrow_says_so_before_any_work(
    nlp: Language, tmp_path: Path, apply: Any, name: str, settings: Any, what: str
) -> None:
    source = name if "://" in name else tmp_path / name
    if isinstance(source, Path):
        source.write_text("Ann ran\n", encoding="utf8")
    with pytest.raises(ValueError, match=rf"^\[P500\] {what} needs .*spacy-psa\[scale\]"):
        apply(nlp, source, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def test_a_table_needs_pyarrow(nlp: Language, apply: Any) -> None:
    with pytest.raises(ValueError, match=r"P500.*Annotating a table needs"):
        apply(nlp, [{"text": "Ann ran"}])
