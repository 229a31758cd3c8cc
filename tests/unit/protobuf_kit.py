"""Small Protobuf schemas, messages of them, and rows out of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.formats.contract import Decoded
from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.messages import messages_of
from penstock.schemas.contract import Schema

BARE = ProtobufCodec(framed=False)
NUMBERS = iter(range(1, 10_000))


def schema(text: str, syntax: str = "proto3", **parts: Any) -> Schema:
    return Schema(next(NUMBERS), "protobuf", f'syntax = "{syntax}"; package t;\n{text}', **parts)


def decode(
    codec: ProtobufCodec, writer: Schema, bodies: Sequence[bytes], reader: Schema | None = None, size: int = 0
) -> Decoded:
    found = reader or writer
    values = pa.array([*bodies], pa.binary())
    assert not size or len(values) == size
    return codec.payloads(writer, codec.fields(found), found).decode(values)


def one_of(of: Schema, of_name: str = "", /, **values: Any) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(messages_of(of).named(of_name))(**values)
