"""What a format of registry schemas must give for writing: a schema for columns, and an encoder of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.schemas.contract import Schema


class Flaw(NamedTuple):
    """A value that the schema cannot say."""

    row: int
    field: str
    """JSON pointer of the value."""
    detail: str


class Encoded(NamedTuple):
    """The rows as bytes, without the frame; `flaws` are in the order of the rows, and their bytes mean nothing."""

    values: pa.Array
    flaws: list[Flaw]


class Encoder(Protocol):
    """Made once per task, inside the worker."""

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Every row as the bytes that stand behind the schema's id."""
        ...


class Encoding(Protocol):
    """One format of schemas, seen from the writer."""

    def derived(self, columns: pa.Schema, name: str) -> Schema:
        """A schema for these columns; `name` is what it is about. Raises SchemaRefused where there can be none."""
        ...

    def extended(self, schema: Schema, columns: pa.Schema) -> Schema:
        """The schema, with an optional field for each column that it has no place for. Raises SchemaRefused."""
        ...

    def portable(self, schema: Schema) -> Schema:
        """The same schema as it is to travel to the workers."""
        ...

    def encoder(self, schema: Schema, columns: pa.Schema) -> Encoder:
        """Writes rows of these columns. Raises SchemaRefused, with words, where a column has no place in the schema or
        another type, or where the schema wants a field that no column gives."""
        ...


WORDS = ("avro", "protobuf", "json_schema")
"""Values of `sinks.NAME.kafka.value` that need a registry."""


def encoding(word: str) -> Encoding:
    """The format of this name."""
    if word == "avro":
        from penstock.formats.encode.avro import AvroEncoding

        return AvroEncoding()
    if word == "protobuf":
        from penstock.formats.encode.protobuf import ProtobufEncoding

        return ProtobufEncoding()
    from penstock.formats.encode.json import JsonSchemaEncoding

    return JsonSchemaEncoding()
