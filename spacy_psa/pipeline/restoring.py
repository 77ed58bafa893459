"""Load a component, or leave it as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from spacy.pipeline import TrainablePipe

from ..errors import Errors
from ..messages import garbage_collection


def load_or_restore(
    pipe: TrainablePipe,
    load: Callable[..., Any],
    check: Callable[[dict[str, Any]], None],
    data: Any,
    exclude: Iterable[str],
    source: Any,
) -> None:
    """Load a component, or leave it as it was.

    pipe (TrainablePipe): The component.
    load (Callable): Its `from_bytes` or `from_disk`.
    check (Callable[[Dict[str, Any]], None]): Raises if what was loaded does not fit together, or
        not with what `cfg` was.
    data (Any): What to load.
    exclude (Iterable[str]): What not to load.
    source (Any): Where the data is from, for messages.
    RAISES (ValueError): If the data is damaged or of another configuration.
    """
    # A model that has no weights yet costs next to nothing to keep.
    before, weights = deepcopy(pipe.cfg), pipe.model.to_bytes()
    nodes = [
        (node, {d: node.maybe_get_dim(d) for d in node.dim_names}, dict(node.attrs))
        for node in pipe.model.walk()
    ]
    try:
        with garbage_collection():
            load(data, exclude=exclude)
        check(before)
    except Exception as error:
        pipe.cfg = before
        pipe.model.from_bytes(weights)
        for node, sizes, attrs in nodes:
            for name, size in sizes.items():
                node.set_dim(name, size, force=True)
            # Damaged names may have come in as new ones
            node.attrs.clear()
            node.attrs.update(attrs)
        known = isinstance(error, ValueError | OSError)
        problem = error if known else Errors.P202.format(problem=repr(error))
        raise ValueError(
            Errors.P311.format(name=pipe.name, path=source, problem=problem)
        ) from error
