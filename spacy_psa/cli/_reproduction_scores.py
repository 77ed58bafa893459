"""The scores of a run of `spacy psa reproduce`, and other facts about its training."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._names import ROLES
from ._outputs import save_text
from ._predictions import load_pipeline, use_gpu
from ._reproduction_runs import MORE_PARTS, PARTS, Plan, ReproductionRun
from .conlleval import read_tags
from .srl_eval import score_paths

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..percentages import PRF
    from ..reproduction.results import Result

    TagPair = tuple[Doc, list[str], list[str]]
    """A gold Doc, its tags, and the predicted tags."""

PACKAGES = ("spacy-psa", "spacy", "thinc", "torch", "numpy")
# In the folder of a run: the device and package versions used for training
ENVIRONMENT = "environment.json"

Scores = dict[str, float]
"""Precision, recall, F1 and accuracy, from 0 to 1."""


def score_run(
    plan: Plan, run: ReproductionRun, digests: dict[str, str], options: str, gpu_id: int
) -> Result:
    """Score the best epoch of a trained system."""
    from ..reproduction.results import Result
    from ..training.checkpoint import read_checkpoint
    from ..training.run import CHECKPOINT

    checkpoint = read_checkpoint(run.folder / CHECKPOINT)
    assert checkpoint is not None
    use_gpu(gpu_id)
    best = run.folder / "model-best"
    parts = [part for part in (*PARTS[1:], *MORE_PARTS) if part in digests]
    score = score_roles if plan.target == ROLES else score_tags
    nlp = load_pipeline(best)
    epochs, best_epoch = count_epochs(run.folder)
    return Result(
        corpus=plan.corpus,
        target=plan.target,
        system=run.system,
        seed=run.seed,
        config=run.digest,
        data=digests,
        max_epochs=max(run.settings["training"]["max_epochs"], 0),
        vectors=describe_vectors(nlp, run.settings["initialize"]["vectors"]),
        options=options,
        epochs=epochs,
        best_epoch=best_epoch,
        **score(plan, run, best, parts),
        parameters=count_parameters(nlp),
        seconds=round(checkpoint.seconds, 1),
        **read_environment(run.folder, gpu_id),
    )


def write_environment(folder: Path, gpu_id: int) -> None:
    """Store a run's environment with it, since it may be scored later and elsewhere."""
    save_text(folder / ENVIRONMENT, json.dumps(describe_environment(gpu_id)))


def read_environment(folder: Path, gpu_id: int) -> dict[str, Any]:
    """Read the environment in which a run was trained."""
    path = folder / ENVIRONMENT
    if not path.is_file():
        return describe_environment(gpu_id)
    return dict(json.loads(path.read_text(encoding="utf8")))


def describe_environment(gpu_id: int) -> dict[str, Any]:
    """Describe the current environment."""
    return {"device": "gpu" if gpu_id >= 0 else "cpu", "versions": find_versions()}


def score_tags(
    plan: Plan, run: ReproductionRun, pipeline: Path, parts: Sequence[str]
) -> dict[str, Any]:
    """Score spans, entities or tags as the CoNLL script does."""
    own = run.settings["components"][run.component]
    spans_key = own["spans_key"] if plan.target == "spans" else None
    found: dict[str, Any] = {}
    for part in parts:
        path = plan.data / f"{part}.spacy"
        pairs = list(read_tags(path, pipeline, plan.target, spans_key))
        found[part] = _tag_scores(pairs)
        if part == "test" and all(_is_sentence(doc) for doc, _, _ in pairs):
            found["lengths"] = _scores_by_length(pairs)
    return found


def _scores_by_length(pairs: Sequence[TagPair]) -> dict[str, Scores]:
    """The scores for each bucket of sentence lengths that occurs."""
    from ..evaluation.breakdowns import ByLength

    by_length = ByLength()
    buckets: dict[str, list[TagPair]] = {name: [] for name in by_length.names}
    for pair in pairs:
        buckets[by_length.bucket(len(pair[0]))].append(pair)
    return {name: _tag_scores(some) for name, some in buckets.items() if some}


def _is_sentence(doc: Doc) -> bool:
    return sum(bool(token.is_sent_start) for token in doc) <= 1


def score_roles(
    plan: Plan, run: ReproductionRun, pipeline: Path, parts: Sequence[str]
) -> dict[str, Any]:
    """Score semantic roles of given predicates as the CoNLL-2005 evaluator does."""
    from ..annotation.role_scores import SRLResult

    results = {
        part: score_paths(plan.data / f"{part}.spacy", pipeline, given=True) for part in parts
    }
    if "brown" in results:
        test, brown = results["test"], results["brown"]
        results["combined"] = SRLResult(
            arguments=test.arguments + brown.arguments,
            propositions=test.propositions + brown.propositions,
            perfect=test.perfect + brown.perfect,
        )
    return {part: _scores(found.arguments, found.complete) for part, found in results.items()}


def _tag_scores(pairs: Sequence[TagPair]) -> Scores:
    from ..evaluation.conlleval import ConllevalResult

    result = ConllevalResult()
    for _, gold, predicted in pairs:
        result.add(gold, predicted)
    return _scores(result.chunks, result.accuracy)


def _scores(total: PRF, accuracy: float) -> Scores:
    return {
        "precision": total.precision,
        "recall": total.recall,
        "f1": total.f1,
        "accuracy": accuracy,
    }


def count_epochs(folder: Path) -> tuple[float, float]:
    """Read from the log how long a run was trained."""
    from ..training.logger import FILE_NAME

    lines = (folder / FILE_NAME).read_text(encoding="utf8").splitlines()
    entries = [json.loads(line) for line in lines]
    # Of equal scores, spaCy keeps the later one.
    best = max(enumerate(entries), key=lambda pair: (pair[1]["score"], pair[0]))[1]
    return round(entries[-1]["epochs"], 2), round(best["epochs"], 2)


def count_parameters(nlp: Language) -> dict[str, int]:
    """Count parameters."""
    networks = [
        shim.network
        for _, pipe in nlp.pipeline
        if hasattr(pipe, "model")
        for node in pipe.model.walk()
        for shim in node.shims
        if hasattr(shim, "network")
    ]
    named = [(n, p.numel()) for network in networks for n, p in network.named_parameters()]
    total = sum(n for _, n in named)
    words = sum(n for name, n in named if name.startswith("words."))
    return {"all": total, "without words": total - words}


def describe_vectors(nlp: Language, path: str | None) -> str:
    """Name, number and width of the pretrained vectors; empty if there are none."""
    if not path:
        return ""
    n, width = nlp.vocab.vectors.shape
    return f"{Path(path).name} ({n:,} of width {width})"


def find_versions() -> dict[str, str]:
    """The versions of Python and of the packages that matter."""
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
