"""Random corruptions of the files of a saved component."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import srsly

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 10**9, 2**40, 2**63 - 1, 0.5, -0.5, 1e308, 1e-320),
    *("", "x", "tag", "\ud800", "B-X", "9" * 50, [], {}, [1, 2], ["a", "a"], [None], {"a": 1}),
    *({"nd": True}, {b"nd": True, b"type": "|O", b"shape": [1], b"data": b"x" * 8}, b"", b"\x80"),
)
CONFIG_VALUES = (
    *("null", "true", "-1", "0", "1", "2", "3", "1000000000", "99999999999999999999", "1e308"),
    *("-0.5", "0.5", "NaN", "Infinity", '"x"', '""', "[]", "{}", "[1, 2]", "{{", "$x", "${a.b}"),
)

Bytes = Callable[[Random, bytes, bytes], bytes]


def flip(rng: Random, data: bytes, other: bytes) -> bytes:
    """Flip one to eight bits."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(rng: Random, data: bytes, other: bytes) -> bytes:
    """Cut off the end."""
    return data[: rng.randrange(len(data) + 1)]


def insert(rng: Random, data: bytes, other: bytes) -> bytes:
    """Insert some bytes."""
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.randint(1, 64)) + data[place:]


def delete(rng: Random, data: bytes, other: bytes) -> bytes:
    """Delete some bytes."""
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[place + rng.randint(1, 64) :]


def duplicate(rng: Random, data: bytes, other: bytes) -> bytes:
    """Repeat a range."""
    start, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:end] + data[start:end] + data[end:]


def overwrite(rng: Random, data: bytes, other: bytes) -> bytes:
    """Overwrite a range with one from another file or from this one."""
    source = rng.choice((data, other))
    size = rng.randint(1, 256)
    start, place = rng.randrange(len(source) + 1), rng.randrange(len(data) + 1)
    chunk = source[start : start + size]
    return data[:place] + chunk + data[place + len(chunk) :]


def blank(rng: Random, data: bytes, other: bytes) -> bytes:
    """Set a range to one value, such as zeros or bytes that are NaN in a tensor."""
    place, size = rng.randrange(len(data) + 1), rng.randint(4, 256)
    value = rng.choice((b"\x00", b"\xff", b"\x7f"))
    return data[:place] + value * len(data[place : place + size]) + data[place + size :]


def swap(rng: Random, data: bytes, other: bytes) -> bytes:
    """Use another file instead."""
    return other


BYTES: tuple[Bytes, ...] = (flip, truncate, insert, delete, duplicate, overwrite, blank, swap)


def spoil_value(rng: Random, value: Any) -> Any:
    """Change one place in a nested value: replace, drop, add, rename, swap or repeat it."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        changed, key = dict(value), rng.choice(list(value))
        what = rng.random()
        if what < 0.6:
            changed[key] = spoil_value(rng, value[key])
        elif what < 0.75:
            del changed[key]
        elif what < 0.85:
            changed[f"{key}x"] = changed.pop(key)
        else:
            changed["new"] = rng.choice(HOSTILE)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        changed, i = list(value), rng.randrange(len(value))
        what = rng.random()
        if what < 0.6:
            changed[i] = spoil_value(rng, value[i])
        elif what < 0.8:
            changed.pop(i)
        else:
            changed.insert(i, rng.choice(value))
        return changed
    if isinstance(value, bytes) and value and rng.random() < 0.9:
        return _spoil_bytes(rng, value)
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.3:
        return value + rng.choice((-1, 1))
    return rng.choice(HOSTILE)


def _spoil_bytes(rng: Random, data: bytes) -> bytes:
    """Change a nested message or a safetensors file, or otherwise bytes."""
    if rng.random() < 0.7:
        try:
            return srsly.msgpack_dumps(spoil_value(rng, srsly.msgpack_loads(data)))
        except Exception:
            pass
        if data[8:9] == b"{":
            return _spoil_tensors(rng, data)
    return rng.choice(BYTES[:-1])(rng, data, data)


def _spoil_tensors(rng: Random, data: bytes) -> bytes:
    """Change the header or the numbers of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    header, body = data[8 : 8 + length], data[8 + length :]
    if rng.random() < 0.5:
        if rng.random() < 0.3:
            length = rng.choice((0, 1, 2**40, 2**63, length + 8))
            return struct.pack("<Q", length) + header + body
        header = json.dumps(
            spoil_value(rng, json.loads(header)), default=str, skipkeys=True
        ).encode("utf8")
        return struct.pack("<Q", len(header)) + header + body
    numbers = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        place = 4 * rng.randrange(len(body) // 4)
        value = rng.choice((float("nan"), float("inf"), 3e38, -3e38, 0.0, 1e-40, rng.gauss(0, 1)))
        numbers[place : place + 4] = struct.pack("<f", value)
    return data[: 8 + length] + bytes(numbers)


def spoil_model(rng: Random, data: bytes, other: bytes) -> bytes:
    """Change a model file, as bytes or as a msgpack message."""
    if rng.random() < 0.35:
        return rng.choice(BYTES)(rng, data, other)
    try:
        return srsly.msgpack_dumps(spoil_value(rng, srsly.msgpack_loads(data)))
    except (TypeError, ValueError, OverflowError):
        return flip(rng, data, other)


def spoil_settings(rng: Random, data: bytes, other: bytes) -> bytes:
    """Change the settings, as bytes or as JSON."""
    if rng.random() < 0.35:
        return rng.choice(BYTES)(rng, data, other)
    return json.dumps(spoil_value(rng, json.loads(data)), default=str, skipkeys=True).encode("utf8")


def spoil_config(rng: Random, text: str, name: str, architectures: list[str]) -> str:
    """Change a line in a component's sections of a config."""
    lines, ours, section = text.split("\n"), [], ""
    for i, line in enumerate(lines):
        if line.startswith("["):
            section = line[1:-1] + "."
        if section.startswith(f"components.{name}.") and line.strip():
            ours.append(i)
    i = rng.choice(ours)
    key, equals, _ = lines[i].partition(" = ")
    what = rng.random()
    if not equals or what < 0.15:
        del lines[i]
    elif what < 0.25:
        lines[i] = f"{key}x{equals}{rng.choice(CONFIG_VALUES)}"
    elif what < 0.3:
        lines.insert(i, lines[i])
    elif key.startswith("@"):
        lines[i] = f'{key} = "{rng.choice([*architectures, "no.Such.v1"])}"'
    else:
        lines[i] = f"{key} = {rng.choice(CONFIG_VALUES)}"
    return "\n".join(lines)
