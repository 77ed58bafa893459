"""The runs of `psa reproduce`: one config per system and seed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..disk import sha256_of
from ..errors import Errors, Warnings, suggestion, warn
from ..reproduction.papers import read_papers
from ._assembly import PAPER
from ._config_errors import explain, warn_of_unknown_settings
from ._configs import fill, make_config
from ._docbins import read_docs
from ._names import ROLES, current_system
from ._templates import names, read_template

if TYPE_CHECKING:
    from thinc.api import Config

PARTS = ("train", "dev", "test")
# The second test set of CoNLL-2005, scored if it exists.
MORE_PARTS = ("brown",)
# The factories of targets that do not use the tagger.
FACTORIES = {ROLES: "psa_srl"}
TAGGER = "psa_tagger"
NAME = re.compile(r"[\w.-]+")
# How many digits of a config's SHA-256 go into the name of its folder.
N_DIGITS = 8


@dataclass(frozen=True)
class Plan:
    """What all runs have in common.

    corpus (str): The name of the corpus.
    target (str): What the component predicts: a key of `METRICS`.
    data (Path): The folder with train.spacy, dev.spacy and test.spacy.
    runs (Path): The folder for the runs.
    vectors (Optional[str]): The pretrained vectors; None for those of the config, if any.
    epochs (int): Number of epochs; 0 for that of the config.
    lang (str): The language code.
    options (Dict[str, Any]): Settings for all systems, by name.
    code (Optional[Path]): The Python file with registered functions, if any.
    """

    corpus: str
    target: str
    data: Path
    runs: Path
    vectors: str | None = None
    epochs: int = 0
    lang: str = "en"
    options: Mapping[str, Any] | None = None
    code: Path | None = None


@dataclass(frozen=True)
class ReproductionRun:
    """One training run.

    system (str): The system.
    seed (int): The seed.
    config (Config): The complete config, with variables.
    settings (Dict[str, Any]): The same, interpolated.
    component (str): The component to score.
    digest (str): The SHA-256 of settings, training data and code, which identifies the run.
    folder (Path): The folder of the run.
    """

    system: str
    seed: int
    config: Config
    settings: dict[str, Any]
    component: str
    digest: str
    folder: Path


def data_digests(folder: Path) -> dict[str, str]:
    """Hash the parts of a corpus."""
    paths = {part: folder / f"{part}.spacy" for part in (*PARTS, *MORE_PARTS)}
    missing = [paths[part].name for part in PARTS if not paths[part].is_file()]
    if missing:
        raise ValueError(Errors.P390.format(path=folder, missing=", ".join(missing)))
    return {part: sha256_of(path) for part, path in paths.items() if path.is_file()}


def warn_of_other_words(plan: Plan) -> None:
    """Warn of texts of which spaCy's tokenizer makes other words than the corpus has."""
    import spacy

    nlp = spacy.blank(plan.lang)
    for part in PARTS[:2]:
        path = plan.data / f"{part}.spacy"
        docs = read_docs(path, nlp.vocab)
        texts = (doc for doc in docs if not doc.has_unknown_spaces)
        found = [
            doc.text
            for doc in texts
            if [token.orth for token in nlp.make_doc(doc.text)] != [token.orth for token in doc]
        ]
        if found:
            about = {"n": f"{len(found):,}", "total": f"{len(docs):,}", "text": found[0][:60]}
            warn(Warnings.W445.format(path=path, **about))


def parse_seeds(text: str) -> list[int]:
    """Parse seeds."""
    words = text.replace(",", " ").split()
    if not words or not all(re.fullmatch("[0-9]+", word) for word in words):
        raise ValueError(Errors.P392.format(seeds=text))
    return list(dict.fromkeys(map(int, words)))


def systems_of(target: str) -> list[str]:
    """List the systems that can be trained for a target."""
    systems = names(ROLES if target == ROLES else "systems")
    return [*systems, *(v.name for v in read_papers().variants.values() if v.system in systems)]


def parse_systems(text: str, target: str) -> dict[str, Path | None]:
    """Parse systems."""
    known = systems_of(target)
    systems: dict[str, Path | None] = {}
    for word in text.split():
        name, equals, file = word.partition("=")
        name = name if equals else current_system(name)
        if equals:
            used = name in known or name in systems
            if used or not NAME.fullmatch(name) or not Path(file).is_file():
                raise ValueError(Errors.P393.format(system=word))
            systems[name] = Path(file)
        elif name in known:
            systems[name] = None
        else:
            nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.0)[0]
            options = ", ".join(known)
            raise ValueError(Errors.P391.format(name=name, nearest=nearest, options=options))
    if not systems:
        raise ValueError(Errors.P393.format(system=text))
    return systems


def make_runs(
    plan: Plan, systems: Mapping[str, Path | None], seeds: Sequence[int], data: Mapping[str, str]
) -> list[ReproductionRun]:
    """Create the configs of all runs before any of them starts."""
    configs = {
        system: make_system(plan, system) if path is None else read_system(plan, system, path)
        for system, path in systems.items()
    }
    return [
        make_run(plan, system, seed, config, data)
        for seed in seeds
        for system, config in configs.items()
    ]


def make_system(plan: Plan, name: str) -> Config:
    """Create the config of a system from the papers."""
    from thinc.api import Config

    variant = read_papers().variants.get(name)
    system = name if variant is None else variant.system
    text = make_config(
        system,
        plan.target,
        name="config.cfg",
        recipe=PAPER,
        corpus=plan.data / "train.spacy",
        lang=plan.lang,
    )
    config = Config().from_str(text, interpolate=False)
    change(config, common_settings(plan), name)
    if variant is not None and variant.features:
        config = with_features(config, variant.features, plan, name)
    component = FACTORIES.get(plan.target, TAGGER)
    settings = variant.settings if variant else {}
    change(config, {k.replace(TAGGER, component): v for k, v in settings.items()}, name)
    return config


