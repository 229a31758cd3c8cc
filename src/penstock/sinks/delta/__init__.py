"""sink delta: rows into a Delta table. Tasks write the table's own Parquet files, the driver commits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from penstock.errors import SinkRefused
from penstock.options import Field, Options, Text
from penstock.paths import Table
from penstock.registry import sinks

if TYPE_CHECKING:
    from penstock.sinks.contract import Committer


@sinks.register("delta")
class Delta(Options):
    """A Delta table, written exactly once: every batch is one commit that recognises itself."""

    table: Table = Field(description="The table's folder: a path, with a `/` in it. Created if absent, else checked.")
    partition_by: tuple[str, ...] = Field((), strict=False, description="Partition columns, at creation only.")
    schema_: Literal["evolve", "fixed"] = Field(
        "evolve", alias="schema", description="`evolve`: the table may gain nullable columns. `fixed`: it may not."
    )
    lineage: Literal["columns", "struct"] = Field(
        "columns", description="`_topic, _partition, _offset, _timestamp`, or one struct `_source` of these."
    )
    writer: Literal["auto", "spark"] = Field(
        "auto", description="`auto`: files by the worker, commit by delta-rs. (`spark` comes with a later version.)"
    )
    properties: dict[str, Text] = Field(default_factory=dict, description="Table properties, at creation only.")

    def committer(self, name: str) -> Committer:
        """The committer of the sink `name`. `table` is an absolute path by now."""
        from penstock.sinks.delta.committer import DeltaCommitter

        if self.writer == "spark":
            raise SinkRefused(
                f"sink {name}: Spark's writer comes with a later version.",
                data="Nothing was written.",
                remedy=f"Leave out  sinks.{name}.delta.writer",
            )
        return DeltaCommitter(
            name,
            self.table,
            partition_by=self.partition_by,
            schema=self.schema_,
            lineage=self.lineage,
            properties=self.properties,
        )
