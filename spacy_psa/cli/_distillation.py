"""Before `psa distill` trains: the teachers' probabilities of texts, and the config."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from ..atomic_files import atomic_path, check_writable
from ..errors import Errors, check_value
from ..terminal import ProgressBar, msg
from ._config_errors import config_errors
from ._distillation_texts import (
    annotated_texts,
    checksum_of_files,
    known_texts,
    own_tokenizer,
    student_tokenizer,
    unlabeled_texts,
)
from ._training_files import check_precision, check_training_files
from ._util import gpu_errors

if TYPE_CHECKING:
    from thinc.api import Config

    from ..distillation.blocks_on_disk import Cache
    from ..distillation.filling import Settings, Text
    from ..distillation.teachers import Teacher

CACHE, CONFIG = "teacher", "distill.cfg"


def prepare(
    teachers: Sequence[str],
    config_path: Path,
    output: Path,
    *,
    texts: Sequence[str] = (),
    gold: Path | None = None,
    words: bool = False,
    component: str | None = None,
    teacher_component: str | None = None,
    gold_share: float = 0.5,
    settings: Settings,
    limit: int | None = None,
    select: int | None = None,
    select_by: str | None = None,
    force: bool = False,
    overrides: dict[str, Any] | None = None,
    use_gpu: int = -1,
) -> Path:
    """Fill the cache, and write the config that `psa train` needs. Returns its path."""
    from spacy.util import load_config

    from ..distillation.blocks_on_disk import Cache
    from ..distillation.filling import (
        checksum_of,
        mean_entropy,
        most_uncertain,
        warn_of_uncertainty,
    )
    from ..distillation.known_words import warn_of_other_words
    from ..distillation.teachers import Teacher, check_alike, check_target
    from ..private_names import setup_gpu, show_validation_error
    from ._predictions import load_pipeline

    check_value("--gold-share", gold_share, lambda share: 0.0 <= share <= 1.0, "from 0 to 1")
    if not config_path.is_file():
        raise ValueError(Errors.P109.format(path=config_path))
    check_writable(output / CACHE)
    with show_validation_error(config_path), config_errors(config_path):
        config = load_config(config_path, overrides=overrides or {}, interpolate=False)
    name, factory = _student(config_path, config, component)
    with config_errors(config_path):
        check_precision(config.interpolate(), use_gpu)
        check_training_files(config, ["dev_corpus"])
    with gpu_errors(use_gpu):
        setup_gpu(use_gpu)
    loaded = [
        Teacher(path, load_pipeline(path), factory, name, teacher_component) for path in teachers
    ]
    check_alike(loaded)
    for teacher in loaded:
        check_target(teacher, name, config["components"][name])
    chooser, chosen_by = loaded[0], None
    if select_by is not None:
        other = load_pipeline(select_by)
        has_same = not chooser.is_hard and teacher_component in other.pipe_names
        chooser = Teacher(select_by, other, factory, name, teacher_component if has_same else None)
        chosen_by = checksum_of(chooser.nlp)  # an earlier student may have been trained again
    if select is not None and chooser.is_hard:
        names = {"path": chooser.path, "component": chooser.component}
        raise ValueError(Errors.P541.format(**names))
    tokenizer = student_tokenizer(config, words)
    origin = {
        "teacher": [checksum_of(teacher.nlp) for teacher in loaded] + [t.component for t in loaded],
        "texts": checksum_of_files(texts),
        "annotation": checksum_of_files([str(gold)]) if gold else None,
        "choice of texts": [words, limit, select, chosen_by, tokenizer.lang],
        "tokenizer": own_tokenizer(tokenizer),
        "settings": [settings.temperature, settings.mass, settings.most],
    }
    cache = Cache(output / CACHE, origin, force=force)
    if cache.is_complete:
        # What a teacher says does not depend on the name of the component that learns it
        cache.finish({**cache.info, "component": name})
        msg.good(f"The teacher's probabilities are there already: {cache.folder}")
    else:
        found = list(islice(unlabeled_texts(texts, tokenizer, words), limit))
        n_texts = len(found)
        if select is not None:
            found = most_uncertain(chooser, found, select, settings)
            msg.good(f"Chose {len(found)} of {n_texts} texts by the uncertainty of {chooser.path}")
        found += annotated_texts(gold, tokenizer) if gold is not None else ()
        if not found:
            paths = ", ".join([*texts, *([str(gold)] if gold else [])])
            problem = f"no text in {paths} has tokens" if paths else "no file is given"
            raise ValueError(Errors.P535.format(problem=problem))
        _check_labels(loaded[0], found, name, config["components"][name].get("set_separator"))
        paths = ", ".join(texts)
        dev, known = known_texts(config, tokenizer)
        unlabeled = [text.doc for text in found if not text.is_gold]
        warn_of_other_words(unlabeled, [text.doc for text in known], paths, dev)
        _fill(cache, loaded, found, name, settings)
        info = cache.info
        if known and info["unlabeled"] and not loaded[0].is_hard:
            expected = mean_entropy(loaded[0], known, settings)
            warn_of_uncertainty(info["entropy"] / info["unlabeled"], expected, paths, dev)
    path = output / CONFIG
    _with_corpus(config, cache, name, gold_share)
    with atomic_path(path) as temporary:
        config.to_disk(temporary)
    msg.info(f"The config of the training: {path}")
    return path


def _student(path: Path, config: Config, component: str | None) -> tuple[str, str]:
    """The component that learns, and its factory."""
    from ._predictions import choose_component

    ours = {
        name: block["factory"]
        for name, block in config.get("components", {}).items()
        if block.get("factory") in ("psa_tagger", "psa_srl")
    }
    names = list(config.get("components", {}))
    chosen = choose_component(path, list(ours), component, "psa_tagger or psa_srl", names)
    if config.get("training", {}).get("train_corpus", "corpora.train") != "corpora.train":
        raise ValueError(Errors.P537.format(what="[corpora.train]"))
    return chosen, ours[chosen]


def _check_labels(
    teacher: Teacher, texts: Sequence[Text], name: str, set_separator: str | None
) -> None:
    """Refuse annotation with labels that the teacher does not know."""
    from ..annotation.targets import make_target

    if teacher.is_hard:
        return
    known, target = {*teacher.labels}, teacher.pipe.target
    if set_separator is not None:
        key = target.spans_key
        target = make_target(target.name, spans_key=key, set_separator=set_separator)
    gold = (text.doc for text in texts if text.is_gold)
    found = {label for doc in gold for label in target.labels_of(doc) if label}
    if found - known:
        labels = ", ".join(sorted(found - known)[:5])
        raise ValueError(Errors.P531.format(name=name, problem=f"only --gold has {labels}"))


def _fill(
    cache: Cache, teachers: Sequence[Teacher], texts: Sequence[Text], name: str, settings: Settings
) -> None:
    """Ask the teachers, and say what came of it."""
    from ..distillation.filling import fill

    teacher = teachers[0]
    with ProgressBar(total=len(texts), desc="teacher", unit=" texts", disable=None) as bar:
        fill(cache, teachers, texts, settings, progress=bar.update)
    sums = cache.sums()
    if sums["docs"] and sums["silent"] == sums["docs"]:
        rmtree(cache.folder)  # other texts would be refused beside it
        raise ValueError(Errors.P536.format(n=int(sums["docs"])))
    cache.finish(
        {
            "component": name,
            "tags": list(teacher.pipe.tags) if not teacher.is_hard else [],
            "labels": list(teacher.labels) if not teacher.is_hard else [],
            "temperature": settings.temperature,
            "n_blocks": cache.n_blocks,
            **sums,
        }
    )
    info = cache.info
    if teacher.is_hard:
        msg.good(f"{int(info['docs']):,} Docs are annotated by '{teacher.component}'")
        return
    n_tokens, size = max(1.0, info["tokens"]), cache.n_bytes()
    logits = 4 * len(info["tags"])
    msg.good(
        f"The teacher's probabilities of {int(info['docs']):,} Docs: {size / 1e6:.1f} MB, "
        f"{size / n_tokens:.1f} bytes a token; all of its scores would take {logits} bytes"
    )
    if info["left_out"]:
        why = "their tokens are not the teacher's, or teachers found other predicates"
        msg.warn(f"{int(info['left_out']):,} Docs are left out: {why}")
    if info["silent"]:
        msg.warn(f"{int(info['silent']):,} Docs teach nothing: no predicates were found in them")


def _with_corpus(config: Config, cache: Any, name: str, gold_share: float) -> None:
    """Put the cache in the place of the training corpus, and the teacher's labels in that of those
    in the data."""
    import srsly

    config.setdefault("corpora", {})["train"] = {
        "@readers": "spacy_psa.DistilledCorpus.v1",
        "path": str(cache.folder),
        "gold": gold_share,
    }
    if cache.info["labels"]:
        # In a file, as `spacy init labels` has them: in a config, a $ would become two
        path = cache.folder.parent / "labels" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        with atomic_path(path) as temporary:
            srsly.write_json(temporary, cache.info["labels"])
        blocks = config.setdefault("initialize", {}).setdefault("components", {})
        reader = {"@readers": "spacy.read_labels.v1", "path": str(path), "require": True}
        blocks.setdefault(name, {})["labels"] = reader
