"""Protobuf as a format of registry schemas: what a schema says of a row, and how bytes written with it are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.formats.types import Field
from penstock.schemas.contract import Change, Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from penstock.formats.contract import Decoder


@dataclass(frozen=True)
class ProtobufCodec:
    """Reads messages of one type.

    `message` is its full name; without one it is the first message of the schema's file. `framed`: payloads begin with
    Confluent's message indexes.
    """

    message: str = ""
    framed: bool = True
    unknown_fields: str = "ignore"

    def fields(self, schema: Schema) -> tuple[Field, ...]:
        """The row type that the message describes. Raises SchemaRefused where rows cannot have it."""
        from penstock.formats.protobuf.types import fields_of

        return fields_of(self._message(schema))

    def name(self, schema: Schema) -> str:
        """The full name of the message."""
        return str(self._message(schema).full_name)

    def changes(self, before: Schema, after: Schema) -> Sequence[Change]:
        """What rows of `before` would have to bear for messages of `after`; a field is known by its number."""
        from penstock.formats.protobuf.changes import message_changes

        return list(message_changes(self._message(before), self._message(after)))

    def evolved(self, before: Schema, after: Schema, taken: Sequence[Change]) -> Schema:
        """The reader's schema that has these changes of `after` in it. Its text is compiled, and our own."""
        from penstock.formats.protobuf.evolve import evolved

        return evolved(self._message(before), self._message(after), after, taken)

    def payloads(self, writer: Schema, reader: tuple[Field, ...], readers: Schema) -> Decoder:
        """A decoder of payloads written with `writer` into the columns `reader`, which are those of `readers`."""
        from penstock.formats.protobuf.columns import ProtobufDecoder
        from penstock.formats.protobuf.messages import messages_of

        return ProtobufDecoder(
            messages_of(writer),
            self._message(writer),
            reader,
            self._message(readers),
            framed=self.framed,
            unknown_fields=self.unknown_fields,
        )

    def portable(self, schema: Schema) -> Schema:
        """The same schema as its compiled descriptors: workers have no need of protoc then."""
        from penstock.formats.protobuf.files import compiled

        return compiled(schema)

    def _message(self, schema: Schema) -> Descriptor:
        from penstock.formats.protobuf.messages import messages_of

        return messages_of(schema).named(self.message)