def with_features(config: Config, transformers: Mapping[str, str], plan: Plan, name: str) -> Config:
    """Add the last layers of a frozen transformer to words and characters: [w; c; e] of Wang et al.
    (2021), section 4.2."""
    if plan.lang not in transformers:
        options = ", ".join(transformers)
        raise ValueError(
            Errors.P397.format(
                option="--lang", name=plan.lang, where=f" for {name}", options=options
            )
        )
    model = config["components"][TAGGER]["model"]
    words = {**model["tok2vec"], "dropout": 0.0}
    dropout = model["tok2vec"]["dropout"]
    config = config.merge(read_template("inputs", "transformer").config)
    config = config.merge(read_template("inputs", "frozen").config)
    model = config["components"][TAGGER]["model"]
    context = {key: model["tok2vec"][key] for key in ("@architectures", "n_layers", "upstream")}
    model["tok2vec"] = {
        "@architectures": "spacy_psa.ConcatTok2Vec.v1",
        "dropout": dropout,
        "*": {"words": words, "context": {**context, "transformer": None}},
    }
    config["nlp"]["pipeline"] = ["transformer", TAGGER]
    config["components"]["transformer"]["model"]["name"] = transformers[plan.lang]
    return config


def read_system(plan: Plan, name: str, path: Path) -> Config:
    """Read a custom config."""
    from thinc.api import Config

    try:
        config = Config().from_disk(path, interpolate=False)
    except ValueError as error:
        raise ValueError(Errors.P395.format(system=name, problem=error)) from error
    warn_of_unknown_settings(config)
    config = filled(config, name)
    settings = common_settings(plan)
    change(config, settings, name)
    text = config.to_str(interpolate=False)
    for variable in (*(s for s in settings if s.startswith("paths.")), "system.seed"):
        # spaCy adds missing variables, to no effect if nothing refers to them.
        if f"${{{variable}}}" not in text:
            value = settings.get(variable, "a seed")
            about = {"system": name, "setting": variable, "value": value}
            raise ValueError(Errors.P394.format(**about, suggestion=""))
    return config


def common_settings(plan: Plan) -> dict[str, Any]:
    """The settings given by the plan."""
    return {
        "paths.train": str(plan.data / "train.spacy"),
        "paths.dev": str(plan.data / "dev.spacy"),
        **({} if plan.vectors is None else {"paths.vectors": plan.vectors}),
        **({"training.max_epochs": plan.epochs, "training.max_steps": 0} if plan.epochs else {}),
        # The best epoch is read from the log.
        "training.logger": {
            "@loggers": "spacy_psa.JsonlLogger.v1",
            "path": None,
            "progress_bar": "run",
            "console_output": True,
        },
    }


def make_run(
    plan: Plan, system: str, seed: int, config: Config, data: Mapping[str, str]
) -> ReproductionRun:
    """Create one run."""
    from ..training.saving import learning_settings

    config = config.copy()
    change(config, {"system.seed": seed, **(plan.options or {})}, system)
    config = filled(config, system)
    settings = json.loads(json.dumps(config.interpolate()))
    learned = {part: data[part] for part in ("train", "dev")}
    known_by: dict[str, Any] = {"config": learning_settings(settings), "data": learned}
    if plan.code is not None:
        known_by["code"] = sha256_of(plan.code)
    digest = hashlib.sha256(json.dumps(known_by, sort_keys=True).encode()).hexdigest()
    folder = plan.runs / f"{plan.corpus}-{plan.target}" / f"{system}-{seed}-{digest[:N_DIGITS]}"
    component = find_component(plan, system, settings)
    return ReproductionRun(system, seed, config, settings, component, digest, folder)


def find_component(plan: Plan, system: str, settings: Mapping[str, Any]) -> str:
    """Find the component to score."""
    factory = FACTORIES.get(plan.target, TAGGER)
    for name in settings["nlp"]["pipeline"]:
        component = settings["components"].get(name, {})
        # The component for roles has only one target.
        fits = component.get("target", plan.target) == plan.target
        if component.get("factory") == factory and fits:
            return name
    option = f"--target {plan.target}"
    raise ValueError(Errors.P398.format(system=system, target=plan.target, option=option))


def change(config: Config, settings: Mapping[str, Any], system: str) -> None:
    """Change settings of a config in place."""
    for name, value in settings.items():
        *parents, last = name.split(".")
        section: Any = config
        for parent in parents:
            section = section.get(parent) if isinstance(section, dict) else None
        if not isinstance(section, dict) or last not in section:
            about = {"system": system, "setting": name, "value": json.dumps(value)}
            nearest = suggestion(last, section if isinstance(section, dict) else ())
            raise ValueError(Errors.P394.format(**about, suggestion=nearest))
        section[last] = deepcopy(value)


def filled(config: Config, system: str) -> Config:
    """Fill in missing settings, and validate all of them."""
    from spacy.schemas import ConfigSchemaTraining
    from spacy.util import registry

    try:
        config = fill(config)
        registry.resolve(config.interpolate()["training"], schema=ConfigSchemaTraining)
        return config
    except ValueError as error:
        problem = explain(error)
        if problem is None:
            raise
        raise ValueError(Errors.P395.format(system=system, problem=problem)) from error
