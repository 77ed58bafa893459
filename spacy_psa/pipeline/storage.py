"""Save and load trainable components atomically, with checks, and without executing code.

The checksum of a model detects damaged files before they are used. Otherwise most damage would go
unnoticed: a flipped bit turns one weight into another. Checksums do not protect against someone who
changes both the file and its checksum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, ref

import srsly
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from thinc.api import Config

from ..atomic_files import atomic_files, atomic_path
from ..disk import check_files, sha256_of
from ..errors import Errors
from ..messages import garbage_collection, unpack
from ..models.loading import read_model
from ..training.parameter_groups import note_pipeline
from .learner import Learner
from .monitors import DivergenceMonitor, StagnationMonitor
from .settings import check_saved

# The files or keys in which the settings and the model are saved, and what its checksum's name adds
CFG = "cfg"
MODEL = "model"
SUFFIX = ".sha256"
Pipe = TypeVar("Pipe", bound=TrainablePipe)
# Not an attribute of the component, which can be pickled
_pipelines: WeakKeyDictionary[TrainablePipe, ReferenceType[Language]] = WeakKeyDictionary()


def created_for(nlp: Language, pipe: Pipe) -> Pipe:
    """Remember which pipeline a component was created for, and return the component."""
    note_pipeline(nlp)
    _pipelines[pipe] = ref(nlp)
    return pipe


class Storage:
    """Saves and loads a component: its settings, vocabulary and model, and the model's checksum.

    pipe (TrainablePipe): The component. Its `check_cfg` is called before its settings are saved,
        and its `check_loaded`, with the previous settings, after it has been loaded. `settings` has
        the ranges of its settings, and `fixed` those that cannot be changed after training.
    learner (Learner): Its learner, whose monitor decides whether the model may be saved.
    """

    def __init__(self, pipe: TrainablePipe, learner: Learner) -> None:
        self.pipe, self.learner = pipe, learner
        self._known = frozenset(pipe.cfg)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to bytes.

        exclude (Iterable[str]): What to leave out.
        RETURNS (bytes): Settings, vocabulary, model, and the model's checksum.
        RAISES (ValueError): If the weights are not finite, a setting is out of range, or training
            has diverged after a model was saved to disk.
        """
        self._check_saving(exclude)
        data = TrainablePipe.to_bytes(self.pipe, exclude=[*exclude, CFG])
        return add_checksum(data, {} if CFG in exclude else {CFG: self._dumped()})

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory. A previously saved component is left untouched until
        the new one is on disk.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What to leave out.
        RAISES (ValueError): As `to_bytes`; and an OutputError if the directory cannot be written.
        """
        self._check_saving(exclude)
        with with_checksum(Path(path)) as temporary:
            TrainablePipe.to_disk(self.pipe, temporary, exclude=[*exclude, CFG])
            if CFG not in exclude:
                (temporary / CFG).write_text(self._dumped(), encoding="utf8")
        self.learner.monitor.is_saved |= MODEL not in exclude

    def _check_saving(self, exclude: Iterable[str]) -> None:
        if CFG not in exclude:
            for setting in self.pipe.cfg.keys() - self._known:
                raise ValueError(Errors.P425.format(name=self.pipe.name, setting=setting))
            self.pipe.check_cfg()
        if MODEL not in exclude:
            self.learner.monitor.check_saving(self.pipe.name, self.pipe.model)

    def _dumped(self) -> str:
        """The settings as JSON. spaCy's own writer keeps only ten digits of a number, which would
        change temperatures and turn small numbers into zero."""
        return json.dumps(dict(self.pipe.cfg))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> TrainablePipe:
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (TrainablePipe): The component.
        RAISES (ValueError): If the data is damaged or belongs to another configuration. The
            component is then unchanged.
        """
        before = deepcopy(self.pipe.cfg)
        with restored_on_error(self.pipe, "bytes"):
            if MODEL not in exclude:
                check_bytes(bytes_data)
            entries = unpack(bytes_data)
            weights, own = entries.pop(MODEL, None), entries.pop(CFG, None)
            if own is not None and CFG not in exclude:
                self._take_settings(own)
            # Not by spaCy: each part of the model is checked before thinc accepts it
            if weights is not None and MODEL not in exclude:
                read_model(self.pipe.model, weights)
            self.pipe.check_loaded(before)
            # Last, since the vocabulary is not restored
            TrainablePipe.from_bytes(self.pipe, srsly.msgpack_dumps(entries), exclude=exclude)
        self._forget_training()
        return self.pipe

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TrainablePipe:
        """Load the component from a directory. Settings that `spacy.load(..., config=...)` changes
        keep their new values.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (TrainablePipe): The component.
        RAISES (ValueError): As `from_bytes`, or if such a setting cannot be changed any more.
        """
        path, before = Path(path), deepcopy(self.pipe.cfg)
        with restored_on_error(self.pipe, path):
            check_files(path)
            if MODEL not in exclude:
                check_folder(path)
            own = path / CFG
            if CFG not in exclude and own.exists():
                given = dict(self.pipe.cfg)
                self._take_settings(own.read_text(encoding="utf8"))
                for setting in overridden_settings(self.pipe, path, given):
                    self._override(setting, given[setting])
            if MODEL not in exclude:
                read_model(self.pipe.model, (path / MODEL).read_bytes())
            self.pipe.check_loaded(before)
            # Last, as in `from_bytes`
            TrainablePipe.from_disk(self.pipe, path, exclude=[*exclude, CFG, MODEL])
        self._forget_training()
        return self.pipe

    def _forget_training(self) -> None:
        self.learner.monitor, self.learner.stagnation = DivergenceMonitor(), StagnationMonitor()

    def _take_settings(self, text: str) -> None:
        values = json.loads(text)
        check_saved(values, self.pipe.cfg, self.pipe.settings)
        self.pipe.cfg.update(values)

    def _override(self, setting: str, value: Any) -> None:
        """Adopt a setting that is changed after training."""
        if setting in self.pipe.fixed:
            names = {"name": self.pipe.name, "setting": setting}
            raise ValueError(Errors.P318.format(**names, saved=self.pipe.cfg[setting], value=value))
        self.pipe.cfg[setting] = value


