"""Errors of what users give, which commands print without a traceback, spaCy's own as well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..output_errors import PrintedError


class InputError(PrintedError, ValueError):  # type: ignore[valid-type, misc]
    """Something that is wrong with data, settings or the course of a training.

    message (str): What is wrong, where, and what to do about it.
    """


@contextmanager
def input_errors() -> Iterator[None]:
    """Let commands print errors of our catalogue as messages. It can also decorate a function.

    RAISES (InputError): If the block raises a ValueError of the catalogue: the same message.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, InputError) or not re.match(r"\[P\d+\]", str(error)):
            raise
        raise InputError(str(error)).with_traceback(error.__traceback__) from error.__cause__
