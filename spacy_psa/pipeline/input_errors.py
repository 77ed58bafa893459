"""Errors in user input, which commands (including spaCy's) print without a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..output_errors import PrintedError


class InputError(PrintedError, ValueError):  # type: ignore[valid-type, misc]
    """A problem with data, settings or a training run.

    message (str): What is wrong, where, and how to fix it.
    """


@contextmanager
def input_errors() -> Iterator[None]:
    """Convert this package's errors so that commands print only their message. It can also be used
    as a decorator.

    RAISES (InputError): If the block raises a `ValueError` with one of this package's messages. The
        message stays the same.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, InputError) or not re.match(r"\[P\d+\]", str(error)):
            raise
        raise InputError(str(error)).with_traceback(error.__traceback__) from error.__cause__
