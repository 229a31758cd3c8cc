"""The table of gaps: records that the broker deleted before they were read, and that a run was told to go on without.

`<state>/gaps/*.parquet`, a file for each batch that passed over some; DuckDB, pandas and Spark read the folder as a
table. The ranges are exact, and in the ledger too. Times and bytes are what could still be found out about them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import files

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Gap:
    """A range that was never read. Times are seconds since 1970."""

    at: float
    """When it was noticed."""
    pipeline: str
    generation: int
    batch_id: int
    topic: str
    partition: int
    start: int
    end: int
    """One past the last offset that is gone."""
    written_after: float | None = None
    """The records came to the broker after this moment, as far as anybody watched."""
    written_before: float | None = None
    """The timestamp of the first record after the gap."""
    estimated_bytes: int | None = None
    """Of keys and values, by the size of the records around."""

    @property
    def offsets(self) -> int:
        return self.end - self.start


def schema() -> pa.Schema:
    import pyarrow as pa

    time, whole = pa.timestamp("us", "UTC"), pa.int64()
    return pa.schema(
        [
            ("at", time),
            ("pipeline", pa.string()),
            ("generation", pa.int32()),
            ("batch_id", whole),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            *((name, whole) for name in ("start", "end", "offsets")),
            ("written_after", time),
            ("written_before", time),
            ("estimated_bytes", whole),
        ]
    )


def keep(state: Path, gaps: Iterable[Gap]) -> None:
    """Add the gaps of one batch to the table. What is there of this batch already stays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_row(gap) for gap in gaps]
    if not rows:
        return
    body = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), body, compression="zstd")
    name = f"g{rows[0]['generation']}-{rows[0]['batch_id']:09d}.parquet"
    files.create_once(folder_of(state) / name, body.getvalue())


def read(state: Path) -> pa.Table:
    """Every gap, oldest first. `state` is `Pipeline.workplace`. Raises what a damaged file raises."""
    return _together(_part(path) for path in _parts(state))


def read_what_can_be(state: Path) -> tuple[pa.Table, dict[str, str]]:
    """The same of the files that can be read; and of each other one why it cannot."""
    found, wrong = [], {}
    for path in _parts(state):
        try:
            found.append(_part(path))
        except (OSError, ValueError) as error:
            wrong[path.name] = str(error).splitlines()[0]
    return _together(found), wrong


def _parts(state: Path) -> list[Path]:
    return sorted(folder_of(state).glob("*.parquet"))


def _part(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(path, schema=schema())


def _together(parts: Iterable[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables([schema().empty_table(), *parts]).sort_by("at")


def kept(state: Path, generation: int, batch_id: int) -> bool:
    """Is there anything of this batch in the table?"""
    return (folder_of(state) / f"g{generation}-{batch_id:09d}.parquet").exists()


def folder_of(state: Path) -> Path:
    return state / "gaps"


def _row(gap: Gap) -> dict[str, object]:
    row = {**asdict(gap), "offsets": gap.offsets}
    return {name: _micros(value) if isinstance(value, float) else value for name, value in row.items()}


def _micros(at: float) -> int:
    return round(at * 1e6)
