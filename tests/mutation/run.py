"""Mutation testing: measure how many small changes to the code make a test fail.

    python -m tests.mutation.run annotation inference --sample 60
    python -m tests.mutation.run --again

A random sample of the changes that cosmic-ray can make to a package is tried, one at a time, in a
copy of the tree: the package's tests run until one fails. Inspect the mutants that survive. If one
reveals a gap, write a test and retry the survivors with `--again`; otherwise, add the reason to
`reasons.json`.

Each test run is a fork of this process, which has imported everything except the project, so this
works on Linux and macOS only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import spacy.lang.en
import spacy.training
import thinc.api
import torch
from hypothesis import Phase, settings

from .mutants import Mutant, code_mutants, draw
from .page import write_page

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
NEEDED = ("spacy_psa", "tests", "benchmarks", "pyproject.toml", "setup.cfg")
LOADED = (spacy, thinc.api, torch)

# The tests of each package.
TESTS = {"annotation": ["tests/annotation"], "inference": ["tests/inference"]}
# Run first for a module without a test file of the same name.
TARGETS, CHAIN = "tests/annotation/test_targets.py", "tests/inference/test_linear_chain.py"
FIRST = {"annotation": TARGETS, "inference": CHAIN}
# MORE: additional tests of a module. ONLY: slow tests that concern one module and no other.
OF_FRAMES = ["tests/corpora/test_frames.py", "tests/pipeline/srl/test_frames.py"]
MORE = {"annotation/frame_tags.py": OF_FRAMES, "annotation/propositions.py": OF_FRAMES}
ONLY = {"tests/annotation/test_schemes.py": "annotation/schemes.py"}

# A mutant may loop forever or allocate an array of any size. Its limit is a multiple of the CPU
# time that the tests take on the unchanged code, so that a busy machine stops nothing.
MOST_TIME = 4.0
LEAST_SECONDS = 60
MOST_MEMORY = 4 << 30

PASSED, FAILED, STOPPED = "survived", "killed", "stopped"


def main() -> None:
    """Try mutants and write `mutation.json` and `mutation.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", help=f"default: {' '.join(TESTS)}")
    parser.add_argument("--sample", type=int, default=60, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=0, help="for the sample")
    parser.add_argument("--again", action="store_true", help="try what survived the last time")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)  # threads do not survive a fork
    for package in arguments.packages or TESTS:
        with copied_tree() as tree:
            if arguments.again:
                again(package, tree, arguments.output)
            else:
                anew(package, tree, arguments.output, arguments.sample, arguments.seed)


@contextmanager
def copied_tree() -> Iterator[Path]:
    """Copy what the tests need, so that the working tree is not touched."""
    ignored = shutil.ignore_patterns("__pycache__", "results")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve()
        for name in NEEDED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, tree / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, tree / name)
        yield tree


def anew(package: str, tree: Path, output: Path, n: int, seed: int) -> None:
    """Draw a sample of the mutants of a package and try them."""
    seconds = time_limit(tree, package)
    possible, hints = code_mutants((tree / "spacy_psa" / package).glob("*.py"))
    results: dict[str, Any] = {"possible": len(possible), "hints": hints, "seed": seed}
    results |= {"tried": 0, "stopped": 0, "killed_first": 0, "killed": 0, "survivors": []}
    for mutant in islice(draw(possible, seed, tree), n):
        outcome = try_mutant(mutant, tree, seconds)
        results["tried"] += 1
        results["stopped"] += outcome == STOPPED
        results["killed"] += outcome != PASSED
        results["killed_first"] = results["killed"]
        if outcome == PASSED:
            results["survivors"].append(mutant.as_dict())
        save(package, results, output)


def again(package: str, tree: Path, output: Path) -> None:
    """Retry the mutants that survived the last run."""
    seconds = time_limit(tree, package)
    results = load(output)[package]
    for mutant in [Mutant(**found) for found in results["survivors"]]:
        if try_mutant(mutant, tree, seconds) != PASSED:
            results["survivors"].remove(mutant.as_dict())
            results["killed"] += 1
            save(package, results, output)


def try_mutant(mutant: Mutant, tree: Path, seconds: int) -> str:
    """Run the tests on a mutant."""
    path = tree / mutant.module
    source, changed = path.read_text(encoding="utf8"), mutant.code(tree)
    path.write_text(changed, encoding="utf8")
    try:
        outcome = PASSED
        for tests in tests_of(mutant.module, tree):
            if outcome == PASSED:
                outcome, _ = run_tests(tree, tests, seconds)
    finally:
        path.write_text(source, encoding="utf8")
    print(f"{outcome}: {mutant.module}: {mutant.before} -> {mutant.after}", flush=True)
    return outcome


def tests_of(module: str, tree: Path) -> list[list[str]]:
    """Choose the tests for a module."""
    package, name = Path(module).parts[1:]
    own = f"tests/{package}/test_{name}"
    place = f"{package}/{name}"
    ignored = [f"--ignore={test}" for test, only in ONLY.items() if only != place]
    first = own if (tree / own).exists() else FIRST[package]
    return [[first], [*TESTS[package], *MORE.get(place, []), *ignored]]


def time_limit(tree: Path, package: str) -> int:
    """Time the tests on the unchanged code."""
    more = {test for place, some in MORE.items() if place.startswith(package) for test in some}
    outcome, seconds = run_tests(tree, [*TESTS[package], *sorted(more)], resource.RLIM_INFINITY)
    if outcome != PASSED:
        raise RuntimeError(f"The tests of {package} fail without any change.")
    print(f"The tests of {package} take {seconds:.0f} s.", flush=True)
    return max(LEAST_SECONDS, round(MOST_TIME * seconds))


def run_tests(tree: Path, tests: Sequence[str], seconds: int) -> tuple[str, float]:
    """Run tests in a separate process until one fails."""
    loaded = {name for name in sys.modules if name.split(".")[0] == "spacy_psa"}
    assert not loaded, f"the tests would not see changes of {loaded}"
    process = os.fork()
    if process == 0:
        code = 1
        try:
            code = _tests_here(tree, tests, seconds)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status, usage = os.wait4(process, 0)
    stopped = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
    outcome = STOPPED if stopped else PASSED if status == 0 else FAILED
    return outcome, usage.ru_utime + usage.ru_stime


class _NoShrinking:
    """A pytest plugin that turns off shrinking: any failing example is enough."""

    def pytest_configure(self) -> None:
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", settings.get_profile("ci"), phases=phases)
        settings.load_profile("mutation")


def _tests_here(tree: Path, tests: Sequence[str], seconds: int) -> int:
    """Run tests in this process. RETURNS (int): The exit code of pytest."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.chdir(tree)
    # Until here, `tests` is the package in the working tree
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(part for part in sys.path if part not in ("", str(ROOT)))]
    options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    code = int(pytest.main([*options, *tests], plugins=[_NoShrinking()]))
    package = sys.modules.get("spacy_psa")
    if package is not None and not str(package.__file__).startswith(str(tree)):
        raise RuntimeError(f"{package.__file__} was tested in place of {tree}")
    return code


def load(output: Path) -> dict[str, Any]:
    """Read results."""
    path = output / "mutation.json"
    return json.loads(path.read_text(encoding="utf8")) if path.exists() else {}


def save(package: str, results: dict[str, Any], output: Path) -> None:
    """Write the results of a package, and keep those of the others."""
    everything = load(output) | {package: results}
    text = json.dumps(everything, indent=1, sort_keys=True, ensure_ascii=False)
    # Atomically, because packages may be tried in parallel
    with tempfile.NamedTemporaryFile("w", dir=output, delete=False, encoding="utf8") as file:
        file.write(text + "\n")
    os.replace(file.name, output / "mutation.json")
    write_page(output / "mutation.md", everything)


if __name__ == "__main__":
    main()
