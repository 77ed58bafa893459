"""Annotation of files and tables in one process."""

from __future__ import annotations

import base64
import datetime
import gzip
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

import spacy_psa
from spacy_psa.scale import annotating, reading

from .conftest import SENTENCES, failures_of, gzipped, rows_of, shards_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KEY = "psa_apply"


@pytest.mark.parametrize("block_size", [1, 97, 1 << 20])
def test_each_line_is_annotated_once_however_the_file_is_divided(
    nlp: Language, texts: Path, tmp_path: Path, block_size: int
) -> None:
    found = spacy_psa.apply(nlp, texts, tmp_path / "out", format="jsonl", block_size=block_size)
    rows = rows_of(tmp_path / "out")
    assert [row["text"] for row in rows] == SENTENCES
    assert len({row["id"] for row in rows}) == len(SENTENCES) == found.documents
    assert found.words == sum(len(row["tokens"]) for row in rows)
    for row, doc in zip(rows, nlp.pipe(SENTENCES), strict=True):
        assert [token.get("tag") for token in row["tokens"]] == [t.tag_ for t in doc]
        assert [row["text"][t["start"] : t["end"]] for t in row["tokens"]] == [t.text for t in doc]


@pytest.mark.parametrize("block_size", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("at_once", [1, 2, 1 << 20])
def test_lines_end_as_in_all_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_size: int, at_once: int
) -> None:
    monkeypatch.setattr(reading, "_READ", at_once)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\rbb\r\nc\n\r\rd\r\r\ne\r")
    spacy_psa.apply(
        spacy.blank("xx"), path, tmp_path / "out", format="jsonl", block_size=block_size
    )
    rows = rows_of(tmp_path / "out")
    assert [row["text"] for row in rows] == ["a", "bb", "c", "d", "e"]
    assert [row["id"] for row in rows] == [f"{path}:{at}" for at in (0, 2, 6, 10, 14)]


def test_batches_are_of_similar_length(
    nlp: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lengths = tmp_path / "a.txt", [7, 1, 5, 1, 9, 3]
    path.write_text("\n".join("x " * n for n in lengths), encoding="utf8")
    seen: list[str] = []
    make_doc = nlp.make_doc
    monkeypatch.setattr(nlp, "make_doc", lambda text: seen.append(text) or make_doc(text))
    spacy_psa.apply(nlp, path, tmp_path / "out", format="jsonl")
    assert [text.count("x") for text in seen] == sorted(lengths)
    assert [len(row["tokens"]) for row in rows_of(tmp_path / "out")] == lengths


def test_parquet_has_the_documented_columns(nlp: Language, texts: Path, tmp_path: Path) -> None:
    spacy_psa.apply(nlp, texts, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "part-000000.parquet")
    page = Path(spacy_psa.__file__).parents[1] / "docs" / "scale.md"
    documented = page.read_text(encoding="utf8")
    assert [name for name in table.schema.names if f"| `{name}` |" not in documented] == []
    assert table.schema.metadata[b"psa_schema"] == b"1"
    assert table.column("text").to_pylist() == SENTENCES
    assert {*table.column("model").to_pylist()} == {"xx_pipeline 0.0.0"}
    row = table.slice(0, 1).to_pylist()[0]
    assert row["tokens"][1] == {
        **dict.fromkeys(("pos", "lemma", "probability", "morph")),
        **{"start": 4, "end": 7, "tag": "NNP"},
    }


def test_spans_entities_and_probabilities_are_written(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "New York"}])
    spans = nlp.add_pipe("span_ruler")
    spans.add_patterns([{"label": "CITY", "pattern": "York"}])
    path = tmp_path / "a.txt"
    path.write_text("In New York.\n", encoding="utf8")
    spacy_psa.apply(nlp, path, tmp_path / "out", format="jsonl")
    (row,) = rows_of(tmp_path / "out")
    assert row["ents"] == [{"start": 3, "end": 11, "label": "GPE"}]
    assert row["spans"] == {"ruler": [{"start": 7, "end": 11, "label": "CITY"}]}


