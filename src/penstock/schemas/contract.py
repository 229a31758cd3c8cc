"""What a registry gives and what a registry format must give: schemas by id, row types, and the decoding of payloads.

A record carries the id of the schema it was written with (the writer's schema). The pipeline has one row type, which
all writers' schemas are resolved to (the reader's): it moves only by the policy of `schema_changes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from penstock.formats.types import Field

if TYPE_CHECKING:
    from penstock.formats.contract import Decoder

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


class Codec(Protocol):
    """One format of schemas: what a schema says of a row, and how bytes written with it are read."""

    def fields(self, schema: Schema) -> tuple[Field, ...]:
        """The row type that this schema describes. Raises SchemaRefused where rows cannot have it."""
        ...

    def changes(self, before: Schema, after: Schema) -> Sequence[Change]:
        """How `after` differs from `before`."""
        ...

    def payloads(self, writer: Schema, reader: tuple[Field, ...], readers: Schema) -> Decoder:
        """A decoder of payloads without their frame, written with `writer`, into the columns `reader`.

        `readers` is the schema that the columns were taken from: names, aliases and numbers are resolved by it.
        Bytes that do not hold such a record exactly get the code `bad_payload`; nothing raises because of data.
        """
        ...
