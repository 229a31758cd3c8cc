"""Values in a format of the schema registry: which schema a sink writes by, and the frame around each record.

The schema is settled when a batch is prepared, before anything of it is visible: that of the subject if it has a place
for every column, else one that `register: if_compatible` lets penstock add. What cannot be settled is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaRefused, SinkRefused
from penstock.formats.encode.contract import Encoded, Encoder, Encoding, encoding
from penstock.schemas.contract import Registry, Schema

if TYPE_CHECKING:
    from penstock.sinks.kafka import Topic

FORMATS = {"avro": "avro", "protobuf": "protobuf", "json_schema": "json"}
"""The word of the pipeline file -> the registry's."""


@dataclass(frozen=True)
class Registered:
    """The schema that values are written by. Small and picklable: it goes to the tasks."""

    word: str
    schema: Schema
    columns: pa.Schema

    def writer(self) -> ValueWriter:
        return ValueWriter(self)


class ValueWriter:
    """In the task: rows as framed records."""

    def __init__(self, registered: Registered) -> None:
        self.columns = registered.columns
        self.encoder: Encoder = encoding(registered.word).encoder(registered.schema, registered.columns)
        self.head = pa.scalar(b"\x00" + registered.schema.id.to_bytes(4, "big"), pa.binary())

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Each row behind a zero byte and the schema's id."""
        arrays = [rows.column(column.name).cast(column.type) for column in self.columns]
        made = self.encoder.encode(pa.RecordBatch.from_arrays(arrays, schema=_nullable(self.columns)))
        whole = pc.binary_join_element_wise(self.head, made.values.cast(pa.binary()), pa.scalar(b"", pa.binary()))
        return Encoded(whole, made.flaws)


def _nullable(columns: pa.Schema) -> pa.Schema:
    """What a column promises is the encoder's to check: a batch with a null in it must still be made."""
    return pa.schema([column.with_nullable(True) for column in columns])


class Registrar:
    """In the driver: settles the schema of each sink, once for the columns that it has."""

    def __init__(self, registry: Registry | None) -> None:
        self.registry = registry
        self._settled: dict[str, Registered] = {}

    def values(self, sink: str, wanted: Topic, columns: pa.Schema) -> Registered:
        """How the values of this sink are written. Raises SinkRefused, with words, where they cannot be."""
        data = pa.schema([column for column in columns if not column.name.startswith("_")])
        known = self._settled.get(sink)
        if known is None or known.columns != data:
            known = self._settled[sink] = self._settle(sink, wanted, data)
        return known

    def _settle(self, sink: str, wanted: Topic, columns: pa.Schema) -> Registered:
        subject = wanted.subject or f"{wanted.topic}-value"
        form = encoding(wanted.value)
        try:
            schema = self._schema(form, subject, wanted, columns)
            form.encoder(schema, columns)
        except SchemaRefused as error:
            raise _refused(sink, subject, str(error.what), error.remedy) from error
        return Registered(wanted.value, form.portable(schema), columns)

    def _schema(self, form: Encoding, subject: str, wanted: Topic, columns: pa.Schema) -> Schema:
        latest = self._latest(subject)
        may = wanted.register_ == "if_compatible"
        if latest is None:
            if not may:
                raise SchemaRefused(
                    "the registry has no such subject.",
                    remedy="Register a schema, or let penstock do it:  register: if_compatible",
                )
            return self._registered(subject, form.derived(columns, wanted.topic or subject))
        if latest.format != FORMATS[wanted.value]:
            raise SchemaRefused(f"its schema is {latest.format}, and the sink writes {wanted.value}.")
        try:
            form.encoder(latest, columns)
        except SchemaRefused as error:
            if not may:
                remedy = (
                    "Change the columns in a step, or the schema, or let penstock add them:  register: if_compatible"
                )
                raise SchemaRefused(f"{error.what} (schema {latest.id})", remedy=remedy) from error
            wider = form.extended(latest, columns)
            form.encoder(wider, columns)
            return self._registered(subject, wider)
        return latest

    def _latest(self, subject: str) -> Schema | None:
        assert self.registry is not None, "a sink with such values needs a registry; the pipeline's rules see to it"
        try:
            return self.registry.latest(subject)[1]
        except LookupError:
            return None

    def _registered(self, subject: str, schema: Schema) -> Schema:
        """The schema under its id, if the subject's policy takes it."""
        assert self.registry is not None
        reasons = self.registry.compatible(subject, schema)
        if reasons:
            raise SchemaRefused(
                f"its policy refuses the schema that the columns need: {'; '.join(reasons)[:1000]}",
                remedy="Change the columns in a step, or the subject's compatibility.",
            )
        return replace(schema, id=self.registry.register(subject, schema))


def _refused(sink: str, subject: str, why: str, remedy: str) -> SinkRefused:
    return SinkRefused(f"sink {sink}, subject {subject}: {why}", data="This sink wrote nothing.", remedy=remedy)