def test_frames_are_written_with_their_probabilities(tmp_path: Path) -> None:
    from spacy_psa.annotation.propositions import Frame
    from spacy_psa.pipeline.srl.frames import FramePrediction, annotate_frames

    @Language.component("gives_frames")
    def gives_frames(doc):
        arguments = [(0, 1, "A0"), (1, 2, "V"), (2, 3, "A1")]
        frame = Frame(1, "see", "01", arguments)
        annotate_frames(doc, [FramePrediction(frame, 0.5, [0.75, 1.0, 0.25])])
        return doc

    nlp = spacy.blank("en")
    nlp.add_pipe("gives_frames")
    path = tmp_path / "a.txt"
    path.write_text("Ann saw Bob\n", encoding="utf8")
    spacy_psa.apply(nlp, path, tmp_path / "out", format="jsonl")
    (row,) = rows_of(tmp_path / "out")
    arguments = [
        {"start": 0, "end": 3, "label": "A0", "probability": 0.75},
        {"start": 8, "end": 11, "label": "A1", "probability": 0.25},
    ]
    place = {"start": 4, "end": 7, "lemma": "see", "sense": "01", "probability": 0.5}
    assert row["frames"] == [{**place, "arguments": arguments}]
    assert row["spans"] == {}


def test_probabilities_are_those_of_the_component(tmp_path: Path, model: Path) -> None:
    nlp = spacy.load(model, config={"components": {"psa_tagger": {"probabilities": True}}})
    table = pa.table({"text": SENTENCES[:3]})
    found = spacy_psa.apply(nlp, table).column("tokens").to_pylist()
    for tokens, doc in zip(found, nlp.pipe(SENTENCES[:3]), strict=True):
        expected = [token._.psa_score for token in doc]
        assert [t["probability"] for t in tokens] == pytest.approx(expected, abs=1e-5)