@contextmanager
def restored_on_error(pipe: TrainablePipe, source: object) -> Iterator[None]:
    """Restore a component's settings and model if the block, which loads them, fails, with an error
    that names the component and where it was loaded from."""
    # A model without weights costs next to nothing to back up.
    before, weights = deepcopy(pipe.cfg), pipe.model.to_bytes()
    nodes = [
        (node, {d: node.maybe_get_dim(d) for d in node.dim_names}, dict(node.attrs))
        for node in pipe.model.walk()
    ]
    try:
        with garbage_collection():
            yield
    except Exception as error:
        pipe.cfg = before
        pipe.model.from_bytes(weights)
        for node, sizes, attrs in nodes:
            for name, size in sizes.items():
                node.set_dim(name, size, force=True)
            # Damaged data may have added attributes
            node.attrs.clear()
            node.attrs.update(attrs)
        known = isinstance(error, ValueError | OSError)
        problem = error if known else Errors.P202.format(problem=repr(error))
        message = Errors.P311.format(name=pipe.name, path=source, problem=problem)
        raise ValueError(message) from error


def overridden_settings(pipe: TrainablePipe, path: Path, given: Mapping[str, Any]) -> list[str]:
    """Find the settings that were changed for loading the pipeline: `spacy.load(path, config=...)`.

    spaCy creates a component from the saved config with these changes, and then lets it load its
    own settings, which hide them. The component is not told of the changes. But it can compare the
    saved config with that of the pipeline, which spaCy has read just before, with the changes.
    There are none if the component is loaded on its own."""
    reference, file = _pipelines.get(pipe), path.parent / "config.cfg"
    nlp = None if reference is None else reference()
    if nlp is None or pipe.name not in nlp.component_names or not file.is_file():
        return []
    # Not `nlp.config`, which would replace the components by those that have been created
    config = nlp._config
    section = config.get("components", {}).get(pipe.name, {})
    if section.get("model") is nlp.get_pipe_config(pipe.name).get("model"):
        return []  # it has been replaced, so spaCy has not just read it
    differ = [name for name in section if name in given and given[name] != pipe.cfg[name]]
    if not differ:
        return []
    saved, loaded = (
        whole.interpolate()["components"].get(name, {})
        for whole, name in (
            (Config().from_disk(file, interpolate=False), path.name),
            (Config(config), pipe.name),
        )
    )
    return [name for name in differ if name not in saved or loaded[name] != saved[name]]


def add_checksum(data: bytes, others: Mapping[str, Any]) -> bytes:
    """Add the model's checksum, if there is a model, to a component's bytes."""
    entries = {**others, **srsly.msgpack_loads(data)}
    if MODEL in entries:
        entries[MODEL + SUFFIX] = hashlib.sha256(entries[MODEL]).hexdigest()
    return srsly.msgpack_dumps(entries)


def check_bytes(data: bytes) -> None:
    """Compare the model in a component's bytes with its checksum, if it has one."""
    entries = srsly.msgpack_loads(data)
    if isinstance(entries, dict) and MODEL in entries and MODEL + SUFFIX in entries:
        found = hashlib.sha256(entries[MODEL]).hexdigest()
        _compare(found, entries[MODEL + SUFFIX])


@contextmanager
def with_checksum(folder: Path) -> Iterator[Path]:
    """Write a component's folder, with a checksum of the model in the format of `sha256sum`.

    Model and checksum are separate files. While the new model replaces the old one, the checksum
    file holds the checksums of both, so that a process killed in between leaves a loadable model,
    either the old or the new one."""
    with atomic_files(folder, partial(_prepare, folder)) as temporary:
        yield temporary
        path = temporary / MODEL
        if path.is_file():
            text = f"{sha256_of(path)}  {MODEL}\n"
            (temporary / (MODEL + SUFFIX)).write_text(text, encoding="utf8")


def _prepare(folder: Path, temporary: Path) -> None:
    before, now = folder / (MODEL + SUFFIX), temporary / (MODEL + SUFFIX)
    if before.is_file() and now.is_file():
        with atomic_path(before, shared=False) as both:
            both.write_bytes(now.read_bytes() + before.read_bytes())


def check_folder(folder: Path) -> None:
    """Compare the model in a component's folder with its checksum, if it has one."""
    path, checksum = folder / MODEL, folder / (MODEL + SUFFIX)
    if path.is_file() and checksum.is_file():
        found = sha256_of(path)
        lines = checksum.read_text(encoding="utf8", errors="replace").splitlines() or [""]
        expected = [line.partition(" ")[0].strip() for line in lines]
        # The second one is the previous model's, if the process was killed while saving
        _compare(found, found if found in expected[:2] else expected[0])


def _compare(found: str, expected: str) -> None:
    if found != expected:
        raise ValueError(Errors.P314.format(name=MODEL, found=found[:12], expected=expected[:12]))
