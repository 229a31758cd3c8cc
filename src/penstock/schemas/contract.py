"""What a registry gives and what a registry format must give: schemas by id, row types, and the decoding of payloads.

A record carries the id of the schema it was written with (the writer's schema). The pipeline has one row type, which
all writers' schemas are resolved to (the reader's): it moves only by the policy of `schema_changes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from penstock.formats.types import Field

if TYPE_CHECKING:
    from penstock.formats.contract import Decoder

BARE = -1
"""The id under which the one schema of records without an id (`framing: bare`) is kept."""
Kind = Literal["add", "widen", "rename", "drop", "incompatible"]
"""A kind of change, as `schema_changes` names it."""


@dataclass(frozen=True)
class Reference:
    """A schema that another one imports, under the name by which it does."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Schema:
    """One schema as the registry keeps it. The id never comes to mean another text."""

    id: int
    format: Literal["avro", "protobuf", "json"]
    text: str
    references: tuple[Reference, ...] = ()
    imported: tuple[tuple[str, str], ...] = ()
    """Name and text of every schema that it refers to, directly or not; those that others need come first."""


@dataclass(frozen=True)
class Change:
    """One difference between two schemas, seen from the row type."""

    kind: Kind
    path: str
    """JSON pointer of the field: `/items/qty`."""
    before: str = ""
    after: str = ""
    """The field's type, as DDL spells it, or its name where that is what changed."""


class Registry(Protocol):
    """Where schemas are kept. Raises `Unavailable` if it does not answer, LookupError if it has no such schema."""

    def by_id(self, number: int) -> Schema: ...

    def latest(self, subject: str) -> tuple[int, Schema]:
        """The newest version of a subject, and its number."""
        ...

    def version(self, subject: str, number: int) -> Schema: ...

    def versions(self, subject: str) -> list[int]: ...

    def subjects(self) -> list[str]: ...

    def register(self, subject: str, schema: Schema) -> int:
        """The id under which this schema is kept in the subject from now on."""
        ...

    def compatible(self, subject: str, schema: Schema) -> list[str]:
        """Why the subject's policy refuses this schema; empty if it does not."""
        ...


@dataclass(frozen=True)
class Writer:
    """How the records of one schema id in one topic are read."""

    subject: str
    """Under which the topic's schemas are kept, by the pipeline's naming."""
    schema: Schema
    parked: str = ""
    """Why its records are parked, in words; empty where they are read."""


@dataclass(frozen=True)
class Reader:
    """What a pipeline knows of its schemas: its row type, and how each writer's records are brought into it.

    A value, small and picklable: it travels to the tasks. It changes only by a new revision that is kept in the state.
    """

    fields: tuple[Field, ...]
    """The row type: the columns of all subjects, united by name."""
    readers: Mapping[str, Schema] = field(default_factory=dict)
    """Subject -> the schema that its records are resolved to (see `Codec.evolved`)."""
    writers: Mapping[tuple[str, int], Writer] = field(default_factory=dict)
    """Topic and schema id -> how such records are read. What is not here is not known yet."""
    revision: int = 0


class Codec(Protocol):
    """One format of schemas: what a schema says of a row, and how bytes written with it are read.

    An options model of `decode` gives the one that its settings describe (`RegistryDecode.codec()`).
    """

    def name(self, schema: Schema) -> str:
        """The full name of the record (Avro), of the first message (Protobuf), or the title (JSON Schema); `by_record`
        names subjects so. Empty if there is none."""
        ...

    def fields(self, schema: Schema) -> tuple[Field, ...]:
        """The row type that this schema describes. Raises SchemaRefused where rows cannot have it."""
        ...

    def portable(self, schema: Schema) -> Schema:
        """The same schema as it is to travel to the workers: a Protobuf text is compiled on the driver, once. Where
        there is nothing to prepare, the schema itself. Every method takes the one as the other."""
        ...

    def changes(self, before: Schema, after: Schema) -> Sequence[Change]:
        """What the row type of `before` would have to bear for records written with `after`.

        `before` is a reader's schema (see `evolved`), `after` one of a producer's. Nothing is said of what resolves by
        itself: an `int` read as a `long`, a field of the same number. `drop`: a field of `before` that `after` has
        not; `incompatible`, if it may not be null and has no default. `widen`: `before` is too narrow.
        """
        ...

    def evolved(self, before: Schema, after: Schema, taken: Sequence[Change]) -> Schema:
        """The reader's schema that has these changes of `after` in it, and else stays as `before` is.

        Fields that `before` has keep their names (a rename is remembered as an alias or by its number), also those that
        `after` has not. New fields may be null. The id is that of `after`. The text is the codec's own affair: it need
        not be a schema that a registry would take, but `fields`, `changes` and `payloads` take it as `before`.
        """
        ...

    def payloads(self, writer: Schema, reader: tuple[Field, ...], readers: Schema) -> Decoder:
        """A decoder of payloads without their frame, written with `writer`, into the columns `reader`.

        `readers` is the schema that the columns were taken from: names, aliases and numbers are resolved by it.
        A column that it does not have (another subject's) is null. Payloads are never null.
        Bytes that do not hold such a record exactly get the code `bad_payload`; nothing raises because of data.
        What stands between the schema id and the record (Protobuf's message indexes) is part of the payload.
        """
        ...