def test_all_kinds_of_input_have_the_same_annotation(
    nlp: Language, texts: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    lines = folder / "a.jsonl"
    records = [{"text": text, "id": i, "more": [i]} for i, text in enumerate(SENTENCES)]
    lines.write_text("\n".join(map(json.dumps, records)), encoding="utf8")
    gzipped(lines)
    gzipped(texts).rename(folder / "deep" / "b.txt.gz")
    with pa.CompressedOutputStream(str(folder / "c.txt.zst"), "zstd") as stream:
        stream.write(texts.read_bytes())
    docs = [nlp.make_doc(text) for text in SENTENCES]
    DocBin(docs=docs).to_disk(folder / "d.spacy")
    days = [datetime.date(2020, 1, 1)] * len(SENTENCES)
    table = pa.table({"body": SENTENCES, "text": SENTENCES, "day": days})
    pq.write_table(table.drop_columns(["body"]), folder / "e.parquet", row_group_size=7)
    (folder / "README").write_text("no document")
    found = spacy_psa.apply(nlp, [folder, str(folder / "*.gz")], tmp_path / "out", block_size=500)
    assert (found.documents, found.unread) == (6 * len(SENTENCES), [str(folder / "README")])
    shards = [pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*.parquet"))]
    tokens = [row for shard in shards for row in shard.column("tokens").to_pylist()]
    assert tokens == tokens[: len(SENTENCES)] * 6
    with_days = [shard for shard in shards if "day" in shard.schema.names]
    assert [day for shard in with_days for day in shard.column("day").to_pylist()] == days


def test_what_comes_with_a_text_is_kept(nlp: Language, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = '{"body": "Ann ran", "id": 7, "source": "x", "n": [1]}'
    others = '{"body": "Bob ran", "id": 0.5}\n{"body": "Cy ran", "id": true}\n'
    path.write_text(f"{first}\n{others}", encoding="utf8")
    spacy_psa.apply(nlp, path, tmp_path / "out", format="spacy", column="body")
    docs = DocBin().from_disk(tmp_path / "out" / "part-000000.spacy").get_docs(nlp.vocab)
    one, two, three = (doc.user_data[KEY] for doc in docs)
    assert (one["id"], one["source"], one["meta"]) == ("7", "x", '{"n": [1]}')
    # Not an id, but not lost either
    assert (two["id"], two["meta"]) == (f"{path}:{len(first) + 1}", '{"id": 0.5}')
    assert three["meta"] == '{"id": true}'


def test_a_file_can_be_a_document(nlp: Language, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.txt").write_text(f"Ann\nran {i}\n", encoding="utf8")
    # Without any byte, neither is one
    (folder / "3.txt").touch()
    (folder / "4.txt.gz").write_bytes(gzip.compress(b""))
    spacy_psa.apply(nlp, folder, tmp_path / "out", format="jsonl", document="file")
    assert [row["text"] for row in rows_of(tmp_path / "out")] == [f"Ann\nran {i}\n" for i in "012"]
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-000000.jsonl"]


def test_documents_that_fail_are_set_apart_with_their_reason(model: Path, tmp_path: Path) -> None:
    nlp = spacy.load(model)
    nlp.add_pipe("fails_for_bad")
    nlp.max_length = 60
    utf16 = "\ufeffx\ny".encode("utf-16-le")
    lines = [b"Ann ran", b"a bad one", *utf16.split(b"\n"), b"x" * 61, b"Bob ran"]
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n".join(lines))
    records = ['{"text": 1}', "[1]", "{", '{"text": "\\ud800"}', '{"text": "x", "text": "y"}']
    records += ['{"text": "x", "n": 1e999}', '{"text": "x", "source": "\\ud800"}']
    records += ['{"text": "Ann saw Bob"}']
    (tmp_path / "b.jsonl").write_text("\n".join(records), encoding="utf8")
    out = tmp_path / "out"
    found = spacy_psa.apply(nlp, [path, tmp_path / "b.jsonl"], out, format="jsonl")
    assert [row["text"] for row in rows_of(out)] == ["Ann ran", "Bob ran", "Ann saw Bob"]
    errors = failures_of(out)
    assert (found.documents, found.failed) == (3, len(errors)) == (3, 11)
    reasons = ["UTF-8", "NUL", "this is bad", "E088"]
    reasons += [
        "no text",
        "not an object",
        "JSON",
        "surrogates",
        "occurs twice",
        "Out of range",
        "surrogates",
    ]
    for reason, error in zip(reasons, errors, strict=True):
        assert reason in error["error"]
    assert [base64.b64decode(e["bytes"]) for e in errors if "bytes" in e] == utf16.split(b"\n")
    # They can be annotated again, once the reason is gone
    nlp.remove_pipe("fails_for_bad")
    again = spacy_psa.apply(nlp, out / "errors-000000.jsonl", tmp_path / "again", format="jsonl")
    assert again.documents == 3
    with pytest.raises(ValueError, match="P511"):
        spacy_psa.apply(nlp, path, tmp_path / "few", max_errors=0)


def test_failures_count_in_later_runs(nlp: Language, tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_bytes(b"\xff\n" * 6)
    for _ in range(3):
        with pytest.raises(ValueError, match=r"P511.*4 documents have failed"):
            spacy_psa.apply(nlp, path, out, format="jsonl", block_size=4, max_errors=3)
        assert len(failures_of(out)) == 4
    found = spacy_psa.apply(nlp, path, out, format="jsonl", block_size=4, max_errors=6)
    assert (found.resumed, found.failed) == (2, 6)


def no_utf8(*values: bytes) -> Any:
    """A column of strings as programs write it that do not check them."""
    buffers = pa.array(values, pa.binary()).buffers()
    return pa.StringArray.from_buffers(len(values), buffers[1], buffers[2])


def test_rows_that_are_not_utf8_fail_alone(nlp: Language, tmp_path: Path) -> None:
    text, name = no_utf8(b"Ann ran", b"\xff", b"Bob"), no_utf8(b"a", b"b", b"c\xff")
    table = pa.table({"text": text, "id": name, "n": [1, 2, 3]})
    found = spacy_psa.apply(nlp, table)
    assert found.column("n").to_pylist() == [1, 2, 3]
    assert found.column("id").to_pylist() == ["a", "b", "c\ufffd"]
    assert found.column("error").to_pylist() == [None, "Not UTF-8: byte 1", None]
    pq.write_table(table, tmp_path / "a.parquet")
    spacy_psa.apply(nlp, tmp_path / "a.parquet", tmp_path / "out", format="jsonl")
    assert [(row["text"], row["n"]) for row in rows_of(tmp_path / "out")] == [
        ("Ann ran", 1),
        ("Bob", 3),
    ]
    (failure,) = failures_of(tmp_path / "out")
    assert (failure["text"], base64.b64decode(failure["bytes"])) == ("\ufffd", b"\xff")


@pytest.mark.parametrize(
    "column", [no_utf8(b"\xff"), pa.array([1 << 62], pa.timestamp("us"))], ids=["utf8", "year"]
)
def test_what_json_cannot_say_is_one_error(nlp: Language, tmp_path: Path, column: Any) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["Ann ran"], "n": [1], "odd": column}), path)
    for form in ("jsonl", "spacy"):
        with pytest.raises(ValueError, match=r"P497.*column 'odd' of .*a\.parquet.*parquet"):
            spacy_psa.apply(nlp, path, tmp_path / form, format=form)
    assert spacy_psa.apply(nlp, path, tmp_path / "out").documents == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are not UTF-8")
def test_names_of_files_that_are_not_utf8_are_shown(nlp: Language, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    text_file(folder, os.fsdecode(b"caf\xe9.txt"))
    assert spacy_psa.apply(nlp, folder, tmp_path / "out", format="jsonl").documents == 1
    assert [row["source"] for row in rows_of(tmp_path / "out")] == [f"{folder}/caf\ufffd.txt"]


def test_files_behind_uris_are_read_once_and_hidden_ones_are_not(
    nlp: Language, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    path, hidden = text_file(folder), text_file(folder, ".b.txt")
    text_file(folder, ".c/d.txt")
    inputs = [folder, folder.as_uri(), path.as_uri(), f"{folder.as_uri()}/*.txt"]
    assert spacy_psa.apply(nlp, inputs, tmp_path / "out").documents == 1
    named = [hidden.as_uri(), f"{folder.as_uri()}/.c/*"]
    assert spacy_psa.apply(nlp, named, tmp_path / "named").documents == 2


def test_a_component_may_make_docs_anew(texts: Path, tmp_path: Path) -> None:
    plain = spacy.blank("xx")
    plain.add_pipe("makes_a_new_doc")
    spacy_psa.apply(plain, texts, tmp_path / "out", format="jsonl")
    assert [row["text"].strip() for row in rows_of(tmp_path / "out")] == SENTENCES


def test_objects_on_docs_that_spacy_cannot_save_are_one_error(
    model: Path, texts: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(model)
    nlp.add_pipe("keeps_an_object")
    assert spacy_psa.apply(nlp, texts, tmp_path / "json", format="jsonl").failed == 0
    with pytest.raises(ValueError, match=r"P496.*texts.txt:0.*'object' object"):
        spacy_psa.apply(nlp, texts, tmp_path / "docs", format="spacy")


def test_an_interrupted_run_goes_on_and_a_finished_one_does_nothing(
    model: Path, texts: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(model)
    settings = {"format": "jsonl", "block_size": 200}
    spacy_psa.apply(nlp, texts, tmp_path / "whole", **settings)
    out = tmp_path / "out"
    calls = 0
    pipe = nlp.pipe

    def interrupted(*arguments, **options):
        nonlocal calls
        calls += 1
        # With as_tuples, it calls itself
        if calls == 5:
            raise KeyboardInterrupt
        return pipe(*arguments, **options)

    nlp.pipe = interrupted
    with pytest.raises(KeyboardInterrupt):
        spacy_psa.apply(nlp, texts, out, **settings)
    assert sorted(shards_of(out)) == ["part-000000.jsonl", "part-000001.jsonl"]
    # As if killed while it wrote a line, and a shard
    with (out / "manifest.jsonl").open("a") as manifest:
        manifest.write('{"block": 2, "sh')
    (out / f".part-000002.jsonl.{2**22 + 1}.tmp").write_text("half")
    nlp.pipe = pipe
    found = spacy_psa.apply(nlp, texts, out, **settings)
    assert (found.resumed, found.documents) == (2, len(SENTENCES))
    assert shards_of(out) == shards_of(tmp_path / "whole")
    assert [p.name for p in out.iterdir() if p.name.startswith(".")] == [".lock"]
    nlp.pipe = None
    times = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert spacy_psa.apply(nlp, texts, out, **settings).resumed == found.shards
    assert times == {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    # A shard that is gone is written again
    nlp.pipe = pipe
    (out / "part-000001.jsonl").unlink()
    assert spacy_psa.apply(nlp, texts, out, **settings).resumed == found.shards - 1
    assert shards_of(out) == shards_of(tmp_path / "whole")


def test_the_vocabulary_keeps_so_many_words(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = spacy.load(model)
    monkeypatch.setattr(annotating, "KEPT_WORDS", len(nlp.vocab) + 10)
    path = tmp_path / "a.txt"
    path.write_text("\n".join(f"new{i} word{i}" for i in range(3000)), encoding="utf8")
    before = {lexeme.text for lexeme in nlp.vocab}
    assert spacy_psa.apply(nlp, path, tmp_path / "out").documents == 3000
    # Those of the first chunk, with which there were enough
    n_docs = annotating.Annotator.of(nlp).n_docs
    kept = {f"{word}{i}" for i in range(n_docs) for word in ("new", "word")}
    assert {lexeme.text for lexeme in nlp.vocab} == before | kept
    assert not {f"new{i}" for i in range(n_docs, 3000)} & {*nlp.vocab.strings}


def bad_parquet(folder: Path) -> Path:
    path = folder / "a.parquet"
    pq.write_table(pa.table({"text": SENTENCES, "tokens": SENTENCES, "n": [1] * 40}), path)
    return path


def parquet(folder: Path, names: Sequence[str], columns: list[list[Any]]) -> Path:
    table = pa.table([["Ann ran"], *columns], names=["text", *names])
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def cut_short(folder: Path) -> Path:
    path = bad_parquet(folder)
    path.write_bytes(path.read_bytes()[:-9])
    return path


def text_file(folder: Path, name: str = "a.txt") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("Ann ran\n")
    return path


@pytest.mark.parametrize(
    ("code", "source", "settings"),
    [
        ("P501", lambda folder: folder / "none.txt", {}),
        ("P501", lambda folder: folder / "*.txt", {}),
        ("P501", lambda folder: text_file(folder, "in/README").parent, {}),
        ("P503", lambda folder: text_file(folder, "a.docx"), {}),
        ("P501", lambda folder: [], {}),
        ("P502", lambda folder: "nowhere://a.txt", {}),
        ("P504", cut_short, {}),
        ("P505", bad_parquet, {"column": "body"}),
        ("P505", bad_parquet, {"column": "n"}),
        ("P506.*uses itself: tokens", bad_parquet, {}),
        ("P506.*of the same name: n", lambda folder: parquet(folder, "nn", [[1], [2]]), {}),
        ("P506.*read as text: id", lambda folder: parquet(folder, ["id"], [[[1]]]), {}),
        ("P515", text_file, {"format": "parket"}),
        ("P516", lambda folder: text_file(folder).parent, {}),
        ("P453", text_file, {"gpu_id": 99}),
        ("P210.*block_size", text_file, {"block_size": 0}),
        ("P210.*batch_size", text_file, {"batch_size": -1}),
        ("P210.*n_process", text_file, {"n_process": 0}),
    ],
)
def test_bad_input_is_one_error_before_any_work(
    nlp: Language, tmp_path: Path, code: str, source, settings: dict
) -> None:
    with pytest.raises(ValueError, match=code):
        spacy_psa.apply(nlp, source(tmp_path), tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def test_the_output_folder_of_another_run_is_an_error(
    nlp: Language, model: Path, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    spacy_psa.apply(nlp, texts, out)
    before = shards_of(out)
    with pytest.raises(ValueError, match=r"P509.*another format: parquet, not jsonl"):
        spacy_psa.apply(nlp, texts, out, format="jsonl")
    with pytest.raises(ValueError, match=r"P509.*another plan \(.*--block-size\): "):
        spacy_psa.apply(nlp, texts, out, block_size=100)
    other = spacy.load(model, config={"components": {"psa_tagger": {"probabilities": True}}})
    with pytest.raises(ValueError, match=r"P509.*another checksum of the pipeline"):
        spacy_psa.apply(other, texts, out)
    code = tmp_path / "functions.py"
    code.write_text("")
    with pytest.raises(ValueError, match=r"P509.*another checksum of the file .*: None, not"):
        spacy_psa.apply(nlp, texts, out, code=code)
    assert shards_of(out) == before
    (out / "manifest.jsonl").write_text("{}\n[1]\n")
    with pytest.raises(ValueError, match="P508"):
        spacy_psa.apply(nlp, texts, out)
    (out / "manifest.jsonl").unlink()
    with pytest.raises(ValueError, match="P507"):
        spacy_psa.apply(nlp, texts, out)
    with pytest.raises(ValueError, match="P516"):
        spacy_psa.apply(nlp, texts, "s3://bucket/out")


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_two_runs_into_one_folder_are_an_error(nlp: Language, texts: Path, tmp_path: Path) -> None:
    import fcntl

    out = tmp_path / "out"
    spacy_psa.apply(nlp, texts, out)
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="P510"):
            spacy_psa.apply(nlp, texts, out)


def test_a_block_that_is_annotated_again_has_no_failures_of_before(
    nlp: Language, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    spacy_psa.apply(nlp, texts, out, format="jsonl")
    # As a process leaves them that is killed before it adds the block to the manifest
    manifest = out / "manifest.jsonl"
    manifest.write_text(manifest.read_text(encoding="utf8").split("\n")[0] + "\n")
    (out / "errors-000000.jsonl").write_text('{"error": "out of memory"}\n')
    assert spacy_psa.apply(nlp, texts, out, format="jsonl").failed == 0
    assert list(out.glob("errors-*")) == []


def test_damage_within_a_local_file_is_a_failure_of_its_own(
    nlp: Language, texts: Path, tmp_path: Path
) -> None:
    path = gzipped(texts)
    path.write_bytes(path.read_bytes()[:-30])
    bad = tmp_path / "b.spacy"
    bad.write_bytes(b"no DocBin")
    (tmp_path / "c.spacy").touch()
    found = spacy_psa.apply(nlp, [path, bad, bad.with_name("c.spacy"), texts], tmp_path / "out")
    assert found.failed == 3
    assert found.documents >= len(SENTENCES)
    assert all("cannot be read" in e["error"] for e in failures_of(tmp_path / "out"))


def test_tables_keep_their_rows_and_columns(model: Path) -> None:
    nlp = spacy.load(model)
    nlp.add_pipe("fails_for_bad")
    texts = ["Ann ran", None, "a bad one", "Bob ran"]
    table = pa.table({"body": texts, "n": [1, 2, 3, 4]})
    found = spacy_psa.apply(nlp, table, column="body")
    assert found.column("n").to_pylist() == [1, 2, 3, 4]
    errors = found.column("error").to_pylist()
    assert [error is None for error in errors] == [True, False, False, True]
    assert [len(t or ()) for t in found.column("tokens").to_pylist()] == [2, 0, 0, 2]
    empty = spacy_psa.apply(nlp, table.slice(0, 0), column="body")
    assert (empty.num_rows, empty.schema) == (0, found.schema)
    with pytest.raises(ValueError, match="P505"):
        spacy_psa.apply(nlp, table)
    with pytest.raises(ValueError, match="P517"):
        spacy_psa.apply(nlp, {"text": texts})
    of_spark = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})
    with pytest.raises(ValueError, match="P517"):
        spacy_psa.apply(nlp, of_spark())


@pytest.mark.parametrize("texts", [[], [None, None]])
def test_tables_without_any_text_have_no_type_of_it(nlp: Language, texts: list[str | None]) -> None:
    found = spacy_psa.apply(nlp, pa.table({"text": texts, "n": [0] * len(texts)}))
    assert found.column("n").to_pylist() == [0] * len(texts)
    assert found.column("error").to_pylist() == ["There is no text"] * len(texts)


def test_json_has_no_nan(nlp: Language, tmp_path: Path) -> None:
    nan = float("nan")
    table = pa.table({"text": ["Ann ran"], "score": [nan], "scores": [[0.5, float("inf")]]})
    pairs = pa.array([[("a", nan)]], pa.map_(pa.string(), pa.float64()))
    path = tmp_path / "a.parquet"
    pq.write_table(table.append_column("pairs", pairs), path)
    spacy_psa.apply(nlp, path, tmp_path / "out", format="jsonl")
    (row,) = rows_of(tmp_path / "out")
    assert "score" not in row and row["scores"] == [0.5, None] and row["pairs"] == [["a", None]]


def test_what_comes_with_a_text_has_no_nan(nlp: Language, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Ann ran", "n": NaN, "m": [-Infinity, 1.5], "o": null}\n')
    spacy_psa.apply(nlp, path, tmp_path / "out", format="jsonl")
    (row,) = rows_of(tmp_path / "out")
    assert row["meta"] == '{"n": null, "m": [null, 1.5], "o": null}'


def test_docs_have_no_nan_in_what_they_keep_of_a_table(nlp: Language, tmp_path: Path) -> None:
    path = parquet(tmp_path, ["n"], [[float("nan")]])
    spacy_psa.apply(nlp, path, tmp_path / "out", format="spacy")
    (doc,) = DocBin().from_disk(tmp_path / "out" / "part-000000.spacy").get_docs(nlp.vocab)
    assert json.loads(doc.user_data[KEY]["meta"]) == {}


def test_data_frames_keep_their_index(nlp: Language) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": SENTENCES[:3], "n": [1, 2, 3]}, index=["a", "b", "c"])
    found = spacy_psa.apply(nlp, frame)
    assert list(found.index) == ["a", "b", "c"]
    assert list(found["n"]) == [1, 2, 3]
    assert [len(tokens) for tokens in found["tokens"]] == [7, 9, 6]


@pytest.mark.parametrize(("package", "settings"), [("pyarrow", {}), ("ray", {"engine": "ray"})])
def test_a_missing_package_is_one_error(
    monkeypatch: pytest.MonkeyPatch, texts: Path, package: str, settings: dict
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (texts.parent / "meta.json").write_text("{}", encoding="utf8")  # as in a pipeline
    with pytest.raises(ValueError, match=rf"P500.*{package}"):
        spacy_psa.apply(texts.parent, texts, "out", **settings)


def test_a_missing_pipeline_is_named_before_a_missing_package(
    monkeypatch: pytest.MonkeyPatch, texts: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=rf"P271.*{texts.parent}"):
        spacy_psa.apply(str(texts.parent), texts, "out")
    with pytest.raises(OSError, match=r"E050.*'none'"):
        spacy_psa.apply("none", texts, "out")


def test_a_table_is_annotated_in_one_process(nlp: Language) -> None:
    table = pa.table({"text": SENTENCES[:1]})
    with pytest.raises(ValueError, match=r"P518.*Table.*n_process is 2"):
        spacy_psa.apply(nlp, table, n_process=2)


@pytest.mark.parametrize("n_process", [1, 2])
def test_a_key_that_no_object_has_is_one_error(model: Path, tmp_path: Path, n_process: int) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out"
    wrong = '{"id": 1, "body": "Ann ran"}'
    path.write_text("\nx\n" + f"{wrong}\n" * 3, encoding="utf8")
    settings = {"format": "jsonl", "max_errors": None, "n_process": n_process}
    told = r"P495.*a\.jsonl', line 3: there is no key 'text'.*first 3 objects.*id, body\..*--column"
    with pytest.raises(ValueError, match=told):
        spacy_psa.apply(model, path, out, **settings)
    assert not out.exists()
    assert spacy_psa.apply(model, path, out, column="body", **settings).documents == 3
    remote = path.as_uri()
    with pytest.raises(ValueError, match=told.replace("a\\.jsonl", "file://.*a\\.jsonl")):
        spacy_psa.apply(model, remote, tmp_path / "remote", **settings)


@pytest.mark.parametrize(("n_before", "is_key"), [(99, True), (100, False)])
def test_some_objects_may_lack_the_key(
    nlp: Language, tmp_path: Path, n_before: int, is_key: bool
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"body": "Ann ran"}\n' * n_before + '{"text": "Bob ran"}', encoding="utf8")
    settings = {"format": "jsonl", "max_errors": None}
    if not is_key:
        with pytest.raises(ValueError, match="P495"):
            spacy_psa.apply(nlp, path, tmp_path / "out", **settings)
        return
    found = spacy_psa.apply(nlp, path, tmp_path / "out", **settings)
    assert (found.documents, found.failed) == (1, n_before)
    with pytest.raises(ValueError, match="P511"):
        spacy_psa.apply(nlp, path, tmp_path / "few", format="jsonl", max_errors=5)
