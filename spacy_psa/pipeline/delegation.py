"""The methods of a component that one of its parts provides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from spacy.tokens import Doc, Span

from ..errors import Errors
from ..output_errors import PrintedError
from .threads import using_threads

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class InputError(PrintedError, ValueError):  # type: ignore[valid-type, misc]
    """A problem with data, settings or a training run: one of this package's errors, of which
    commands print only the message."""


def provided(
    part: str, method: Callable[Concatenate[Any, Arguments], Answer]
) -> Callable[Concatenate[Any, Arguments], Answer]:
    """The method of a component that calls that of a part, e.g. its `learner`, and has its
    signature and documentation. It computes with the component's number of threads, and converts
    this package's errors to `InputError`."""

    @wraps(method)
    def call(pipe: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        own: Callable[Arguments, Answer] = getattr(getattr(pipe, part), method.__name__)
        try:
            with using_threads(pipe.threads):
                return own(*args, **kwargs)
        except ValueError as error:
            message = str(error)
            if isinstance(error, InputError) or not re.match(r"\[P\d+\]", message):
                raise
            raise InputError(message).with_traceback(error.__traceback__) from error.__cause__

    return call


def all_docs(name: str, docs: Iterable[Doc]) -> list[Doc]:
    """The documents that a component reads, after a check that they are some. A single one is
    accepted, too, as spaCy's components do."""
    are_several = isinstance(docs, Iterable) and not isinstance(docs, Doc | Span | str)
    found: list[Any] = list(docs) if are_several else [docs]
    for doc in found:
        if not isinstance(doc, Doc):
            raise ValueError(Errors.P356.format(name=name, type=type(doc).__name__))
    return found


def one_each(name: str, docs: Iterable[Doc], predictions: Sequence[Any]) -> list[Doc]:
    """The documents that a component annotates, after a check that it has a prediction for each."""
    found = all_docs(name, docs)
    if len(found) != len(predictions):
        sizes = {"n_docs": len(found), "n_predictions": len(predictions)}
        raise ValueError(Errors.P312.format(name=name, **sizes))
    return found
