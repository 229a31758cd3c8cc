"""What a value is, from its bytes: a JSON object, or what else it looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.authoring.values import problem_with
from penstock.authoring.wire import looks_like_messagepack, looks_like_protobuf, looks_like_snappy

OBJECT, TOMBSTONE, EMPTY = "JSON object", "tombstone", "empty value"
LARGEST_ID = 10_000_000
"""Schema ids count up from 1; a larger one is more likely chance than a registry."""
MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xff\x06\x00\x00sNaPpY", "snappy"),
    (b"\x82SNAPPY\x00", "snappy"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"Obj\x01", "Avro container"),
    (b"PAR1", "Parquet"),
    (b"\xac\xed\x00\x05", "serialized Java object"),
)
COMPRESSED = {"gzip", "zstd", "lz4", "snappy", "bzip2", "xz", "zip"}
SEPARATORS = ",;\t|"


class Kind(NamedTuple):
    """What one value is."""

    name: str
    detail: str = ""
    """What tells one apart from others of its kind: a schema id, a reject code."""


def recognise(value: bytes | None) -> Kind:
    """What this value is. Whatever the bytes, there is an answer."""
    if value is None:
        return Kind(TOMBSTONE)
    if not value.strip(b" \t\r\n"):
        return Kind(EMPTY)
    problem = problem_with(value)
    if problem is None:
        return Kind(OBJECT)
    for look in (_by_magic, _registry_frame, _glue_frame):
        if found := look(value):
            return found
    if problem.code == "not_an_object" and (other := _other_json(value)):
        return other
    text = _as_text(value)
    return Kind(_binary(value)) if text is None else _text(text, problem.code)


def _by_magic(value: bytes) -> Kind | None:
    return next((Kind(name) for magic, name in MAGIC if value.startswith(magic)), None)


def _registry_frame(value: bytes) -> Kind | None:
    """Confluent's frame: a zero byte, a schema id in four bytes, then the message."""
    if value[0] != 0 or len(value) < 6 or not 0 < (schema := int.from_bytes(value[1:5], "big")) <= LARGEST_ID:
        return None
    inner = "JSON" if problem_with(value[5:]) is None else "Avro or Protobuf"
    return Kind(f"registry frame, {inner} inside", f"schema id {schema}")


def _glue_frame(value: bytes) -> Kind | None:
    """AWS Glue's frame: version 3, a compression byte, a UUID of version 4."""
    fine = len(value) > 18 and value[0] == 3 and value[1] in (0, 5) and value[8] >> 4 == 4 and value[10] >> 6 == 2
    return Kind("registry frame of AWS Glue") if fine else None


def _other_json(value: bytes) -> Kind | None:
    """What begins with a number or a word need not be JSON: `2026-01-01 started`, `1,2,3`."""
    try:
        found: Any = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list):
        objects = found and all(isinstance(each, dict) for each in found)
        return Kind("JSON array", "of objects" if objects else "")
    if isinstance(found, str):
        return Kind("JSON text", "with a JSON object inside" if found.lstrip().startswith("{") else "")
    return Kind("JSON number, true, false or null")


def _as_text(value: bytes) -> str | None:
    """The value if it is readable text: UTF-8 without control characters."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return None if re.search("[\x00-\x08\x0e-\x1f\x7f]", text) else text


def _text(text: str, code: str) -> Kind:
    begin = text.lstrip("\ufeff \t\r\n")
    if begin[:1] in "{[":
        return Kind("broken JSON", code)
    if re.match(r"<[?!A-Za-z]", begin):
        return Kind("XML or HTML")
    marks = {mark: begin.count(mark) for mark in SEPARATORS}
    mark = max(SEPARATORS, key=lambda mark: marks[mark])
    # Prose has commas too, but a blank behind nearly each of them.
    tight = begin.count(mark) - begin.count(f"{mark} ")
    if marks[mark] >= 2 and tight >= marks[mark] / 2:
        return Kind("CSV-looking text", f"{marks[mark] + 1} columns by {mark!r}")
    return Kind("plain text")


def _binary(value: bytes) -> str:
    looks: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
        ("snappy", looks_like_snappy),
        ("MessagePack", looks_like_messagepack),
        ("Protobuf-like binary", looks_like_protobuf),
    )
    if value.lstrip()[:1] == b"{":
        return "broken JSON"
    return next((name for name, look in looks if look(value)), "binary")
