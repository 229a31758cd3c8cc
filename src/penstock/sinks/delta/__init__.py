"""sink delta: rows into a Delta table. Tasks write Parquet files, the driver commits them: by itself, or by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from penstock.options import Field, Options, Text
from penstock.paths import Table
from penstock.registry import sinks

if TYPE_CHECKING:
    from penstock.sinks.contract import Committer
    from penstock.sinks.delta.place import Session


@sinks.register("delta")
class Delta(Options):
    """A Delta table, written exactly once: every batch is one commit that recognises itself."""

    table: Table = Field(
        description="The table's folder: a path, with a `/` in it; or its name in Spark's catalog, `sales.orders`. "
        "Created if absent, else checked."
    )
    partition_by: tuple[str, ...] = Field((), strict=False, description="Partition columns, at creation only.")
    schema_: Literal["evolve", "fixed"] = Field(
        "evolve", alias="schema", description="`evolve`: the table may gain nullable columns. `fixed`: it may not."
    )
    lineage: Literal["columns", "struct"] = Field(
        "columns", description="`_topic, _partition, _offset, _timestamp`, or one struct `_source` of these."
    )
    writer: Literal["auto", "spark"] = Field(
        "auto",
        description="`auto`: penstock commits where that is right for the table, else Spark does. `spark`: Spark does.",
    )
    properties: dict[str, Text] = Field(default_factory=dict, description="Table properties, at creation only.")

    def committer(self, name: str, session: Session | None = None) -> Committer:
        """The committer of the sink `name`. `table` is an absolute path by now, or a catalog name.

        Spark's writer needs `session`; without one only penstock's own commit can be had.
        """
        from penstock.sinks.delta.choose import committer

        return committer(
            name,
            self.table,
            session,
            writer=self.writer,
            partition_by=self.partition_by,
            schema=self.schema_,
            lineage=self.lineage,
            properties=self.properties,
        )
