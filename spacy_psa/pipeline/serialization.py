"""Save and load trainable components atomically, with checks, and without executing code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import srsly
from spacy.pipeline import TrainablePipe

from ..disk import check_files
from ..errors import Errors
from ..messages import unpack
from ..models.loading import read_model
from .checksums import add_checksum, check_bytes, check_folder, with_checksum
from .divergence_monitor import DivergenceMonitor
from .input_errors import input_errors
from .overrides import overridden_settings
from .restoring import load_or_restore
from .settings import CFG, Setting, check_saved, check_settings, dump_settings


class SavedPipe(TrainablePipe):
    """A component that saves its settings, its model, and a checksum of the model.

    cfg (Dict[str, Any]): The settings.
    settings (Dict[str, Setting]): The ranges of the settings.
    fixed (Tuple[str, ...]): The settings that cannot be changed after training.
    """

    cfg: dict[str, Any]
    settings: ClassVar[dict[str, Setting]] = {}
    fixed: ClassVar[tuple[str, ...]] = ()
    _divergence_monitor: DivergenceMonitor | None = None

    @property
    def divergence_monitor(self) -> DivergenceMonitor:
        """RETURNS (DivergenceMonitor): Stops training if it diverges."""
        if self._divergence_monitor is None:
            self._divergence_monitor = DivergenceMonitor()
        return self._divergence_monitor

    @input_errors()
    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to bytes.

        exclude (Iterable[str]): What to leave out.
        RETURNS (bytes): Settings, vocabulary, model, and the model's checksum.
        RAISES (ValueError): If the weights are not finite, or a setting is out of range; or if
            training has diverged after a model was saved to disk.
        """
        self._check_saving(exclude)
        data = super().to_bytes(exclude=[*exclude, CFG])
        return add_checksum(data, {} if CFG in exclude else {CFG: dump_settings(self.cfg)})

    @input_errors()
    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory. A previously saved component is left untouched until
        the new one is on disk.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What to leave out.
        RAISES (OutputError): If the directory cannot be written.
        RAISES (ValueError): If the weights are not finite, or a setting is out of range; or if
            training has diverged after a model was saved, which is then kept.
        """
        self._check_saving(exclude)
        with with_checksum(Path(path)) as temporary:
            super().to_disk(temporary, exclude=[*exclude, CFG])
            if CFG not in exclude:
                (temporary / CFG).write_text(dump_settings(self.cfg), encoding="utf8")
        self.divergence_monitor.is_saved |= "model" not in exclude

    def _check_saving(self, exclude: Iterable[str]) -> None:
        if CFG not in exclude:
            self.check_cfg()
        if "model" not in exclude:
            self.divergence_monitor.check_saving(self.name, self.model)

    def check_cfg(self) -> None:
        """Check that the settings, which the user may have changed, can be loaded again.

        RAISES (ValueError): If a setting is out of range.
        """
        check_settings(self.cfg, self.settings)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> SavedPipe:
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (SavedPipe): The component.
        RAISES (ValueError): If the data is damaged or belongs to another configuration.
        """

        def load(data: bytes, *, exclude: Iterable[str]) -> None:
            if "model" not in exclude:
                check_bytes(data)
            entries = unpack(data)
            weights, own = entries.pop("model", None), entries.pop(CFG, None)
            rest = srsly.msgpack_dumps(entries)
            super(SavedPipe, self).from_bytes(rest, exclude=exclude)
            if own is not None and CFG not in exclude:
                self._take_settings(own)
            # Not with `super`: each part of the model is checked before thinc accepts it
            if weights is not None and "model" not in exclude:
                read_model(self.model, weights)

        load_or_restore(self, load, self._check_loaded, bytes_data, exclude, source="bytes")
        self._divergence_monitor = None
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> SavedPipe:
        """Load the component from a directory. Settings that `spacy.load(..., config=...)` changes
        keep their new values.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (SavedPipe): The component.
        RAISES (ValueError): If the data is damaged or belongs to another configuration, or a
            changed setting is one of `fixed`.
        """

        def load(path: str | Path, *, exclude: Iterable[str]) -> None:
            check_files(Path(path))
            if "model" not in exclude:
                check_folder(Path(path))
            super(SavedPipe, self).from_disk(path, exclude=[*exclude, CFG, "model"])
            own = Path(path) / CFG
            if CFG not in exclude and own.exists():
                given = dict(self.cfg)
                self._take_settings(own.read_text(encoding="utf8"))
                for setting in overridden_settings(self, Path(path), given):
                    self._override(setting, given[setting])
            if "model" not in exclude:
                read_model(self.model, (Path(path) / "model").read_bytes())

        load_or_restore(self, load, self._check_loaded, path, exclude, source=path)
        self._divergence_monitor = None
        return self

    def _take_settings(self, text: str) -> None:
        """Adopt saved settings.

        text (str): The settings, as JSON.
        RAISES (ValueError): If they are not valid settings of the component.
        """
        values = json.loads(text)
        check_saved(values, self.cfg, self.settings)
        self.cfg.update(values)

    def _override(self, setting: str, value: Any) -> None:
        """Adopt a setting that is changed after training.

        setting (str): Its name.
        value (Any): Its new value.
        RAISES (ValueError): If it cannot be changed any more.
        """
        if setting in self.fixed:
            saved = self.cfg[setting]
            raise ValueError(
                Errors.P318.format(name=self.name, setting=setting, saved=saved, value=value)
            )
        self.cfg[setting] = value

    def _check_loaded(self, before: dict[str, Any]) -> None:
        """Check that the loaded data is consistent.

        before (Dict[str, Any]): The previous `cfg`.
        RAISES (ValueError): If it is not.
        """
