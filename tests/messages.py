"""Messages of srsly in a fraction of the time, for tests that read or write thousands."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from srsly.msgpack import msgpack_decoders, msgpack_encoders


@contextmanager
def quick_msgpack() -> Iterator[None]:
    """Look up the extensions of msgpack only once within the block.

    Otherwise, srsly searches all registries, and the entry points of all installed packages, for
    each message.
    """
    known = [partial(dict, registry.get_all()) for registry in (msgpack_encoders, msgpack_decoders)]
    with (
        patch.object(msgpack_encoders, "get_all", known[0]),
        patch.object(msgpack_decoders, "get_all", known[1]),
    ):
        yield
