"""Binary formats without a magic number: told by whether the bytes, all of them, can be read as one."""

from __future__ import annotations

LARGEST_FIELD = 10_000
"""Protobuf field numbers that people write."""


def looks_like_protobuf(value: bytes) -> bool:
    """Tag after tag up to the very end, with field numbers that people write."""
    at, fields = 0, 0
    while at < len(value):
        read = _varint(value, at)
        if read is None or not 0 < read[0] >> 3 <= LARGEST_FIELD:
            return False
        after = _behind(value, read[0] & 7, read[1])
        if after is None or after > len(value):
            return False
        at, fields = after, fields + 1
    return fields > 0


def _behind(value: bytes, wire_type: int, at: int) -> int | None:
    """The position behind a field of this wire type."""
    match wire_type:
        case 0:
            number = _varint(value, at)
            return number and number[1]
        case 1:
            return at + 8
        case 2:
            length = _varint(value, at)
            return length and length[1] + length[0]
        case 5:
            return at + 4
    return None


def _varint(value: bytes, at: int) -> tuple[int, int] | None:
    """A number in groups of seven bits, and the position behind it."""
    number = 0
    for place in range(10):
        if at + place >= len(value):
            return None
        byte = value[at + place]
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            return number, at + place + 1
    return None


def looks_like_snappy(value: bytes) -> bool:
    """A raw block: its length in front, and it unpacks to just that."""
    import pyarrow as pa

    length = _varint(value, 0)
    if length is None or not 0 < length[0] <= 64 << 20 or length[0] > 100 * len(value):
        return False
    try:
        return len(pa.decompress(value, decompressed_size=length[0], codec="snappy", asbytes=True)) == length[0]
    except (pa.ArrowException, OSError):
        return False


def looks_like_messagepack(value: bytes) -> bool:
    """A map with text keys, and nothing behind it."""
    import msgspec

    try:
        found = msgspec.msgpack.decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and bool(found) and all(isinstance(key, str) for key in found)
