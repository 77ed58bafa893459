"""Worker processes of `nlp.pipe`, and what happens if one fails."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from spacy.tokens import Doc
from spacy.training import Example

from ..documentation import ROOT
from ..pipeline.conftest import make_nlp, tiny_model, trained_nlp

# The parent runs no forward pass before the fork, but several threads copy its word table while
# loading, because it is large. Afterwards, the workers get an invalid setting.
LOADED = """
import multiprocessing, os, sys
register, registered = os.register_at_fork, []
os.register_at_fork = lambda **hooks: (registered.extend(hooks.values()), register(**hooks))
import spacy, torch
from spacy_psa.pipeline import workers

multiprocessing.set_start_method("fork")
torch.set_num_threads(2)
nlp = spacy.load(sys.argv[1])
network = nlp.get_pipe("psa_tagger").model.get_ref("tok2vec").shims[0].network
assert network.words.weight.numel() > 65536
texts = ["Ann saw Berlin .", "They eat green ham . " * 50] * 2
print(sum(len(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=1)), "tokens")
hooks = [*multiprocessing.util._afterfork_registry.values(), *registered]
print("guarded:", any(getattr(hook, "__module__", "") == workers.__name__ for hook in hooks))

nlp.get_pipe("psa_tagger").cfg["threshold"] = {"no label": 0.5}
try:
    list(nlp.pipe(texts, n_process=2, batch_size=1))
except ValueError as error:
    print(error)
"""
# A component that fails for some texts, after the tagger, in one of two processes.
FAILING = """
import multiprocessing, os, sys
import spacy
from spacy.language import Language
from spacy_psa.pipeline.workers import guard_workers

guard_workers()
READER, WRITER = multiprocessing.Pipe(False)

@Language.component("failing")
def failing(doc):
    if doc.text == "report":
        WRITER.send("a pipe of our own is open")
    if doc.text == "raise":
        raise RuntimeError("no more of this")
    if doc.text == "die":
        os.kill(os.getpid(), 9)
    return doc

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[2], force=True)
    nlp = spacy.load(sys.argv[1])
    nlp.add_pipe("failing")
    text = sys.argv[4] if len(sys.argv) > 4 else "Ann saw Berlin ."
    texts = [text] * 6 + [sys.argv[3]] + [text] * 6
    try:
        print(sum(len(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)))
    except Exception as error:
        print(type(error).__name__, error)
    while READER.poll():
        print(READER.recv())
"""
# The process forks while one of its threads is inside a section that only one may enter.
LOCKED = """
import sys, threading
import spacy, torch
from spacy_psa.layers import SequenceMask

reached, go_on = threading.Event(), threading.Event()

def wait(*_):
    if threading.current_thread() is not threading.main_thread():
        reached.set()
        go_on.wait(60)

class Lengths:
    @property
    def device(self):
        wait()

