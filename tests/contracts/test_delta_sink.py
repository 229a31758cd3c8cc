"""The sink contract, run on Delta; then what is Delta's own: partitions, misfits, tables of other makers."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, TableFeatures, write_deltalake
from deltalake import Schema as DeltaSchema
from deltalake.schema import PrimitiveType

from penstock.rows import LINEAGE
from penstock.sinks.contract import Committer
from penstock.sinks.delta import Delta
from penstock.testing.sink_suite import COLUMNS, SinkSuite, rows


@dataclass(frozen=True)
class DeltaHarness:
    """A Delta table on a local disk, read by delta-rs and changed by delta-rs."""

    table: str

    def committer(self, schema: str = "evolve") -> Committer:
        return Delta.model_validate({"table": self.table, "schema": schema}).committer("lake")

    def another(self) -> DeltaHarness:
        return DeltaHarness(f"{self.table}-{uuid.uuid4().hex}")

    def visible(self) -> list[dict[str, Any]]:
        if not DeltaTable.is_deltatable(self.table):
            return []
        return list(pa.table(DeltaTable(self.table).scan()).to_pylist())

    def lose(self, file: str) -> None:
        (Path(self.table) / file).unlink()

    def breaking_changes(self) -> dict[str, Callable[[], None]]:
        return {
            "dropped": lambda: shutil.rmtree(self.table),
            "made anew": self._make_anew,
            "made anew and grown": self._make_anew_and_grow,
            "a column dropped": lambda: self._overwrite(rows(1).drop_columns(["tags"])),
            "a column retyped": lambda: self._overwrite(_retyped(rows(1))),
            "a feature added": lambda: self._feature(TableFeatures.DeletionVectors),
            "a constraint added": lambda: DeltaTable(self.table).alter.add_constraint({"positive": "id >= 0"}),
        }

    def harmless_changes(self) -> dict[str, Callable[[], None]]:
        return {
            "appended to": lambda: write_deltalake(self.table, pa.table(rows(1, start=7000)), mode="append"),
            "compacted": lambda: _done(DeltaTable(self.table).optimize.compact()),
            "a nullable column added": lambda: DeltaTable(self.table).alter.add_columns(
                Field("later", PrimitiveType("string"))
            ),
        }

    def _make_anew(self) -> None:
        shutil.rmtree(self.table)
        DeltaTable.create(self.table, DeltaSchema.from_arrow(pa.schema([*COLUMNS, *LINEAGE])))

    def _make_anew_and_grow(self) -> None:
        versions = DeltaTable(self.table).version() + 3
        self._make_anew()
        for _ in range(versions):
            DeltaTable(self.table).alter.set_table_properties({"delta.appendOnly": "false"})

    def _overwrite(self, batch: pa.RecordBatch) -> None:
        write_deltalake(self.table, pa.table(batch), mode="overwrite", schema_mode="overwrite")

    def _add_a_column(self) -> None:
        DeltaTable(self.table).alter.add_columns(Field("later", PrimitiveType("string")))

    def _feature(self, feature: TableFeatures) -> None:
        DeltaTable(self.table).alter.add_feature(feature, allow_protocol_versions_increase=True)


def _done(_: Any) -> None:
    """For calls whose answer is of no use here."""


def _retyped(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.set_column(0, pa.field("id", pa.int32()), batch["id"].cast(pa.int32()))


class TestDelta(SinkSuite):
    @pytest.fixture
    def harness(self, table: str) -> DeltaHarness:
        return DeltaHarness(table)
