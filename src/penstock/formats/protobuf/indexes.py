"""The message indexes between Confluent's frame and a Protobuf message: which message of the schema's file it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.protobuf.messages import Messages, indexes_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

MOST_LEVELS = 64


class Indexes:
    """What payloads of this message begin with."""

    def __init__(self, messages: Messages, message: Descriptor) -> None:
        self.messages, self.message = messages, message
        self.wanted = indexes_of(message) if message.file.name == messages.file.name else None
        self.head = encoded(self.wanted) if self.wanted else b""

    def stripped(self, values: pa.Array) -> tuple[pa.Array, dict[int, str]]:
        """The messages behind their indexes; and which payloads have none, or another one, and why."""
        usual = pc.starts_with(values.cast(pa.binary()), self.head) if self.head else None
        if usual is not None and pc.all(usual, min_count=0).as_py():
            return pc.binary_replace_slice(values, 0, len(self.head), b""), {}
        bodies: list[bytes] = []
        wrong: dict[int, str] = {}
        for place, value in enumerate(values.to_pylist()):
            found = self._body(value)
            if isinstance(found, str):
                wrong[place] = found
            else:
                bodies.append(found)
        return pa.array(bodies, pa.binary()), wrong

    def _body(self, value: bytes) -> bytes | str:
        if self.head and value.startswith(self.head):
            return value[len(self.head) :]
        found = read_indexes(value)
        if isinstance(found, str):
            return found
        indexes, size = found
        if indexes == self.wanted:
            return value[size:]
        other = self.messages.at(indexes)
        if other is None:
            return f"Its message indexes {list(indexes)} name no message of schema {self.messages.id}."
        if other.full_name == self.message.full_name:
            return value[size:]
        return f"It holds the message {other.full_name}; this pipeline reads {self.message.full_name}."


def read_indexes(value: bytes) -> tuple[tuple[int, ...], int] | str:
    """The indexes that a payload begins with, and their size in bytes; or what is wrong with them."""
    cut = "It ends within its message indexes."
    count, at = _number(value, 0)
    if at < 0:
        return cut
    if count == 0:
        return (0,), at
    if not 0 < count <= MOST_LEVELS:
        return f"It says that it has {count} message indexes."
    indexes = []
    for _ in range(count):
        index, at = _number(value, at)
        if at < 0:
            return cut
        indexes.append(index)
    return tuple(indexes), at


def encoded(indexes: tuple[int, ...]) -> bytes:
    """These indexes as Confluent writes them: count and numbers as zigzag varints; a lone 0 is the first message."""
    if indexes == (0,):
        return b"\x00"
    return b"".join(varint(number << 1) for number in (len(indexes), *indexes))


def varint(number: int) -> bytes:
    """A number as Protobuf writes it: seven bits to a byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _number(value: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint and where it ends; -1 if it does not."""
    found = 0
    for shift, byte in enumerate(value[at : at + 10]):
        found |= (byte & 127) << (7 * shift)
        if byte < 128:
            return (found >> 1) ^ -(found & 1), at + shift + 1
    return 0, -1


__all__ = ["Indexes", "encoded", "read_indexes", "varint"]
