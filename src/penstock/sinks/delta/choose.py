"""Which committer a table gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, Unpack

from penstock.errors import SinkRefused
from penstock.paths import is_catalog_name
from penstock.sinks.contract import Committer
from penstock.sinks.delta.auto import AutoDelta
from penstock.sinks.delta.by_spark import SparkDeltaCommitter
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.sinks.delta.place import Session
from penstock.sinks.delta.target import Lineage


class Settings(TypedDict, total=False):
    """What both committers are told of the table."""

    partition_by: Sequence[str]
    schema: Literal["evolve", "fixed"]
    lineage: Lineage | None
    properties: dict[str, str] | None


def committer(
    name: str,
    table: str,
    session: Session | None,
    *,
    writer: Literal["auto", "spark"] = "auto",
    **settings: Unpack[Settings],
) -> Committer:
    """The committer of this table: Spark's, or the one that chooses for each batch."""
    named = is_catalog_name(table)
    if session is None and (named or writer == "spark"):
        raise SinkRefused(f"sink {name}: table {table} needs Spark's writer, and there is no session.")
    if session is None:
        return DeltaCommitter(name, table, **settings)
    why = "a table of the catalog" if named else "the pipeline file says `writer: spark`"
    spark = SparkDeltaCommitter(name, table, session, why=why, **settings)
    if named or writer == "spark":
        return spark
    return AutoDelta(DeltaCommitter(name, table, **settings), spark)
