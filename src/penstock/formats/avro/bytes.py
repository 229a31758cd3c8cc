"""One record, read byte by byte: slow, and exact about what is wrong and where."""

from __future__ import annotations

import struct


class Bad(Exception):
    """These bytes do not hold what the schema says."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at, self.why = at, why
        self.path: list[str] = []

    def below(self, part: str | int) -> Bad:
        """The same, told from one level up."""
        self.path.insert(0, str(part).replace("~", "~0").replace("/", "~1"))
        return self

    @property
    def pointer(self) -> str | None:
        return "".join(f"/{part}" for part in self.path) or None


class Bytes:
    """The payload of one record."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise Bad(self.at, f"{count} bytes are due and {self.left} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def long(self) -> int:
        value, start = 0, self.at
        for place in range(10):
            if self.at >= len(self.data):
                raise Bad(start, "the record ends in the middle of a number")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                if value >= 2**64:
                    raise Bad(start, "a number has more than 64 bits")
                return (value >> 1) ^ -(value & 1)
        raise Bad(start, "a number has more than 10 bytes")

    def int32(self) -> int:
        start = self.at
        value = self.long()
        if not -(2**31) <= value < 2**31:
            raise Bad(start, f"{value} does not fit an int")
        return value

    def sized(self) -> bytes:
        start = self.at
        size = self.long()
        if not 0 <= size <= self.left:
            raise Bad(start, f"a length of {size} bytes, and {self.left} are left")
        return self.take(size)

    def float32(self) -> float:
        return float(struct.unpack("<f", self.take(4))[0])

    def float64(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])
