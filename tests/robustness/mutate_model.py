"""Corrupt saved pipelines in a thousand ways, and load them.

    python -m tests.robustness.mutate_model --mutants 1000 --seed 0

Each mutant must either load or be rejected with one of our errors. Nothing else may happen: no
other exception, no hang, no memory blow-up, and nothing left half loaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from configparser import Error as ConfigParserError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import spacy
import torch
from catalogue import RegistryError
from spacy.language import Language
from spacy.util import registry
from thinc.api import ConfigValidationError

from tests.pipeline import conftest as tags
from tests.pipeline import srl_data as roles
from tests.pipeline.conftest import HASH
from tests.quick import install

from .mutations import BYTES, spoil_config, spoil_model, spoil_settings

MODEL, CHECKSUM, SETTINGS, CONFIG = "model", "model.sha256", "cfg", "config.cfg"
SECONDS, MEGABYTES = 60, 500
SAME, OTHER, REFUSED, THEIRS = (
    "the same",
    "another, finite",
    "refused",
    "refused by spaCy",
)


class Hang(BaseException):
    """Raised if a mutant takes too long. Not an `Exception`, so that no handler catches it."""


@dataclass
class Saved:
    """A saved pipeline.

    name (str): The component's name.
    folder (Path): The pipeline's folder.
    files (Dict[str, bytes]): The original files of the component, and the config.
    expected (Any): Its predictions.
    nlp (Language): The pipeline itself, to load components into.
    """

    name: str
    folder: Path
    files: dict[str, bytes]
    expected: Any
    nlp: Language

    def load(self, whole: bool) -> Language:
        """Load the whole pipeline, or only the component into `nlp`, which is ten times faster."""
        if whole:
            return spacy.load(self.folder)
        self.nlp.get_pipe(self.name).from_disk(self.folder / self.name, exclude=["vocab"])
        return self.nlp

    def path(self, file: str) -> Path:
        """Get the path of one of the files."""
        return self.folder / file if file == CONFIG else self.folder / self.name / file

    def write(self, files: dict[str, bytes | None]) -> None:
        """Write files; delete those that are None."""
        for file, data in files.items():
            if data is None:
                self.path(file).unlink(missing_ok=True)
            else:
                self.path(file).write_bytes(data)


def save_pipelines(folder: Path) -> list[Saved]:
    """Save tiny pipelines: for tags, for spans with probabilities, for entities with one of
    spaCy's embeddings, and for semantic roles.
    """
    tagger = tags.initialized_nlp("tag")
    tags.train(tagger, tags.make_examples(tagger), steps=3)
    spanner = tags.initialized_nlp("spans", seed=1, probabilities=True, threshold=0.1)
    tags.train(spanner, tags.make_examples(spanner), steps=3)
    hashed = tags.initialized_nlp("ents", seed=2, model=tags.tiny_model(tok2vec=HASH))
    tags.train(hashed, tags.make_examples(hashed), steps=3)
    labeler = roles.initialized_nlp()
    roles.train(labeler, steps=3)
    found = []
    for i, (nlp, name) in enumerate(
        ((tagger, tags.NAME), (spanner, tags.NAME), (hashed, tags.NAME), (labeler, roles.NAME))
    ):
        place = folder / str(i)
        nlp.to_disk(place)
        saved = Saved(name, place, {}, None, nlp)
        for file in (MODEL, CHECKSUM, SETTINGS, CONFIG):
            saved.files[file] = saved.path(file).read_bytes()
        saved.expected = predictions(saved.load(whole=True), name)
        assert predictions(saved.load(whole=False), name) == saved.expected
        found.append(saved)
    return found


def predictions(nlp: Language, name: str) -> Any:
    """Get a pipeline's predictions for a few sentences."""
    if name == roles.NAME:
        docs = [roles.given_doc(nlp, i) for i in range(len(roles.WORDS))]
        return [roles.arguments(doc) for doc in nlp.pipe(docs)]
    return [tags.annotation(doc) for doc in nlp.pipe(tags.make_docs(nlp))]


