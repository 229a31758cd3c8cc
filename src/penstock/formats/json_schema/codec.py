"""JSON Schema as a format of registry schemas: what a schema says of a row, and how JSON written with it is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from penstock.formats.types import Field
from penstock.schemas.contract import Change, Schema

if TYPE_CHECKING:
    from penstock.formats.contract import Decoder
    from penstock.formats.json_schema.types import Shape

READER = "penstock-row"
"""Key of a reader's own schema: its row type as DDL. A registry's schemas do not have it."""


@dataclass(frozen=True)
class JsonSchemaCodec:
    """Reads JSON objects that a JSON Schema describes."""

    unknown_fields: str = "ignore"

    def name(self, schema: Schema) -> str:
        """The title of the schema."""
        from penstock.formats.json_schema.refs import documents_of

        root = documents_of(schema).root
        return str(root.get("title", "")) if isinstance(root, dict) else ""

    def portable(self, schema: Schema) -> Schema:
        """The schema itself."""
        return schema

    def fields(self, schema: Schema) -> tuple[Field, ...]:
        """The row type that this schema describes. Raises SchemaRefused where rows cannot have it."""
        return _shape(schema).fields

    def changes(self, before: Schema, after: Schema) -> Sequence[Change]:
        """What rows of `before` would have to bear for records of `after`; a field is known by its name."""
        from penstock.formats.json_schema.changes import row_changes

        return list(row_changes(self.fields(before), self.fields(after)))

    def evolved(self, before: Schema, after: Schema, taken: Sequence[Change]) -> Schema:
        """The reader's schema that has these changes of `after` in it: its row type, and nothing else."""
        from penstock.formats.json_schema.changes import grown
        from penstock.formats.types import to_ddl

        fields = grown(self.fields(before), self.fields(after), taken)
        return Schema(after.id, "json", json.dumps({READER: to_ddl(fields)}))

    def payloads(self, writer: Schema, reader: tuple[Field, ...], readers: Schema) -> Decoder:
        """A decoder of payloads written with `writer` into the columns `reader`, which are those of `readers`."""
        from penstock.formats.json_schema.columns import JsonSchemaDecoder
        from penstock.formats.json_schema.refs import documents_of

        known = frozenset(field.name for field in self.fields(readers))
        return JsonSchemaDecoder(documents_of(writer), _shape(writer), reader, known, self.unknown_fields)


@lru_cache(maxsize=64)
def _shape(schema: Schema) -> Shape:
    from penstock.formats.json_schema.refs import documents_of
    from penstock.formats.json_schema.types import Shape, shape_of
    from penstock.formats.schemas import parse_ddl

    documents = documents_of(schema)
    if isinstance(documents.root, dict) and READER in documents.root:
        return Shape(fields=parse_ddl(documents.root[READER]))
    return shape_of(documents)