nlp = spacy.load(sys.argv[1])
nlp("Ann")
network = nlp.get_pipe("psa_tagger").model.get_ref("tok2vec").shims[0].network
network.characters.register_forward_pre_hook(wait)
act = {
    "reading": lambda: nlp("some new words"),
    "masking": lambda: getattr(SequenceMask(Lengths(), 3), "positions", None),
}[sys.argv[2]]
thread = threading.Thread(target=act)
thread.start()
assert reached.wait(60)
texts = ["Ann saw Berlin .", "Ann", "They eat green ham ."] * 2
print(sum(len(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=3)), "tokens")
go_on.set()
thread.join()
"""


def run(folder: Path, script: str, *arguments: str) -> str:
    """Run a script on a pipeline in a new process; fail if it hangs."""
    path = folder / "script.py"
    path.write_text(script, encoding="utf8")
    # Otherwise, waiting threads would keep a busy machine busy
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
    process = subprocess.Popen(
        [sys.executable, str(path), str(folder / "model"), *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # to end hanging children together with their parent
    )
    try:
        output, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        pytest.fail("the processes hang")
    assert process.returncode == 0, output
    return output


def run_fork(folder: Path, script: str, *arguments: str) -> str:
    """The same in a fork of this process, which has imported everything."""

    def act() -> None:
        os.setsid()
        warnings.showwarning = lambda message, *_: print(message)
        sys.argv = ["script.py", str(folder / "model"), *arguments]
        with (folder / "output").open("w", encoding="utf8") as sys.stdout:
            sys.stderr = sys.stdout
            exec(script, {"__name__": "__main__"})

    process = multiprocessing.get_context("fork").Process(target=act)
    process.start()
    process.join(120)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("the processes hang")
    output = (folder / "output").read_text(encoding="utf8")
    assert process.exitcode == 0, output
    return output


METHODS = multiprocessing.get_all_start_methods()
forks = pytest.mark.skipif("fork" not in METHODS, reason="this system does not fork")
FORK = pytest.param("fork", marks=forks)
# Starting an interpreter for each worker is slow
OTHER_METHODS = [
    pytest.param(
        method,
        marks=[
            pytest.mark.nightly,
            pytest.mark.skipif(method not in METHODS, reason=f"no start of processes by {method}"),
        ],
    )
    for method in ("forkserver", "spawn")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained pipeline, to which scripts are written."""
    folder = tmp_path_factory.mktemp("workers")
    trained_nlp().to_disk(folder / "model")
    return folder


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of a process that loads a pipeline and forks."""
    folder = tmp_path_factory.mktemp("forked")
    nlp = make_nlp(model=tiny_model(tok2vec__width=64))
    words = [f"word{i}" for i in range(2000)]
    tags = ["NN"] * len(words)
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
    nlp.initialize(lambda: [example])
    nlp.to_disk(folder / "model")
    return run(folder, LOADED)


@forks
def test_a_pipeline_that_was_only_loaded_can_be_forked(forked: str) -> None:
    assert f"{2 * (4 + 250)} tokens" in forked.splitlines()


@forks
def test_nothing_is_guarded_unless_one_asks_for_it(forked: str) -> None:
    assert "guarded: False" in forked.splitlines()


@forks
def test_an_error_of_ours_in_a_worker_is_that_of_the_parent(forked: str) -> None:
    assert "[E871]" in forked
    assert "[P343]" in forked
    assert "no label" in forked


@pytest.mark.nightly
@pytest.mark.parametrize("method", [FORK, "spawn"])
def test_an_error_in_a_worker_is_that_of_the_parent(folder: Path, method: str) -> None:
    output = run(folder, FAILING, method, "raise")
    assert "ValueError [E871]" in output
    assert "no more of this" in output


@pytest.mark.parametrize("method", [FORK, *OTHER_METHODS])
def test_a_worker_that_is_killed_does_not_hang_the_parent(folder: Path, method: str) -> None:
    output = (run_fork if method == "fork" else run)(folder, FAILING, method, "die")
    assert "EOFError" in output
    assert "W127" in output


@forks
def test_nor_does_it_keep_the_parent_from_ending(folder: Path) -> None:
    # The killed worker is being sent a batch of 100 KB, and a pipe holds 64 KB
    assert "EOFError" in run_fork(folder, FAILING, "fork", "die", ("x" * 99 + " ") * 1000)


@forks
@pytest.mark.parametrize("end", ["die", "raise"])
def test_nor_does_a_worker_that_writes_more_than_a_pipe_holds(folder: Path, end: str) -> None:
    # Docs of 100 KB, from texts that do not fill the pipe to a worker
    output = run_fork(folder, FAILING, "fork", end, "Ann saw Berlin . " * 400)
    assert ("EOFError" if end == "die" else "no more of this") in output


@forks
def test_only_the_pipes_of_other_workers_are_closed(folder: Path) -> None:
    assert "a pipe of our own is open" in run_fork(folder, FAILING, "fork", "report")


@forks
@pytest.mark.parametrize("act", ["reading", "masking"])
def test_what_a_thread_does_meanwhile_does_not_hang_a_worker(folder: Path, act: str) -> None:
    assert f"{2 * (4 + 1 + 5)} tokens" in run_fork(folder, LOCKED, act).splitlines()
