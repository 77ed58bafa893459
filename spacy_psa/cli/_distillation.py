"""Before `psa distill` trains: the teachers' probabilities of texts, and the config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from ..atomic_files import atomic_path, check_writable
from ..errors import Errors, check_value
from ..terminal import ProgressBar, msg
from ._config_errors import config_errors
from ._distillation_texts import (
    Sources,
    checksum_of_files,
    gather_texts,
    known_texts,
    own_tokenizer,
    student_tokenizer,
)
from ._outputs import save_text
from ._predictions import choose_component, load_pipeline
from ._templates import text_of
from ._training_files import check_precision, check_training_files
from ._util import gpu_errors

if TYPE_CHECKING:
    from thinc.api import Config

    from ..distillation.blocks_on_disk import Cache
    from ..distillation.filling import Settings, Text
    from ..distillation.teachers import Teacher

CACHE, CONFIG = "teacher", "distill.cfg"


@dataclass(frozen=True)
class Student:
    """The component that learns.

    config (Config): The config of its training, with its variables.
    name (str): Its name.
    factory (str): Its factory.
    """

    config: Config
    name: str
    factory: str

    @property
    def block(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): Its section of the config."""
        return self.config["components"][self.name]


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
    from ..distillation.blocks_on_disk import Cache
    from ..private_names import setup_gpu

    check_value("--gold-share", gold_share, lambda share: 0.0 <= share <= 1.0, "from 0 to 1")
    if not config_path.is_file():
        raise ValueError(Errors.P109.format(path=config_path))
    check_writable(output / CACHE)
    student = _read_student(config_path, component, overrides or {}, use_gpu)
    with gpu_errors(use_gpu):
        setup_gpu(use_gpu)
    loaded = _load_teachers(teachers, teacher_component, student)
    chooser = loaded[0]
    if select_by is not None:
        chooser = _load_chooser(select_by, teacher_component, student, loaded[0])
    if select is not None and chooser.is_hard:
        names = {"path": chooser.path, "component": chooser.component}
        raise ValueError(Errors.P541.format(**names))
    tokenizer = student_tokenizer(student.config, words)
    sources = Sources(tokenizer, texts, gold, words, limit, select, chooser)
    cache = Cache(output / CACHE, _origin(loaded, sources, settings), force=force)
    if cache.is_complete:
        # What a teacher says does not depend on the name of the component that learns it
        cache.finish({**cache.info, "component": student.name})
        msg.good(f"The teacher's probabilities are there already: {cache.folder}")
    else:
        _ask(cache, loaded, sources, student, settings)
    _with_corpus(student.config, cache, student.name, gold_share)
    path = output / CONFIG
    save_text(path, text_of(student.config))
    msg.info(f"The config of the training: {path}")
    return path


def _read_student(
    path: Path, component: str | None, overrides: dict[str, Any], use_gpu: int
) -> Student:
    """Choose the component that learns, and check its config before a teacher works for hours."""
    from spacy.util import load_config

    from ..private_names import show_validation_error

    with show_validation_error(path), config_errors(path):
        config = load_config(path, overrides=overrides, interpolate=False)
    blocks = config.get("components", {})
    factories = {name: block.get("factory") for name, block in blocks.items()}
    ours = [name for name in blocks if factories[name] in ("psa_tagger", "psa_srl")]
    name = choose_component(path, ours, component, "psa_tagger or psa_srl", list(blocks))
    if config.get("training", {}).get("train_corpus", "corpora.train") != "corpora.train":
        raise ValueError(Errors.P537.format(what="[corpora.train]"))
    with config_errors(path):
        check_precision(config.interpolate(), use_gpu)
        check_training_files(config, ["dev_corpus"])
    return Student(config, name, factories[name])


def _load_teachers(paths: Sequence[str], component: str | None, student: Student) -> list[Teacher]:
    """Load the teachers, and check that the student can learn from them."""
    from ..distillation.teachers import Teacher, check_alike, check_target

    teachers = [
        Teacher(path, load_pipeline(path), student.factory, student.name, component)
        for path in paths
    ]
    check_alike(teachers)
    for teacher in teachers:
        check_target(teacher, student.name, student.block)
    return teachers


def _load_chooser(path: str, component: str | None, student: Student, teacher: Teacher) -> Teacher:
    """Load another pipeline to choose texts, by the component of a teacher if it has that, too."""
    from ..distillation.teachers import Teacher

    nlp = load_pipeline(path)
    has_same = not teacher.is_hard and component in nlp.pipe_names
    return Teacher(path, nlp, student.factory, student.name, component if has_same else None)


def _origin(teachers: Sequence[Teacher], sources: Sources, settings: Settings) -> dict[str, Any]:
    """What the cache depends on: one of another origin is refused."""
    from ..distillation.filling import checksum_of

    # An earlier student may have been trained again
    chosen_by = None if sources.chooser is teachers[0] else checksum_of(sources.chooser.nlp)
    chosen = [sources.words, sources.limit, sources.select, chosen_by, sources.tokenizer.lang]
    return {
        "teacher": [*(checksum_of(t.nlp) for t in teachers), *(t.component for t in teachers)],
        "texts": checksum_of_files(sources.texts),
        "annotation": checksum_of_files([str(sources.gold)]) if sources.gold else None,
        "choice of texts": chosen,
        "tokenizer": own_tokenizer(sources.tokenizer),
        "settings": [settings.temperature, settings.mass, settings.most],
    }


def _ask(
    cache: Cache,
    teachers: Sequence[Teacher],
    sources: Sources,
    student: Student,
    settings: Settings,
) -> None:
    """Ask the teachers about the texts, and warn if these are far from what they know."""
    from ..distillation.filling import mean_entropy, warn_of_uncertainty
    from ..distillation.known_words import warn_of_other_words

    texts = gather_texts(sources, settings)
    _check_labels(teachers[0], texts, student.name, student.block.get("set_separator"))
    paths = ", ".join(sources.texts)
    dev, known = known_texts(student.config, sources.tokenizer)
    unlabeled = [text.doc for text in texts if not text.is_gold]
    warn_of_other_words(unlabeled, [text.doc for text in known], paths, dev)
    _fill(cache, teachers, texts, student.name, settings)
    info = cache.info
    if known and info["unlabeled"] and not teachers[0].is_hard:
        expected = mean_entropy(teachers[0], known, settings)
        warn_of_uncertainty(info["entropy"] / info["unlabeled"], expected, paths, dev)


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
