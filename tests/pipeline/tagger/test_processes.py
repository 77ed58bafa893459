"""Processes, threads and copies."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from spacy.language import Language

from ..conftest import (
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    trained_nlp,
    weights,
)

TEXTS = ["Ann saw Berlin .", "", "They eat green ham .", "Bob", "New York City likes Bob ."] * 4

# Several threads, and a document long enough to use them, so that a child inherits a pool whose
# threads it does not have.
SCRIPT = """
import multiprocessing, sys
import torch
import spacy

if __name__ == "__main__":
    torch.set_num_threads(2)
    nlp = spacy.load(sys.argv[1])
    texts = ["Ann saw Berlin .", "", "They eat green ham ."] * 4
    texts.append(" ".join(texts * 100))
    alone = [[t.tag_ for t in doc] for doc in nlp.pipe(texts)]
    # Its processes get the pipeline as those of "spawn" do, but import everything once
    multiprocessing.set_forkserver_preload(["spacy_psa.pipeline.components"])
    for method in sys.argv[2:]:
        multiprocessing.set_start_method(method, force=True)
        together = [[t.tag_ for t in doc] for doc in nlp.pipe(texts, n_process=2, batch_size=4)]
        assert together == alone, "predictions differ"
        assert torch.get_num_threads() == 2, "the parent has lost its threads"
        print(method)
"""


FORKS = ["fork", "forkserver"]
CAN_FORK = set(FORKS) <= {*multiprocessing.get_all_start_methods()}


@pytest.mark.parametrize(
    "methods",
    [
        pytest.param(
            FORKS, marks=pytest.mark.skipif(not CAN_FORK, reason="no forks here"), id="forks"
        ),
        pytest.param(["spawn"], marks=[pytest.mark.nightly] * CAN_FORK, id="spawn"),
    ],
)
def test_processes(tmp_path: Path, methods: list[str]) -> None:
    trained_nlp().to_disk(tmp_path / "model")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    # Otherwise, waiting threads would keep a busy machine busy.
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
    # In a separate process group, to end hanging children together with their parent.
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "model"), *methods],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=180)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        pytest.fail("the processes hang")
    assert process.returncode == 0, output
    assert output.splitlines()[-len(methods) :] == methods


def test_the_component_can_be_pickled(target: str) -> None:
    nlp = trained_nlp(target)
    docs = make_docs(nlp)
    copy = pickle.loads(pickle.dumps(tagger_of(nlp)))
    assert copy.labels == tagger_of(nlp).labels
    found = zip(copy.predict(docs), tagger_of(nlp).predict(docs), strict=True)
    assert all((a.ids == b.ids).all() for a, b in found)


@pytest.mark.parametrize("copy", [deepcopy, lambda model: model.copy()])
def test_the_model_can_be_copied(copy) -> None:
    nlp = trained_nlp()
    model, docs = tagger_of(nlp).model, make_docs(nlp)
    before = model.predict(docs).emissions
    copied = copy(model)
    assert torch.equal(copied.predict(docs).emissions, before)
    for node in copied.walk():
        for shim in node.shims:
            for parameter in shim.network.parameters():
                parameter.data.zero_()
    assert torch.equal(model.predict(docs).emissions, before)


def test_optimizers_tell_a_copy_from_the_original() -> None:
    model = tagger_of(trained_nlp()).model
    copied = model.copy()
    ids = [shim.id for m in (model, copied) for node in m.walk() for shim in node.shims]
    assert len(set(ids)) == len(ids) == 4


def test_a_copied_pipeline_goes_its_own_way() -> None:
    nlp = trained_nlp()
    copied: Language = deepcopy(nlp)
    assert_same_weights(weights(copied), weights(nlp))
    before = weights(nlp)
    tagger_of(copied).update(make_examples(copied), sgd=make_adam())
    assert_same_weights(weights(nlp), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_networks_are_in_float32_whatever_the_default_is(dtype: torch.dtype) -> None:
    nlp = trained_nlp()
    expected = [[token.tag_ for token in doc] for doc in nlp.pipe(TEXTS)]
    data = nlp.to_bytes()
    torch.set_default_dtype(dtype)
    try:
        loaded = make_nlp().from_bytes(data)
        found = [[token.tag_ for token in doc] for doc in loaded.pipe(TEXTS)]
        tagger_of(loaded).add_label("NEW")
        for other in (loaded, initialized_nlp()):
            other.update(make_examples(other), sgd=make_adam())
            assert all(value.dtype == "float32" for value in weights(other).values())
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)
    assert found == expected
