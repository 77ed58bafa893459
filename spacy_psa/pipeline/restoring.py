"""Load a component, restoring its previous state on failure."""

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
    """Load a component. If that fails, restore its previous state.

    pipe (TrainablePipe): The component.
    load (Callable): Its `from_bytes` or `from_disk`.
    check (Callable[[Dict[str, Any]], None]): Called with the previous `cfg`. Raises if the loaded
        data is inconsistent, or incompatible with that `cfg`.
    data (Any): What to load.
    exclude (Iterable[str]): What not to load.
    source (Any): Where the data comes from, for messages.
    RAISES (ValueError): If the data is damaged or belongs to another configuration.
    """
    # A model without weights costs next to nothing to back up.
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
            # Damaged data may have added attributes
            node.attrs.clear()
            node.attrs.update(attrs)
        known = isinstance(error, ValueError | OSError)
        problem = error if known else Errors.P202.format(problem=repr(error))
        raise ValueError(
            Errors.P311.format(name=pipe.name, path=source, problem=problem)
        ) from error
