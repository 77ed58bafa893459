"""Settings that are changed while a pipeline is loaded: `spacy.load(path, config=...)`.

spaCy creates a component from the saved config with these changes, and then lets it load its own
settings, which hide them. The component is not told of the changes. But it can compare the saved
config with that of the pipeline, which spaCy has read just before, with the changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, ref

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from thinc.api import Config

from ..training.parameter_names import note_pipeline

Pipe = TypeVar("Pipe", bound=TrainablePipe)
# Not an attribute of the component, which can be pickled
_pipelines: WeakKeyDictionary[TrainablePipe, ReferenceType[Language]] = WeakKeyDictionary()


def created_for(nlp: Language, pipe: Pipe) -> Pipe:
    """Remember which pipeline a component was created for.

    nlp (Language): The pipeline.
    pipe (TrainablePipe): The component.
    RETURNS (TrainablePipe): The component.
    """
    note_pipeline(nlp)
    _pipelines[pipe] = ref(nlp)
    return pipe


def overridden_settings(pipe: TrainablePipe, path: Path, given: Mapping[str, Any]) -> list[str]:
    """Find the settings that were changed for loading the pipeline.

    pipe (TrainablePipe): The component, which has loaded its settings.
    path (Path): The folder from which they were loaded.
    given (Mapping[str, Any]): The settings with which the component was created.
    RETURNS (List[str]): Their names; empty if the component is loaded on its own.
    """
    reference, file = _pipelines.get(pipe), path.parent / "config.cfg"
    nlp = None if reference is None else reference()
    if nlp is None or not file.is_file():
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
