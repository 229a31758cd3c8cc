"""Kafka's wire format, as far as a proxy has to read it: frames, the header of a request, the error of an answer."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property


class Api(IntEnum):
    """The kinds of request that tests name, spelt as Kafka spells them. Others pass as plain numbers."""

    Produce = 0
    Fetch = 1
    ListOffsets = 2
    Metadata = 3
    OffsetCommit = 8
    OffsetFetch = 9
    FindCoordinator = 10
    ApiVersions = 18
    CreateTopics = 19
    InitProducerId = 22
    AddPartitionsToTxn = 24
    AddOffsetsToTxn = 25
    EndTxn = 26
    TxnOffsetCommit = 28


FLEXIBLE_FROM = {
    Api.Produce: 9,
    Api.InitProducerId: 2,
    Api.AddPartitionsToTxn: 3,
    Api.AddOffsetsToTxn: 3,
    Api.EndTxn: 3,
    Api.TxnOffsetCommit: 3,
}
"""The first version with compact lengths and tagged fields; the answer's header has tagged fields then, too."""
PER_PARTITION = (Api.Produce, Api.TxnOffsetCommit, Api.AddPartitionsToTxn)
"""Answers whose errors stand beside each partition."""


def name_of(key: int) -> str:
    return Api(key).name if key in Api._value2member_map_ else f"api {key}"


@dataclass(frozen=True)
class Request:
    """One request as it came: its header is read, the rest is bytes."""

    frame: bytes
    """All of it, without the four bytes of its length."""

    @property
    def key(self) -> int:
        return int(struct.unpack_from(">h", self.frame)[0])

    @property
    def version(self) -> int:
        return int(struct.unpack_from(">h", self.frame, 2)[0])

    @property
    def correlation(self) -> int:
        return int(struct.unpack_from(">i", self.frame, 4)[0])

    @property
    def client(self) -> str:
        """The client's `client.id`."""
        length = int(struct.unpack_from(">h", self.frame, 8)[0])
        return self.frame[10 : 10 + max(length, 0)].decode(errors="replace")

    @property
    def answered(self) -> bool:
        """Whether an answer is to come: a Produce with acks=0 gets none."""
        return self.key != Api.Produce or self._acks() != 0

    def _acks(self) -> int:
        fields = Fields(self.frame, 8, flexible=False)
        fields.skip_text()  # the client id is never compact
        fields.flexible = self.version >= FLEXIBLE_FROM[Api.Produce]
        fields.skip_tags()
        fields.skip_text()  # the transactional id
        return fields.int16()

    def __str__(self) -> str:
        return f"{name_of(self.key)} v{self.version} of {self.client or 'a client without a name'}"


@dataclass(frozen=True)
class Answer:
    """What the broker said to a request."""

    request: Request
    frame: bytes

    @property
    def error(self) -> str:
        """The name of its (first) error code, such as NO_ERROR or INVALID_PRODUCER_EPOCH."""
        from confluent_kafka import KafkaError

        return str(KafkaError(self.code).name())

    @cached_property
    def code(self) -> int:
        """Kafka's number for it; only of the kinds of request that belong to transactions."""
        if self.request.key not in FLEXIBLE_FROM:
            raise ValueError(f"the proxy cannot read the answer to {self.request}")
        api = Api(self.request.key)
        fields = Fields(self.frame, 4, flexible=self.request.version >= FLEXIBLE_FROM[api])
        fields.skip_tags()
        if api is not Api.Produce:
            fields.skip(4)  # the throttle time
        if api in PER_PARTITION:
            self._to_first_partition(fields, api)
        return fields.int16()

    def _to_first_partition(self, fields: Fields, api: Api) -> None:
        if api is Api.AddPartitionsToTxn and self.request.version >= 4:
            raise ValueError(f"the proxy cannot read the answer to {self.request}: it is for other brokers")
        fields.skip_length()  # of the topics
        if api is Api.Produce and self.request.version >= 13:
            fields.skip(16)  # topics have ids there, not names
        else:
            fields.skip_text()
        fields.skip_length()  # of the partitions
        fields.skip(4)  # the partition's number


class Fields:
    """Reads one field after another, in either of Kafka's two encodings."""

    def __init__(self, frame: bytes, at: int, *, flexible: bool) -> None:
        self.frame, self.at, self.flexible = frame, at, flexible

    def int16(self) -> int:
        return int(struct.unpack(">h", self.take(2))[0])

    def take(self, count: int) -> bytes:
        self.at += count
        return self.frame[self.at - count : self.at]

    def skip(self, count: int) -> None:
        self.take(count)

    def varint(self) -> int:
        value = shift = 0
        while True:
            [byte] = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def skip_length(self) -> None:
        """The length of an array."""
        if self.flexible:
            self.varint()
        else:
            self.skip(4)

    def skip_text(self) -> None:
        """A text, or none at all."""
        length = self.varint() - 1 if self.flexible else self.int16()
        self.skip(max(length, 0))

    def skip_tags(self) -> None:
        if self.flexible:
            for _ in range(self.varint()):
                self.varint()
                self.skip(self.varint())


def read_frame(connection: socket.socket) -> bytes | None:
    """The next frame, or None when the other side is done, even in the middle of one."""
    head = _read(connection, 4)
    return None if head is None else _read(connection, int(struct.unpack(">i", head)[0]))


def write_frame(connection: socket.socket, frame: bytes) -> None:
    connection.sendall(struct.pack(">i", len(frame)) + frame)


def _read(connection: socket.socket, count: int) -> bytes | None:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