def mutate(
    rng: Random, saved: Saved, others: list[Saved], architectures: list[str]
) -> dict[str, bytes | None]:
    """Choose files and corrupt them."""
    files: dict[str, bytes | None] = {}
    other = rng.choice([each for each in others if each is not saved])
    chosen = rng.choices((MODEL, SETTINGS, CONFIG, CHECKSUM), weights=(11, 5, 5, 1))[0]
    source = rng.choice((other.files[chosen], *saved.files.values()))
    if rng.random() < 0.02:
        return {chosen: None}
    if chosen == MODEL:
        data = spoil_model(rng, saved.files[MODEL], source)
        files[MODEL] = data
        kept = rng.random()
        if kept < 0.4:
            digest = hashlib.sha256(data).hexdigest()
            files[CHECKSUM] = f"{digest}  {MODEL}\n".encode()
        elif kept < 0.8:
            files[CHECKSUM] = None
    elif chosen == SETTINGS:
        files[SETTINGS] = spoil_settings(rng, saved.files[SETTINGS], source)
    elif chosen == CHECKSUM:
        files[CHECKSUM] = rng.choice(BYTES)(rng, saved.files[CHECKSUM], source)
    else:
        text = saved.files[CONFIG].decode("utf8")
        files[CONFIG] = spoil_config(rng, text, saved.name, architectures).encode("utf8")
    return files


def outcome(saved: Saved, files: dict[str, bytes | None], *, whole: bool) -> str:
    """Load a mutant, and report what happened."""
    changed = {file: data for file, data in files.items() if data != saved.files[file]}
    try:
        nlp = saved.load(whole or CONFIG in files)
        found = predictions(nlp, saved.name)
    except Exception as error:
        if isinstance(error, ValueError) and re.search(r"\[P\d{3}\]", str(error)):
            return REFUSED
        # spaCy and thinc read the config; their JSON writer raises a SystemError for numbers of
        # more than 64 bits
        kinds = ConfigValidationError | RegistryError | ConfigParserError | SystemError
        theirs = isinstance(error, kinds)
        assert CONFIG in files and (theirs or re.match(r"\[E\d+\]", str(error))), repr(error)
        return THEIRS
    assert MODEL not in changed or CHECKSUM in changed, "a spoilt model was not noticed"
    for node in nlp.get_pipe(saved.name).model.walk():
        for shim in node.shims:
            for tensor in shim.network.state_dict().values():
                assert bool(tensor.isfinite().all()), "weights are not finite"
    if found == saved.expected:
        return SAME
    settings = files.get(SETTINGS)
    if settings is not None:
        differs = json.loads(settings) != json.loads(saved.files[SETTINGS])
        assert differs, "the same settings predict something else"
    assert {MODEL, CONFIG, SETTINGS} & set(changed), "the same files predict something else"
    return OTHER


@contextmanager
def limited(seconds: int = SECONDS, megabytes: int = MEGABYTES) -> Iterator[None]:
    """Raise an error if something takes too long, or far more memory than the previous peak."""

    def stop(number: int, frame: Any) -> None:
        raise Hang(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024
    assert grown <= megabytes, f"{grown:.0f} MB more memory"


def run(
    n: int, seed: int, folder: Path, *, first: int = 0, whole: bool = True
) -> tuple[Counter[str], list[str]]:
    """Load mutants."""
    pipelines = save_pipelines(folder)
    architectures = [name for name in registry.architectures.get_all() if "spacy_psa" in name]
    tally: Counter[str] = Counter()
    problems = []
    for i in range(first, first + n):
        rng = Random(f"{seed} {i}")
        saved = rng.choice(pipelines)
        files = mutate(rng, saved, pipelines, architectures)
        saved.write(files)
        try:
            with limited(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tally[f"{', '.join(sorted(files))}: {outcome(saved, files, whole=whole)}"] += 1
        except (Exception, Hang) as error:
            problems.append(f"mutant {i} ({', '.join(files)}): {type(error).__name__}: {error}")
        finally:
            saved.write({file: saved.files[file] for file in files})
    return tally, problems


def main() -> int:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    install()
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        tally, problems = run(
            arguments.mutants, arguments.seed, Path(folder), first=arguments.first
        )
    for what, n in sorted(tally.items()):
        print(f"{n:6,}  {what}")
    print(f"{len(problems):6,}  must not be, in {time.process_time() - start:.0f} s of CPU")
    for problem in problems:
        print(problem[:1000])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
