"""The JSON Schema decoder: the strict JSON decoder for types, and a validator for what a schema says beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaRefused
from penstock.formats.arrow_types import arrow_type, to_arrow
from penstock.formats.contract import Decoded
from penstock.formats.json.native import json_decoder
from penstock.formats.json_schema.changes import fitted, read_as
from penstock.formats.json_schema.refs import Documents
from penstock.formats.json_schema.types import Shape
from penstock.rows import Verdict

if TYPE_CHECKING:
    from penstock.formats.types import Field

MOST_BYTES = 1 << 31
BACKTRACKS = 1_000_000
"""A pattern that needs more steps on one text is taken as not met: no text may hold a worker up."""
LONGEST = 300


class JsonSchemaDecoder:
    """Decodes payloads of one writer's schema into the columns of a reader's."""

    def __init__(
        self,
        documents: Documents,
        shape: Shape,
        reader: tuple[Field, ...],
        known: frozenset[str],
        unknown_fields: str = "ignore",
    ) -> None:
        """`known` are the columns that the reader's own schema has; the others belong to other subjects."""
        self.shape, self.reader = shape, reader
        self.columns = to_arrow(reader)
        self.nullable = pa.schema([pa.field(field.name, field.type) for field in self.columns])
        self.fields = read_as(shape.fields, tuple(field for field in reader if field.name in known))
        self.known = known
        self.closed = bool(shape.closed) and not shape.open
        strict = self.closed or unknown_fields == "reject"
        self.json = json_decoder(
            self.fields, unknown_fields="reject" if strict else "ignore", tombstones="reject", max_bytes=MOST_BYTES
        )
        self.validator = validator_of(documents) if shape.more or shape.nulls else None

    def decode(self, values: pa.Array) -> Decoded:
        """Decode every payload; `data` has a row for each, null where there is a verdict."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        found = self.json.decode(values)
        verdicts = [self._closed(verdict) for verdict in found.verdicts]
        broken = self._broken(values, {verdict.row for verdict in verdicts})
        data = self._fitted(found.data)
        if broken:
            verdicts = sorted([*verdicts, *broken])
            out = np.zeros(len(values), np.bool_)
            out[[verdict.row for verdict in broken]] = True
            keep = np.where(out, -1, np.arange(len(values)))
            data = data.take(pa.array(keep, mask=out))
        return Decoded(data, verdicts, found.unknown)

    def _closed(self, verdict: Verdict) -> Verdict:
        """A field that a closed object does not name breaks the schema."""
        if self.closed and verdict.code == "unknown_field":
            return verdict._replace(code="schema_violation")
        return verdict

    def _broken(self, values: pa.Array, out: set[int]) -> list[Verdict]:
        """Records that are typed as they should be, and break a rule of the schema."""
        if self.validator is None:
            return []
        rows = np.arange(len(values))
        if not self.shape.more:
            hold = pc.indices_nonzero(pc.match_substring(values.cast(pa.binary()), "null"))
            rows, values = hold.to_numpy(), values.take(hold)
        pairs = zip(rows.tolist(), values.to_pylist(), strict=True)
        found = ((row, violation(self.validator, value)) for row, value in pairs if row not in out)
        return [Verdict(row, "schema_violation", *why) for row, why in found if why is not None]

    def _fitted(self, data: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of the reader: without what it does not take, null where the writer has nothing."""
        if self.fields == self.reader:
            return data
        mine = {field.name: (field.type, data.column(place)) for place, field in enumerate(self.fields)}
        columns = [
            fitted(mine[field.name][1], mine[field.name][0], field.type)
            if field.name in mine and field.name in self.known
            else pa.nulls(data.num_rows, arrow_type(field.type))
            for field in self.reader
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.nullable)


def violation(validator: Any, text: bytes) -> tuple[str | None, str] | None:
    """The first rule that a record breaks, nearest to its root: where, and in words. None if it keeps to all."""
    try:
        value = msgspec.json.decode(text)
        if validator.is_valid(value):
            return None
    except (ValueError, RecursionError) as error:
        return None, f"It cannot be compared with the schema: {error}"[:LONGEST]
    first = min(validator.iter_errors(value), key=lambda error: len(error.instance_path))
    path = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in first.instance_path)
    return path or None, str(first.message)[:LONGEST]


def validator_of(documents: Documents) -> Any:
    """What checks values against a schema. It fetches nothing, and shows no value in its words."""
    import jsonschema_rs

    def retrieve(uri: str) -> Any:
        return documents.document(uri)

    root = documents.root
    draft = jsonschema_rs.Draft7Validator if "$schema" not in root else jsonschema_rs.validator_for
    try:
        return draft(
            root,
            validate_formats=False,
            retriever=retrieve,
            mask="the value",
            base_uri=documents.base,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise SchemaRefused(f"schema {documents.id}: it is no JSON Schema: {error}") from error
