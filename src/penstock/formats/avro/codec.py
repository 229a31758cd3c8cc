"""Avro as a format of schemas: the columns of a schema, what a change means for them, and the decoder of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.errors import SchemaRefused
from penstock.formats.avro.changes import changes, evolved
from penstock.formats.avro.schema import parsed, refused
from penstock.formats.avro.types import fields_of
from penstock.formats.types import Field
from penstock.schemas.contract import Change, Schema

if TYPE_CHECKING:
    from penstock.formats.contract import Decoder


class AvroCodec:
    """What a pipeline asks of Avro's schemas."""

    def name(self, schema: Schema) -> str:
        return parsed(schema).name

    def fields(self, schema: Schema) -> tuple[Field, ...]:
        made = fields_of(parsed(schema))
        own = [field.name for field in made if field.name.startswith("_")]
        if own:
            raise refused(schema.id, f"names that begin with `_` are penstock's own: {', '.join(own)}")
        if not made:
            raise refused(schema.id, "it has no field that could hold a value")
        return made

    def portable(self, schema: Schema) -> Schema:
        return schema

    def changes(self, before: Schema, after: Schema) -> Sequence[Change]:
        return changes(parsed(before), after)

    def evolved(self, before: Schema, after: Schema, taken: Sequence[Change]) -> Schema:
        return evolved(before, after, taken)

    def payloads(self, writer: Schema, reader: tuple[Field, ...], readers: Schema) -> Decoder:
        from penstock.formats.avro.columns import AvroDecoder
        from penstock.formats.avro.resolve import Unfit, compiled

        try:
            return AvroDecoder(compiled(parsed(writer), reader, parsed(readers)), reader)
        except Unfit as unfit:
            raise SchemaRefused(
                f"schema {writer.id} cannot be read into the columns: {unfit.path}: {unfit.why}."
            ) from unfit
