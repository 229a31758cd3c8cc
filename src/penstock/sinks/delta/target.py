"""The Delta table as a batch sees it: the columns of its files, and what the table was when they were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from penstock.rows import LINEAGE
from penstock.sinks.delta.fit import loose
from penstock.sinks.delta.types import arrow_field, delta_field

if TYPE_CHECKING:
    from penstock.sinks.contract import Writer
    from penstock.sinks.delta.state import TableState

Lineage = Literal["columns", "struct"]
SOURCE_STRUCT = "_source"
_SOURCE = pa.struct([pa.field(field.name.removeprefix("_"), field.type) for field in LINEAGE])


@dataclass(frozen=True)
class DeltaTarget:
    """Small and picklable: goes to the tasks, and as JSON into the manifest."""

    table: str
    table_id: str
    columns: pa.Schema
    """The columns that the files hold (partition columns too, though these stand in the log), typed as the table's."""
    partition_by: tuple[str, ...]
    """Every partition column of the table, also one that the data does not have: its value is null."""
    lineage: Lineage | None
    add_columns: tuple[dict[str, Any], ...]
    """Columns, as the log writes them, that the table gains just before the commit."""
    configuration: dict[str, str]
    protocol: dict[str, Any]

    @property
    def extras(self) -> tuple[str, ...]:
        return ()

    def writer(self, tag: str) -> Writer:
        from penstock.sinks.delta.writer import DeltaWriter

        return DeltaWriter(self, tag)

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "table_id": self.table_id,
            "columns": [delta_field(field) for field in self.columns],
            "partition_by": list(self.partition_by),
            "add_columns": list(self.add_columns),
            "configuration": self.configuration,
            "protocol": self.protocol,
        }


def with_lineage(columns: pa.Schema, lineage: Lineage | None) -> pa.Schema:
    """The columns of the table: the data's, then where each row came from.

    Lineage is nullable in the table, so that other writers (a MERGE, a backfill) may leave it out. NOT NULL inside a
    struct or an array is the decoder's to hold: as a table's constraint Spark takes it only in part, and delta-rs
    cannot read a null struct that has such a field.
    """
    data = [pa.field(field.name, loose(field.type), field.nullable) for field in columns]
    if lineage is None:
        return pa.schema(data)
    return pa.schema([*data, *(LINEAGE if lineage == "columns" else [pa.field(SOURCE_STRUCT, _SOURCE)])])


def packed(rows: pa.RecordBatch, lineage: Lineage | None) -> pa.RecordBatch:
    """The rows with their lineage as the table has it: as columns, or as one struct."""
    if lineage != "struct":
        return rows
    origin = pa.StructArray.from_arrays([rows[field.name] for field in LINEAGE], fields=list(_SOURCE))
    data = [field for field in rows.schema if field.name not in LINEAGE.names]
    arrays = [*(rows[field.name] for field in data), origin]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*data, pa.field(SOURCE_STRUCT, _SOURCE)]))


def written_columns(wanted: pa.Schema, state: TableState, added: tuple[dict[str, Any], ...]) -> pa.Schema:
    """The wanted columns, each with the type and nullability that the table gives it."""
    known = {field["name"]: field for field in (*state.fields, *added)}
    return pa.schema([arrow_field(known[name]) for name in wanted.names])
