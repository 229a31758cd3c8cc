"""Whether a drain was right: DuckDB reads the tables and holds them against what was produced."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.topic import Truth
from penstock.dev.oracle import files


@dataclass(frozen=True)
class Found:
    """What a drain left in its tables."""

    good: int
    """Rows of the table that are good events."""
    amount: Decimal
    """The sum over them."""
    accepted: dict[str, int]
    """Broken events in the table as if they were good, by the code they deserve."""
    rejected: int
    distinct: int
    """Different records in both tables."""

    @property
    def rows(self) -> int:
        return self.good + sum(self.accepted.values()) + self.rejected


def look(table: Path, dead_letters: Path, names: str, truth: Truth) -> Found:
    """Count. `names` are the dead letters' columns for partition and offset."""
    planted = pa.table(
        {
            "partition": pa.array([partition for partition, _ in truth.bad], pa.int32()),
            "at": pa.array([offset for _, offset in truth.bad], pa.int64()),
            "code": pa.array(list(truth.bad.values()), pa.string()),
        }
    )
    with duckdb.connect() as base:
        base.register("planted", planted)
        base.execute("CREATE TABLE lake AS SELECT _partition, _offset, amount FROM read_parquet(?)", [files(table)])
        base.execute(f"CREATE TABLE dead AS SELECT {names} FROM read_parquet(?)", [files(dead_letters)])
        both = "FROM lake LEFT JOIN planted ON lake._partition = planted.partition AND lake._offset = planted.at"
        [(good, amount)] = _all(base, f"SELECT count(*), sum(amount) {both} WHERE code IS NULL")
        accepted = dict(_all(base, f"SELECT code, count(*) {both} WHERE code IS NOT NULL GROUP BY code"))
        [(rejected,)] = _all(base, "SELECT count(*) FROM dead")
        seen = "SELECT _partition, _offset FROM lake UNION SELECT * FROM dead"
        [(distinct,)] = _all(base, f"SELECT count(*) FROM ({seen})")
    return Found(good, amount, accepted, rejected, distinct)


def codes(dead_letters: Path) -> Counter[str]:
    """Penstock's rejects by code."""
    with duckdb.connect() as base:
        return Counter(
            dict(
                base.execute(
                    "SELECT code, count(*) FROM read_parquet(?) GROUP BY code", [files(dead_letters)]
                ).fetchall()
            )
        )


def problems(found: Found, truth: Truth) -> list[str]:
    """What must hold of every variant: no record lost or doubled, no good one rejected."""
    told = []
    if found.rows != truth.events or found.distinct != truth.events:
        told.append(f"{found.rows:,} rows of {found.distinct:,} records, but {truth.events:,} were produced")
    if found.good != truth.good:
        told.append(f"{found.good:,} good events in the table instead of {truth.good:,}")
    return told


def _all(base: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return list(base.execute(query).fetchall())
