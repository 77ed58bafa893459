"""Wrong values and damaged files: one clear error each, and nothing changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import srsly
from spacy.language import Language

from spacy_psa.pipeline.tagger.decoder import TagPrediction

from ..conftest import (
    NAME,
    annotation,
    assert_same_weights,
    initialized_nlp,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    trained_nlp,
    weights,
)


def state(nlp: Language) -> tuple[Any, ...]:
    """Everything that loading could change."""
    tagger = tagger_of(nlp)
    dims = [{d: node.maybe_get_dim(d) for d in node.dim_names} for node in tagger.model.walk()]
    return tagger.cfg, tagger.tags, dims, tagger.model.to_bytes()


def assert_refused(nlp: Language, load: Callable[[], Any], match: str) -> None:
    before = srsly.msgpack_dumps(state(nlp))
    with pytest.raises(ValueError, match=match):
        load()
    assert srsly.msgpack_dumps(state(nlp)) == before


# Configuration


def test_an_attribute_that_words_do_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"P100.*SHAPE"):
        make_nlp(model=tiny_model(tok2vec__attr="SHAPE"))


# Predictions


@pytest.mark.parametrize("ids", [[0, 0, 99], [-1, 0, 0], [0, 0], [0, 0, 0, 0]])
def test_predictions_out_of_range_are_an_error(ids: list[int]) -> None:
    nlp = initialized_nlp()
    doc = make_docs(nlp, [["Ann", "likes", "Berlin"]])[0]
    before = annotation(doc)
    with pytest.raises(ValueError, match="P310"):
        tagger_of(nlp).set_annotations([doc], [TagPrediction(np.array(ids))])
    assert annotation(doc) == before


def test_predictions_for_other_docs_are_an_error() -> None:
    nlp = initialized_nlp()
    docs = make_docs(nlp)
    with pytest.raises(ValueError, match=r"P312.*3 documents, but 2 predictions"):
        tagger_of(nlp).set_annotations(docs, tagger_of(nlp).predict(docs[:2]))


# Files that belong to something else


@pytest.mark.parametrize("initialized", [True, False])
@pytest.mark.parametrize(
    ("saved", "match"),
    [
        ({"target": "ents"}, r"P311.*P308.*target 'tag', .*for 'ents'"),
        ({"target": "pos"}, r"P311.*P308.*target 'tag', .*for 'pos'"),
        (
            {"model": tiny_model(encoder__recurrent__hidden_width=20)},
            r"P311.*P203.*has shape",
        ),
        ({"model": tiny_model(tok2vec__characters=None)}, r"P311.*P203.*'characters.*is missing"),
        (
            {"model": tiny_model(encoder__first_fusion=None)},
            r"P311.*P203.*'encoder.*",
        ),
        (
            {"model": tiny_model(decoder={"@architectures": "spacy_psa.Softmax.v1"})},
            r"P311.*P203.*'decoder.transitions' is missing",
        ),
    ],
)
def test_the_model_of_another_configuration_is_refused(
    saved: dict[str, Any], match: str, initialized: bool
) -> None:
    nlp = initialized_nlp() if initialized else make_nlp()
    data = tagger_of(initialized_nlp(**saved)).to_bytes()
    # If there are weights already, thinc may find the difference first.
    match = "P311" if initialized else match
    assert_refused(nlp, lambda: tagger_of(nlp).from_bytes(data), match)


def test_vectors_that_come_with_a_refused_model_are_not_taken(tmp_path: Path) -> None:
    nlp, other = make_nlp(), make_nlp(model=tiny_model(tok2vec__width=5))
    for pipeline, vector in ((nlp, np.ones(4)), (other, np.zeros(5))):
        pipeline.vocab.set_vector("Ann", vector.astype("f"))
        pipeline.initialize(lambda p=pipeline: make_examples(p))
    source = tagger_of(other)
    source.to_disk(tmp_path / "tagger")
    assert_refused(nlp, lambda: tagger_of(nlp).from_bytes(source.to_bytes()), "P311")
    assert_refused(nlp, lambda: tagger_of(nlp).from_disk(tmp_path / "tagger"), "P311")
    assert nlp.vocab.get_vector("Ann").tolist() == [1.0] * 4


def test_the_spans_of_another_key_are_refused() -> None:
    nlp = trained_nlp("spans")
    data = tagger_of(make_nlp("spans", spans_key="other")).to_bytes()
    match = r"P311.*P308.*'spans' \(spans_key 'sc'\).*'spans' \(spans_key 'other'\)"
    assert_refused(nlp, lambda: tagger_of(nlp).from_bytes(data), match)


def test_labels_that_do_not_belong_to_the_model_are_refused(tmp_path: Path) -> None:
    nlp = trained_nlp()
    tagger_of(nlp).to_disk(tmp_path)
    cfg = srsly.read_json(tmp_path / "cfg")
    srsly.write_json(tmp_path / "cfg", {**cfg, "labels": cfg["labels"][:-1]})
    assert_refused(nlp, lambda: tagger_of(nlp).from_disk(tmp_path), r"P311.*P309.*8 tags.*9")


def test_the_component_works_on_after_a_refusal() -> None:
    nlp, other = trained_nlp(), initialized_nlp("ents")
    expected = [annotation(doc) for doc in nlp.pipe(make_docs(nlp))]
    assert_refused(nlp, lambda: tagger_of(nlp).from_bytes(tagger_of(other).to_bytes()), "P308")
    assert [annotation(doc) for doc in nlp.pipe(make_docs(nlp))] == expected


def test_a_refused_component_can_be_initialized() -> None:
    nlp = make_nlp("ents")
    data = tagger_of(trained_nlp()).to_bytes()
    assert_refused(nlp, lambda: tagger_of(nlp).from_bytes(data), "P308")
    nlp.initialize(lambda: make_examples(nlp))
    assert tagger_of(nlp).labels == ("LOC", "PER")


# Damaged files


def damaged(nlp: Language, folder: Path, damage: Callable[[bytes], bytes]) -> Path:
    tagger_of(nlp).to_disk(folder)
    (folder / "model.sha256").unlink()
    (folder / "model").write_bytes(damage((folder / "model").read_bytes()))
    return folder


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"\x00" * len(data),
        lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 1\n",
        lambda data: srsly.msgpack_dumps({}),
        lambda data: srsly.msgpack_dumps([1, 2]),
        lambda data: srsly.msgpack_dumps(None),
    ],
    ids=["empty", "byte", "half", "cut", "longer", "zeros", "lfs", "dict", "list", "none"],
)
def test_a_damaged_model_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    folder, nlp = damaged(trained_nlp(), tmp_path, damage), initialized_nlp(seed=3)
    assert_refused(nlp, lambda: tagger_of(nlp).from_disk(folder), rf"P311.*{NAME}")


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    nlp = trained_nlp()
    tagger_of(nlp).to_disk(tmp_path)
    (tmp_path / "model").unlink()
    assert_refused(nlp, lambda: tagger_of(nlp).from_disk(tmp_path), r"P311.*No such file.*model")


def test_a_setting_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    nlp = trained_nlp()
    tagger_of(nlp).cfg["threads"] = 1
    with pytest.raises(ValueError, match=r"P425.*'threads'"):
        tagger_of(nlp).to_disk(tmp_path / "saved")
    del tagger_of(nlp).cfg["threads"]
    tagger_of(nlp).to_disk(tmp_path / "saved")


def test_weights_are_unchanged_if_only_the_second_network_is_damaged() -> None:
    nlp, source = initialized_nlp(seed=3), trained_nlp()
    before = weights(nlp)
    message = srsly.msgpack_loads(tagger_of(source).model.to_bytes())
    *_, last = [shims for shims in message["shims"] if shims]
    last[0] = last[0][:-10]
    entries = srsly.msgpack_loads(tagger_of(source).to_bytes())
    del entries["model.sha256"]
    data = srsly.msgpack_dumps({**entries, "model": srsly.msgpack_dumps(message)})
    assert_refused(nlp, lambda: tagger_of(nlp).from_bytes(data), r"P311.*P202")
    assert_same_weights(weights(nlp), before)
