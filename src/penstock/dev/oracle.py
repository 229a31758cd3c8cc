"""The oracle: counts what a pipeline did by reading topic and tables itself, never by asking the pipeline.

The topic is read with a Kafka client of its own, the tables' Parquet files with DuckDB. Every record of the topic must
be in the table or in the dead letters, exactly once: (topic, partition, offset) is its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from penstock.dev.records import read
from penstock.errors import SetupFailed

Name = tuple[str, int, int]
"""Topic, partition, offset of a record."""


@dataclass(frozen=True)
class Count:
    """What was found."""

    read: int
    written: int
    rejected: dict[str, int]
    lost: list[Name]
    doubled: list[Name]
    misjudged: list[tuple[Name, str | None, str | None]]
    """Records that ended elsewhere than they deserve: (name, expected code, found code)."""

    @property
    def exact(self) -> bool:
        return not (self.lost or self.doubled or self.misjudged)


def count(
    bootstrap: str,
    topics: Iterable[str],
    table: Path,
    dead_letters: Path,
    expected: Callable[[bytes | None], str | None] | None = None,
) -> Count:
    """Compare the topics with the table and the dead letters. `expected` gives the code a value deserves."""
    there: dict[Name, str | None] = {}
    for topic in topics:
        for record in read(bootstrap, topic):
            there[topic, record.partition, record.offset] = expected(record.value) if expected else None
    good = Counter(rows(table, "_topic, _partition, _offset"))
    dead = rows(dead_letters, 'topic, partition, "offset", code')
    found = good + Counter((topic, partition, offset) for topic, partition, offset, _ in dead)
    codes: dict[Name, str | None] = {(topic, partition, offset): code for topic, partition, offset, code in dead}
    wrong = [(name, code, codes.get(name)) for name, code in there.items() if expected and codes.get(name) != code]
    return Count(
        read=len(there),
        written=sum(good.values()),
        rejected=dict(Counter(code for *_, code in dead)),
        lost=[name for name in there if name not in found],
        doubled=[name for name, times in found.items() if times > 1 or name not in there],
        misjudged=wrong,
    )


def rows(table: Path, columns: str) -> list[tuple[Any, ...]]:
    """These columns of every row of a Delta table, read by DuckDB from the files of its newest version."""
    try:
        import duckdb
    except ImportError as error:
        raise SetupFailed("The count needs DuckDB.", remedy="pip install duckdb") from error

    found = files(table)
    return duckdb.execute(f"SELECT {columns} FROM read_parquet(?)", [found]).fetchall() if found else []


def files(table: Path) -> list[str]:
    """The Parquet files of a Delta table's newest version, as DuckDB takes them; none if there is no table."""
    from deltalake import DeltaTable

    uris = DeltaTable(str(table)).file_uris() if DeltaTable.is_deltatable(str(table)) else []
    return [re.sub(r"([*?\[])", r"[\1]", unquote(uri)) for uri in uris]  # DuckDB takes these characters for patterns
