"""Texts with spans, as annotation tools export them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import spacy
from hypothesis import given as from_strategies
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.corpora import offsets
from spacy_psa.corpora.detection import detect
from spacy_psa.corpora.docs import make_docs
from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.offsets import read_offsets
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.readers import create_offsets_reader

TEXT = "Ann met Bob in Rome 😀 today."
SPANS = [(0, 3, "PER"), (8, 11, "PER"), (15, 19, "LOC")]
READ = [("Ann", "PER"), ("Bob", "PER"), ("Rome", "LOC")]
Read = Callable[..., list[Doc]]


def dicts(**names: str) -> list[dict[str, Any]]:
    """The spans with other names for start and end."""
    keys = (names.get("start", "start"), names.get("end", "end"), "label")
    return [{**dict(zip(keys, span, strict=True)), "id": 1} for span in SPANS]


def results(text: str = TEXT, spans: list[Any] = SPANS, kind: str = "labels") -> list[Any]:
    values = [{"start": s, "end": e, "text": text[s:e], "labels": [x]} for s, e, x in spans]
    return [{"type": kind, "from_name": "label", "value": value} for value in values]


def studio(*annotations: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"id": 1, "data": {"text": TEXT}, "annotations": [*annotations], **other}


def prodigy(text: str = TEXT, spans: Any = SPANS, **other: Any) -> dict[str, Any]:
    keys = ("start", "end", "label")
    return {"text": text, "spans": [dict(zip(keys, x, strict=True)) for x in spans], **other}


LAYOUTS: dict[str, tuple[str, Any]] = {
    "prodigy": ("Prodigy", prodigy(answer="accept", _view_id="ner_manual")),
    "doccano label": ("doccano or spaCy", {"id": 1, "text": TEXT, "label": SPANS, "Comments": []}),
    "doccano labels": ("doccano or spaCy", {"text": TEXT, "labels": SPANS, "meta": {}}),
    "doccano data": ("doccano or spaCy", {"id": 1, "data": TEXT, "label": SPANS}),
    "doccano entities": (
        "doccano or spaCy",
        {"text": TEXT, "entities": dicts(start="start_offset", end="end_offset"), "relations": []},
    ),
    "spaCy": ("doccano or spaCy", [TEXT, {"entities": SPANS}]),
    "label studio": ("Label Studio", studio({"result": results(), "was_cancelled": False})),
    "completions": (
        "Label Studio",
        {"data": {"text": TEXT}, "completions": [{"result": results()}]},
    ),
    "json-min": (
        "Label Studio, JSON-MIN",
        {"text": TEXT, "ner": [r["value"] for r in results()], "annotation_id": 3},
    ),
}


@pytest.fixture(scope="module", autouse=True)
def tokenizers_made_once() -> Iterator[None]:
    """Keep the tokenizer of a language, which takes longer to make than all else here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offsets, "_blank", cache(offsets._blank))
        yield


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read records, or the content of a file, as Docs."""

    def read(*records: Any, problems: Problems | None = None, **options: Any) -> list[Doc]:
        path = tmp_path / "a.jsonl"
        lines = [x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in records]
        path.write_text("\n".join(lines) + "\n", encoding="utf8", newline="")
        sentences = read_offsets(path, problems=problems, **options)
        return list(make_docs(Vocab(), sentences))

    return read


def ents(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


@pytest.mark.parametrize(("name", "record"), LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("is_list", [False, True])
def test_the_layouts_of_tools_are_recognised(
    read: Read, name: str, record: Any, is_list: bool
) -> None:
    problems = Problems()
    (doc,) = read([record] if is_list else record, problems=problems)
    assert (doc.text, ents(doc)) == (TEXT, READ)
    found = {f"texts in the layout of {name}": 1, "texts tokenized as lang=en": 1}
    assert problems.found == found and not problems.notes


def test_each_line_is_a_doc_whatever_is_between(read: Read) -> None:
    lines = ["", json.dumps(prodigy()), "   ", json.dumps(prodigy("Bob left.", [])), "\r"]
    first, second = read("\n".join(lines))
    assert (ents(first), ents(second)) == (READ, [])
    assert second.has_annotation("ENT_IOB")


def test_lists_may_be_indented(read: Read) -> None:
    docs = read(json.dumps([prodigy(), prodigy("Bob left.", [])], indent=2))
    assert [doc.text for doc in docs] == [TEXT, "Bob left."]
    assert read("[\n " + json.dumps(prodigy()) + "\n]")[0].text == TEXT


def test_sentence_boundaries_are_unknown(read: Read) -> None:
    (doc,) = read(prodigy("Ann left. Bob stayed.", []))
    assert not doc.has_annotation("SENT_START")
    assert not any(token.is_sent_start for token in doc)


def test_line_breaks_are_part_of_the_text(read: Read) -> None:
    text = "Ann\n\nmet  Bob\tin\nRome"
    (doc,) = read(prodigy(text, [(0, 3, "PER"), (10, 13, "PER"), (17, 21, "LOC")]))
    assert (doc.text, ents(doc)) == (text, READ)


def test_offsets_can_count_utf16_units(read: Read) -> None:
    text = "😀😀 Ann met 😀 Bob"
    spans = [(5, 8, "PER"), (16, 19, "PER")]
    (doc,) = read(prodigy(text, spans), units="utf16")
    assert ents(doc) == READ[:2]
    assert text.encode("utf-16-le")[10:16].decode("utf-16-le") == "Ann"


@pytest.mark.parametrize(
    ("spans", "units"),
    [([(16, 19, "PER")], "codepoints"), ([(0, 1, "PER")], "utf16"), ([(90, 95, "PER")], "utf16")],
)
def test_offsets_outside_of_the_text_name_the_units(
    read: Read, spans: list[Any], units: str
) -> None:
    with pytest.raises(ValueError, match=r"P188.*a\.jsonl, line 1: .*units=utf16"):
        read(prodigy("😀😀 Ann met 😀 Bob", spans), units=units)


def test_the_text_of_a_span_must_be_there(read: Read) -> None:
    text = "😀 Ann met Bob"
    shifted = [(3, 6, "PER")]
    values = results("😀" + text, shifted)
    record = {"data": {"text": text}, "annotations": [{"result": values}]}
    with pytest.raises(ValueError, match=r"P188.*characters 3 to 6 are 'nn ', but .* 'Ann'"):
        read(record)
    assert ents(read(record, units="utf16")[0]) == READ[:1]


def test_spans_off_the_tokens_are_errors_with_a_remedy(read: Read) -> None:
    with pytest.raises(ValueError, match=r"P185.*line 1: .*'An' \(PER.*'Ann'.*alignment_mode="):
        read(prodigy("Ann left", [(0, 2, "PER")]))


@pytest.mark.parametrize(
    ("mode", "span", "expected"),
    [
        ("expand", (1, 10, "PER"), "Ann Mary Lee"),
        ("contract", (1, 11, "PER"), "Mary"),
        ("expand", (5, 7, "PER"), "Mary"),
    ],
)
def test_spans_off_the_tokens_are_moved_and_counted(
    read: Read, mode: str, span: Any, expected: str
) -> None:
    problems = Problems()
    (doc,) = read(prodigy("Ann Mary Lee left", [span]), problems=problems, alignment_mode=mode)
    text = doc.text
    same = spacy.blank("en")(text).char_span(*span[:2], alignment_mode=mode)
    assert ents(doc) == [(expected, "PER")] and same.text == expected
    ((note, n),) = problems.notes.items()
    assert n == 1 and f"mode={mode}) (the first in line 1 of a.jsonl" in note
    assert note.endswith(f"as {expected!r})")


def test_spans_without_a_whole_token_cannot_be_contracted(read: Read) -> None:
    with pytest.raises(ValueError, match=r"P185.*'nn'.*alignment_mode=expand\)"):
        read(prodigy("Ann left", [(1, 3, "PER")]), alignment_mode="contract")


def test_what_lenient_leaves_out_is_counted(read: Read) -> None:
    problems = Problems(lenient=True)
    spans = [(0, 2, "PER"), (9, 12, "PER"), (12, 12, "X"), (-1, 3, "X"), (0, 99, "X"), (0, 3, "")]
    (doc,) = read(prodigy("Ann, and Bob", spans), problems=problems)
    assert ents(doc) == [("Bob", "PER")]
    assert problems.counts == {"P185": 1, "P188": 1, "P145": 3}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        pytest.param([(0, 3, "PER"), (8, 10, "PER")], "BO-", id="off the tokens"),
        pytest.param([(0, 7, "PER"), (4, 12, "ORG")], "BI-", id="overlapping"),
        pytest.param([(0, 3, "PER"), (4, 99, "PER")], "B--", id="anywhere"),
        pytest.param([(0, 3, "PER"), (3, 4, "PER")], "B--", id="white space"),
    ],
)
def test_tokens_of_spans_that_are_left_out_are_not_annotated(
    read: Read, spans: list[Any], expected: str
) -> None:
    (doc,) = read(prodigy("Ann Lee Road", spans), problems=Problems(lenient=True))
    assert "".join("-IOB"[token.ent_iob] for token in doc) == expected


@pytest.mark.parametrize("spans", [[(8, 10, "PER")], [(4, 99, "PER")]])
def test_texts_whose_spans_are_left_out_are_not_learned_from(read: Read, spans: list[Any]) -> None:
    problems = Problems(lenient=True)
    records = [
        prodigy(text, [(0, 3, "PER"), *more])
        for text, more in (("Ann Lee Road", spans), ("Ann left", []))
    ]
    docs = read(*records, layer="chunks", problems=problems)
    assert ["chunks" in doc.spans for doc in docs] == [False, True]
    assert problems.notes == {"texts left unannotated, since spans were left out": 1}


@pytest.mark.parametrize("mode", ["strict", "expand"])
def test_spans_that_fit_in_utf16_alone_are_not_moved(read: Read, mode: str) -> None:
    with pytest.raises(ValueError, match=r"P188.*'nn ', .*UTF-16.*units=utf16"):
        read(prodigy("😀 Ann met Bob", [(3, 6, "PER")]), alignment_mode=mode)


def test_spans_that_fit_in_utf16_too_are_noted(read: Read) -> None:
    problems = Problems()
    astral = prodigy("𠮷田和张伟来了", [(0, 2, "PER"), (4, 6, "PER")])
    docs = read(astral, prodigy("张伟来了", [(0, 2, "PER")]), problems=problems, lang="zh")
    assert [ent.text for doc in docs for ent in doc.ents] == ["𠮷田", "伟来", "张伟"]
    what = "spans that would be others in UTF-16 (units=utf16)"
    assert problems.notes == {f"{what} (the first in line 1 of a.jsonl: '𠮷田', or '𠮷')": 2}


def test_spans_whose_text_is_given_are_not_noted(read: Read) -> None:
    problems = Problems()
    text, spans = "𠮷田和张伟来了", [(0, 2, "PER"), (3, 5, "PER")]
    read(
        studio({"result": results(text, spans)}, data={"text": text}), problems=problems, lang="zh"
    )
    assert not problems.notes


def test_texts_with_other_spans_and_padded_labels_are_noted(read: Read) -> None:
    problems = Problems()
    padded = prodigy(TEXT, [(*SPANS[0][:2], "PER ")])
    docs = read(padded, prodigy(TEXT, SPANS[:1]), prodigy(TEXT, []), problems=problems)
    assert [ents(doc) for doc in docs] == [READ[:1], READ[:1], []]
    assert problems.notes == {
        "labels with white space at their ends, which was removed (the first in line 1: 'PER ')": 1,
        "texts given before with other spans (the first in line 3)": 1,
    }


def test_a_span_without_a_label_is_shown_with_its_keys(read: Read) -> None:
    span = {"start": 0, "end": 3, "type": "PER"}
    with pytest.raises(ValueError, match=r'only the keys start, end, type\. .*the key "label"\.'):
        read({"text": TEXT, "spans": [span]})
    with pytest.raises(ValueError, match=r"the label of a span is None\. Expected a name"):
        read({"text": TEXT, "spans": [{"label": None, **span}]})


def test_white_space_at_the_ends_of_spans_is_removed(read: Read) -> None:
    problems = Problems()
    (doc,) = read(prodigy("Ann \nmet Bob", [(0, 5, "PER"), (8, 12, "PER")]), problems=problems)
    assert ents(doc) == READ[:2]
    assert problems.notes["spans with white space at their ends, which was removed"] == 2
    with pytest.raises(ValueError, match=r"P145.*characters 3 to 5 are white space"):
        read(prodigy("Ann \nmet Bob", [(3, 5, "PER")]))


def test_overlapping_spans_are_errors_or_go_to_doc_spans(read: Read) -> None:
    nested = prodigy("Ann Lee left", [(0, 7, "PER"), (4, 7, "SUR"), (4, 7, "SUR"), (0, 7, "X")])
    with pytest.raises(ValueError, match=r"P186.*line 1: .*'Ann Lee' \(PER\) .*--target spans"):
        read(nested)
    problems = Problems()
    (doc,) = read(nested, layer="chunks", problems=problems)
    found = sorted((span.text, span.label_) for span in doc.spans["chunks"])
    assert found == [("Ann Lee", "PER"), ("Ann Lee", "X"), ("Lee", "SUR")]
    assert problems.notes["spans given twice, read once"] == 1
    assert not doc.has_annotation("ENT_IOB")
    lenient = Problems(lenient=True)
    (doc,) = read(prodigy("Ann Lee left", [(0, 7, "PER"), (4, 7, "SUR")]), problems=lenient)
    assert (ents(doc), lenient.counts) == ([("Ann Lee", "PER")], {"P186": 1})


def test_spans_can_be_tags(read: Read) -> None:
    (doc,) = read(prodigy("Ann left .", [(0, 3, "NNP"), (4, 8, "VBD")]), layer="tags")
    assert [token.tag_ for token in doc] == ["NNP", "VBD", ""]


def test_rejected_and_ignored_texts_are_counted(read: Read) -> None:
    problems = Problems()
    records = [prodigy(answer=answer) for answer in ("accept", "reject", "ignore", "reject")]
    assert len(read(*records, problems=problems)) == 1
    assert problems.found["texts in the layout of Prodigy"] == 4
    assert problems.notes == {
        "texts with the answer 'reject', skipped": 2,
        "texts with the answer 'ignore', skipped": 1,
    }


def test_rejected_spans_of_an_accepted_text_are_left_out(read: Read) -> None:
    record = prodigy(answer="accept")
    for span, answer in zip(record["spans"], ("accept", "reject", "accept"), strict=True):
        span["answer"] = answer
    problems = Problems()
    (doc,) = read(record, problems=problems)
    assert ents(doc) == [READ[0], READ[2]]
    assert problems.notes == {"spans that were not accepted, left out": 1}


def test_accepted_texts_may_lack_the_key_of_spans(read: Read) -> None:
    (doc,) = read({"text": TEXT, "answer": "accept"})
    assert doc.has_annotation("ENT_IOB") and not doc.ents


@pytest.mark.parametrize(
    "record",
    [
        {"text": TEXT, "entities": SPANS, "answer": "accept"},
        {"text": TEXT, "label": SPANS, "answer": "Rome"},
        {
            "text": TEXT,
            "ner": [r["value"] for r in results()],
            "annotation_id": 3,
            "answer": "Rome",
        },
    ],
)
def test_a_key_of_the_input_may_be_named_answer(read: Read, record: dict[str, Any]) -> None:
    (doc,) = read(record)
    assert ents(doc) == READ


@pytest.mark.parametrize(
    ("record", "keys"),
    [
        (prodigy(label=SPANS[:1]), '"spans" and "label"'),
        (prodigy(spans=[], entities=SPANS, answer="accept"), '"spans" and "entities"'),
        (prodigy(ner=[r["value"] for r in results(spans=SPANS[1:])]), '"spans" and "ner"'),
        ({"text": TEXT, "label": SPANS, "entities": dicts()[:2]}, '"label" and "entities"'),
        ({"text": TEXT, "labels": SPANS, "annotation_id": 3}, '"annotation_id" and "labels"'),
    ],
)
def test_texts_with_two_annotations_are_errors(
    read: Read, record: dict[str, Any], keys: str
) -> None:
    message = rf"P145.*a\.jsonl, line 2: the keys {keys} have different spans.*delete"
    with pytest.raises(ValueError, match=message):
        read(prodigy(), record)
    problems = Problems(lenient=True)
    _, doc = read(prodigy(), record, problems=problems)
    assert not doc.has_annotation("ENT_IOB") and problems.counts == {"P145": 1}


@pytest.mark.parametrize(
    "record",
    [
        prodigy(label=SPANS, entities=dicts(start="start_offset", end="end_offset")),
        prodigy(label=[], labels=["NEWS"], annotations="none"),
        prodigy(entities=[{"id": "Q42", "name": "Ann"}], labels=[["a", "b"]]),
        {"text": TEXT, "annotations": [{"user": 7}], "label": SPANS},
        {"text": TEXT, "labels": SPANS[::-1], "entities": SPANS},
        {"text": TEXT, "label": ["NEWS"], "entities": SPANS, "labels": []},
        {"text": TEXT, "ner": [results()[0]["value"]], "x": [r["value"] for r in results()[1:]]},
        studio({"result": results()}),
    ],
)
def test_other_keys_may_say_the_same_or_nothing(read: Read, record: dict[str, Any]) -> None:
    problems = Problems()
    (doc,) = read(record, problems=problems)
    assert ents(doc) == READ and not problems.notes


def test_rejected_spans_may_be_in_another_key(read: Read) -> None:
    record = prodigy(answer="accept")
    record["spans"][1]["answer"] = "reject"
    docs = read({**record, "label": SPANS}, {**record, "label": [SPANS[0], SPANS[2]]})
    assert [ents(doc) for doc in docs] == [[READ[0], READ[2]]] * 2


def test_rejected_texts_are_skipped_whatever_the_key_of_spans(read: Read) -> None:
    problems = Problems()
    read({"text": TEXT, "entities": SPANS, "answer": "reject"}, prodigy(), problems=problems)
    assert problems.notes == {"texts with the answer 'reject', skipped": 1}


@pytest.mark.parametrize(
    "record",
    [
        {"text": TEXT},
        {"text": TEXT, "label": "NEWS", "answer": "accept"},
        {"text": TEXT, "options": [], "accept": ["A"], "answer": "accept"},
        studio(),
    ],
)
def test_texts_without_annotated_spans_are_skipped(read: Read, record: dict[str, Any]) -> None:
    problems = Problems()
    assert len(read(record, prodigy(), problems=problems)) == 1
    assert problems.notes["texts without annotated spans, skipped"] == 1
    with pytest.raises(ValueError, match=r"P187.*a\.jsonl has no annotated text .*skipped: 1"):
        read(record)


def test_the_first_annotation_that_counts_is_read(read: Read) -> None:
    cancelled = {"result": results(spans=SPANS[:1]), "was_cancelled": True}
    other = {"result": [], "was_cancelled": False}
    truth = {"result": results(), "ground_truth": True}
    problems = Problems()
    first, second = read(
        studio(cancelled, {"result": results()}),
        studio(other, truth),
        studio(cancelled),
        problems=problems,
    )
    assert ents(first) == ents(second) == READ
    assert problems.notes == {
        "further annotations of the same texts, not read": 1,
        "texts whose annotation was cancelled, skipped": 1,
    }


def test_predictions_are_read_on_request(read: Read) -> None:
    record = studio(predictions=[{"result": results()}, {"result": []}])
    with pytest.raises(ValueError, match=r"P187.*predictions=true"):
        read(record)
    assert ents(read(record, predictions=True)[0]) == READ


def test_other_results_are_counted_but_spans_of_other_tags_are_errors(read: Read) -> None:
    relation = {"type": "relation", "from_id": "a", "to_id": "b"}
    problems = Problems()
    (doc,) = read(studio({"result": [*results(), relation]}), problems=problems)
    assert ents(doc) == READ
    assert problems.notes["results of the type 'relation', not read"] == 1
    with pytest.raises(ValueError, match=r"P145.*'hypertextlabels'.*<Text>"):
        read(studio({"result": results(kind="hypertextlabels")}))


def test_relations_are_counted(read: Read) -> None:
    problems = Problems()
    read({"text": TEXT, "entities": [], "relations": [{"id": 0}, {"id": 1}]}, problems=problems)
    assert problems.notes["relations, not read"] == 2


def given(*words: str, ws: list[bool] | None = None) -> list[dict[str, Any]]:
    tokens: list[dict[str, Any]] = [{"text": word, "id": i} for i, word in enumerate(words)]
    if ws is not None:
        tokens = [{**token, "ws": x} for token, x in zip(tokens, ws, strict=True)]
    return tokens


@pytest.mark.parametrize("ws", [None, [False, True, False, False, False]])
def test_the_tokens_of_the_file_are_used(read: Read, ws: list[bool] | None) -> None:
    record = prodigy("An-n met\nBob", [(3, 4, "X")])
    record["tokens"] = given("An-", "n", "met", "\n", "Bob", ws=ws)
    (doc,) = read(record)
    assert [token.text for token in doc] == ["An-", "n", "met", "\n", "Bob"]
    assert (doc.text, ents(doc)) == ("An-n met\nBob", [("n", "X")])
    (doc,) = read(prodigy("An-n left", [], tokens=record["tokens"]), tokens=False)
    assert doc.text == "An-n left"


@pytest.mark.parametrize("tokens", [given("An", "##n"), given("Ann", "x"), ["Ann"], [{"id": 0}]])
def test_tokens_of_another_text_are_errors(read: Read, tokens: Any) -> None:
    with pytest.raises(ValueError, match=r"P145.*line 1: the tokens.*tokens=false"):
        read(prodigy("Ann", [], tokens=tokens))


def test_the_language_decides_on_the_tokens(read: Read) -> None:
    record = prodigy("l'arbre", [(2, 7, "X")])
    with pytest.raises(ValueError, match=r"P185.*lang"):
        read(record)
    assert ents(read(record, lang="fr")[0]) == [("arbre", "X")]


def test_the_reader_tokenizes_like_the_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(prodigy("l'arbre", [(2, 7, "X")])), encoding="utf8")
    (example,) = create_offsets_reader(path)(spacy.blank("fr"))
    assert ents(example.reference) == [("arbre", "X")]
    assert example.predicted.text == "l'arbre" and not example.predicted.ents
    with pytest.raises(ValueError, match="P185"):
        list(create_offsets_reader(path, lang="en")(spacy.blank("fr")))


def test_the_key_of_the_text_can_be_another(read: Read) -> None:
    record = {"data": {"body": TEXT, "id": 2}, "annotations": [{"result": results()}]}
    with pytest.raises(ValueError, match=r"P145.*no text under the key \"text\".*body, id"):
        read(record)
    assert ents(read(record, text_key="body")[0]) == READ


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a", "spans": []}\n{"text": "b"', r"P352.*line 2: this is not valid JSON"),
        ('{"text": "a", "spans": []}\n\n7', "P352.*line 3: this is not an object, but 7"),
        ('{"text": "\\ud800", "spans": []}', "P352.*line 1: there is an unpaired surrogate"),
        ('{"text": "a", "spans": [], "spans": []}', 'P352.*line 1: .*the key "spans" occurs twice'),
        ('[{"text": "a",\n "text": "b", "spans": []}]', 'P352.*the key "text" occurs twice'),
        ('[{"text": "a",\n "spans": []},\n{"text" "b"}]', "P352.*line 3: this is not valid JSON"),
        ('[{"text": "a", "spans": []}\n {"text": "b"}]', "P352.*line 2: .*expected , or ]"),
        ('[{"text": "a", "spans": []}]\nx', "P352.*line 2: .*text after the end"),
        ('[{"text": "a", "spans": []}', "P352.*line 2: .*expected , or ]"),
        ("[]", "P187"),
        ("\n\n", "P187"),
        ("[" * 99_999, "P352.*line 1, task 1: this is not valid JSON"),
    ],
)
def test_broken_files_are_errors_with_a_line(read: Read, content: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(content)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (prodigy(spans=[(0, 99, "X")]), r"P188.*"),
        ({"text": TEXT, "label": [["a", 3, "X"]]}, "P145.*"),
        (prodigy(spans=[(0, 2, "X")]), "P185.*"),
        (prodigy(spans=[(0, 3, "X"), (0, 7, "Y")]), "P186.*"),
        (prodigy(tokens=given("x")), "P145.*"),
        (prodigy(label=[(0, 3, "X")]), "P145.*"),
        ({"data": {"body": "Ann"}, "annotations": [{"result": []}]}, "P145.*"),
        ({"text": TEXT, "spans": [], "x": float("nan")}, "P352.*"),
    ],
)
def test_errors_in_lists_name_the_task(read: Read, item: dict[str, Any], message: str) -> None:
    for key, place in ((7, r" \(id 7\)"), ("a b", r" \(id a b\)"), (True, ""), (None, "")):
        with pytest.raises(ValueError, match=rf"{message}a\.jsonl, line 1, task 3{place}: "):
            read(json.dumps([prodigy(), prodigy(), {**item, "id": key}]))
        with pytest.raises(ValueError, match=rf"{message}a\.jsonl, line 2: "):
            read(prodigy(), {**item, "id": key})


def test_items_of_lists_that_are_no_tasks_are_counted_too(read: Read) -> None:
    with pytest.raises(ValueError, match=r"P352.*line 1, task 2: this is not an object, but 7"):
        read('[{"text": "a", "spans": []}, 7]')
    with pytest.raises(ValueError, match=r"P352.*line 1, task 2: .*the key \"a\" occurs twice"):
        read('[{"text": "a", "spans": []}, {"a": 1, "a": 2}]')


@pytest.mark.parametrize(
    "span",
    [["a", 3, "X"], [0, 3], {"start": 0, "end": True, "label": "X"}, [0, 1, 7], "X", [2, 1, "X"]],
)
def test_spans_that_are_none_are_errors(read: Read, span: Any) -> None:
    with pytest.raises(ValueError, match=r"P145.*line 1"):
        read({"text": TEXT, "label": [span]})


@pytest.mark.parametrize(
    "options",
    [{"layer": "frames"}, {"alignment_mode": "loose"}, {"units": "bytes"}, {"lang": "klingon"}],
)
def test_options_are_checked(read: Read, options: dict[str, str]) -> None:
    (name,) = options
    with pytest.raises(ValueError, match=rf"P142.*{name}="):
        read(prodigy(), **options)


def test_texts_without_words_are_skipped(read: Read) -> None:
    problems = Problems()
    assert len(read(prodigy(" \n", []), prodigy("", []), prodigy(), problems=problems)) == 1
    assert problems.notes["texts without words, skipped"] == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", ""),
        ("a.json", ""),
        ("a.jsonl.gz", ""),
        ("export", '{"text": "Ann met Bob", "spans": []}\n'),
        ("export", '\n{"text":"Ann","label":[]}\n'),
        ("export", '[\n  {\n    "id": 1,\n    "data": {}\n  }\n]\n'),
        ("export", '[{"id":1,"data":{}}]'),
        ("export", '["Ann ran", {"entities": [[0, 3, "PER"]]}]'),
        ("export", '[["Ann ran", {"entities": []}]]'),
    ],
)
def test_json_is_detected(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf8")
    assert detect(path).form.name == "offsets"


def test_brackets_in_columns_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text('[ O\n{ O\n" O\nAnn B-PER\n', encoding="utf8")
    assert detect(path).form.name == "iob"


@pytest.mark.parametrize("start", ["", "["])
def test_damaged_archives_are_errors(tmp_path: Path, start: str) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress((start + json.dumps(prodigy())).encode(), mtime=0)[:-9])
    with pytest.raises(ValueError, match=r"P115.*a\.json\.gz is damaged"):
        list(read_offsets(path))


def test_one_list_in_one_long_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([prodigy("Ann " * 40_000, [])] * 8), encoding="utf8")
    assert path.stat().st_size > 1 << 20
    assert len(list(FORMATS["offsets"].read(path))) == 8


KEYS = st.sampled_from(
    [
        "text",
        "data",
        "spans",
        "label",
        "labels",
        "entities",
        "annotations",
        "result",
        "tokens",
        "answer",
        "start",
        "end",
        "value",
        "type",
        "start_offset",
        "end_offset",
        "predictions",
        "relations",
        "ws",
        "annotation_id",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.text(max_size=9)
    | st.sampled_from(["labels", "accept", "A b\n\U0001f600"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@from_strategies(st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=3), st.booleans())
def test_whatever_the_objects_are_the_result_is_docs_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], lenient: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "objects.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf8")
    problems = Problems(lenient)
    try:
        docs = list(make_docs(Vocab(), read_offsets(path, problems=problems)))
    except ValueError as err:
        assert "objects.jsonl" in str(err)
    else:
        skipped = sum(n for what, n in problems.notes.items() if what.startswith("texts"))
        assert len(docs) + skipped >= len(records) > 0
