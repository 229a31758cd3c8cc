"""History: how a pipeline went, for weeks. Small files in `<state>/progress`, read by any process, without Spark.

    2026-11-15.jsonl              today, a line for each thing that is kept; appended to, never rewritten
    2026-11-14.batches.parquet    a day that is over, and .lags and .runs beside it

`batches` has a row for a batch; batches that follow one another within ten seconds share one, so that a day has at most
some thousand rows however short the batches are. (Each single batch is in the ledger.) `lags` has a row a minute for
each topic, and one for all with an empty `topic`. `runs` has starts, ends, failures, waits.

A crash costs what was not written yet, some seconds at most; a line that was cut off is left out by the reader.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from penstock import files
from penstock.observe.lag import Lag

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.observe.events import BatchCommitted

Kind = Literal["batches", "lags", "runs"]
KINDS: tuple[Kind, ...] = ("batches", "lags", "runs")
TOGETHER_SECONDS = 10.0
LAG_SECONDS = 60.0
DAY_SECONDS = 86_400.0


def schema(kind: Kind) -> pa.Schema:
    """The columns of a table. `at` is UTC; maps are by code, name, phase or sink."""
    import pyarrow as pa

    at, counts = ("at", pa.timestamp("us", "UTC")), pa.map_(pa.string(), pa.int64())
    whole, number, text = pa.int64(), pa.float64(), pa.string()
    columns: dict[Kind, list[tuple[str, Any]]] = {
        "batches": [
            at,
            *((name, whole) for name in ("generation", "first_batch", "last_batch", "batches", "rows", "written")),
            *((name, counts) for name in ("rejected", "dropped", "sinks")),
            ("seconds", number),
            ("longest_seconds", number),
            ("phases", pa.map_(text, number)),
            ("sink_seconds", pa.map_(text, number)),
            *((name, whole) for name in ("files", "bytes", "replayed", "read_limit")),
        ],
        "lags": [
            at,
            ("topic", text),
            *((name, whole) for name in ("partitions", "behind", "rows", "offsets", "lost", "held")),
            *((f"{name}_seconds", number) for name in ("lag", "catch_up", "runway")),
            *((f"{name}_per_second", number) for name in ("arrival", "read")),
            ("trend", text),
            ("hot", pa.list_(text)),
        ],
        "runs": [at, ("event", text), ("run", text), ("generation", whole), ("text", text)],
    }
    return pa.schema(columns[kind])


def read(state: Path, kind: Kind, since: float | None = None, until: float | None = None) -> pa.Table:
    """The rows of one table between two times (seconds since 1970), in order. `state` is `Pipeline.workplace`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = schema(kind)
    parts = [of_day(state, day, kind) for day in days(state, since, until)]
    table = pa.concat_tables(parts) if parts else columns.empty_table()
    at = pa.timestamp("us", "UTC")
    for bound, compare in ((since, pc.greater_equal), (until, pc.less)):
        if bound is not None:
            table = table.filter(compare(table["at"], pa.scalar(round(bound * 1e6), at)))
    return table.sort_by("at")


def batches(state: Path, since: float | None = None, until: float | None = None) -> pa.Table:
    """Batches: rows, seconds by phase, rejects by code, files and bytes."""
    return read(state, "batches", since, until)


def lags(state: Path, since: float | None = None, until: float | None = None) -> pa.Table:
    """Lag by topic, and of all topics where `topic` is empty."""
    return read(state, "lags", since, until)


def runs(state: Path, since: float | None = None, until: float | None = None) -> pa.Table:
    """What happened to the process: `started`, `done`, `stopped`, `failed`, `waiting`, `recovered`, `lost`."""
    return read(state, "runs", since, until)


def folder_of(state: Path) -> Path:
    return state / "progress"


@dataclass
class Together:
    """Batches that share a row."""

    since: float
    row: dict[str, Any] = field(default_factory=dict)

    def add(self, event: BatchCommitted, generation: int | None, read_limit: int | None, at: float) -> None:
        had = self.row
        self.row = {
            "at": at,
            "generation": generation,
            "first_batch": had.get("first_batch", event.batch_id),
            "last_batch": event.batch_id,
            "batches": had.get("batches", 0) + 1,
            "rows": had.get("rows", 0) + event.read,
            "written": had.get("written", 0) + event.written,
            "rejected": _added(had.get("rejected", {}), event.rejected),
            "dropped": _added(had.get("dropped", {}), event.dropped),
            "sinks": _added(had.get("sinks", {}), {name: sink["rows"] for name, sink in event.sinks.items()}),
            "seconds": had.get("seconds", 0.0) + event.seconds,
            "longest_seconds": max(had.get("longest_seconds", 0.0), event.seconds),
            "phases": _added(had.get("phases", {}), event.phases),
            "sink_seconds": _added(had.get("sink_seconds", {}), event.sink_seconds),
            "files": had.get("files", 0) + event.files,
            "bytes": had.get("bytes", 0) + event.bytes,
            "replayed": had.get("replayed", 0) + event.replayed,
            "read_limit": read_limit,
        }


class History:
    """Writes the history of one pipeline. For one thread of one process: the one that holds the lease."""

    def __init__(self, state: Path, keep_seconds: float, clock: Any = time.time) -> None:
        self.folder, self.keep, self.clock = folder_of(state), keep_seconds, clock
        self._open: Together | None = None
        self._lag_at = -float("inf")
        self._day = ""

    def batch(self, event: BatchCommitted, generation: int | None, read_limit: int | None) -> None:
        """A batch was committed."""
        now = self.clock()
        self._open = self._open or Together(now - event.seconds)
        self._open.add(event, generation, read_limit, now)
        self.tick()

    def lag(self, lag: Lag) -> None:
        """The lag was measured; once a minute it is kept."""
        if lag.at - self._lag_at < LAG_SECONDS or lag.total is None:
            return
        self._lag_at = lag.at
        rows = [_lag_row(each, lag.at) for each in (*lag.topics, lag.total)]
        self._append([("lags", row) for row in rows])

    def run(self, event: str, run: str, generation: int | None, text: str = "") -> None:
        """Something happened to the process."""
        at = self.clock()
        self._append([("runs", {"at": at, "event": event, "run": run, "generation": generation, "text": text})])

    def tick(self, *, force: bool = False) -> None:
        """Write what has waited long enough for company."""
        if self._open is not None and (force or self.clock() - self._open.since >= TOGETHER_SECONDS):
            row, self._open = self._open.row, None
            self._append([("batches", row)])

    def tidy(self) -> None:
        """Turn days that are over into Parquet, and remove what is older than is to be kept."""
        today = _day_of(self.clock())
        oldest = _day_of(self.clock() - self.keep)
        for day in sorted({path.name[:10] for path in self.folder.glob("????-??-??.*")}):
            if day < oldest:
                files.remove(self.folder.glob(f"{day}.*"))
            elif day < today and (self.folder / f"{day}.jsonl").exists():
                fold(self.folder, day)

    def _append(self, rows: Iterable[tuple[Kind, dict[str, Any]]]) -> None:
        day = _day_of(self.clock())
        if day != self._day:
            self._day = day
            self.folder.mkdir(parents=True, exist_ok=True)
            self.tidy()
            unfold(self.folder, day)
        path = self.folder / f"{day}.jsonl"
        lines = b"".join(msgspec.json.encode({"kind": kind, **row}) + b"\n" for kind, row in rows)
        with path.open("ab+") as file:
            if file.tell() and not _ends_whole(path):
                lines = b"\n" + lines  # a crash cut the last line off
            file.write(lines)


def fold(folder: Path, day: str) -> None:
    """A day's lines as Parquet. While the lines are there they rule; so a crash in between changes nothing."""
    import pyarrow.parquet as pq

    for kind in KINDS:
        path = folder / f"{day}.{kind}.parquet"
        draft = path.with_name(f".{path.name}.draft")
        pq.write_table(_from_lines(folder / f"{day}.jsonl", kind), draft, compression="zstd")
        files.sync(draft)
        draft.replace(path)
    (folder / f"{day}.jsonl").unlink()


def unfold(folder: Path, day: str) -> None:
    """A day that was over and is not any more, as the clock was set back: its rows as lines again, to go on with."""
    lines = folder / f"{day}.jsonl"
    if lines.exists() or not any(folder.glob(f"{day}.*.parquet")):
        return
    rows = [
        {"kind": kind, **row, "at": row["at"].timestamp()}
        for kind in KINDS
        for row in of_day(folder.parent, day, kind).to_pylist(maps_as_pydicts="strict")
    ]
    draft = lines.with_name(f".{lines.name}.draft")
    draft.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    draft.replace(lines)


def of_day(state: Path, day: str, kind: Kind) -> pa.Table:
    """The rows of one day, whether it is over or not."""
    import pyarrow.parquet as pq

    folder = folder_of(state)
    lines = folder / f"{day}.jsonl"
    if lines.exists():
        return _from_lines(lines, kind)
    try:
        return pq.read_table(folder / f"{day}.{kind}.parquet", schema=schema(kind))
    except FileNotFoundError:  # it was removed meanwhile: too old
        return schema(kind).empty_table()


def _from_lines(path: Path, kind: Kind) -> pa.Table:
    import pyarrow as pa

    columns = schema(kind)
    rows = [_typed(row, columns) for row in _lines(path) if row.get("kind") == kind]
    return pa.Table.from_pylist(rows, schema=columns)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    rows = map(row_of, (files.read(path) or b"").splitlines())
    return (row for row in rows if row is not None)


def row_of(line: bytes) -> dict[str, Any] | None:
    """What a line says; None where a crash cut it off."""
    try:
        row = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("at"), int | float) else None


def appended(path: Path, since: int) -> tuple[list[bytes], int, bool]:
    """Whole lines behind this byte, the byte behind them, and whether one follows that has no end yet."""
    with path.open("rb") as file:
        file.seek(since)
        whole, newline, rest = file.read().rpartition(b"\n")
    return whole.split(b"\n") if newline else [], since + len(whole) + len(newline), bool(rest)


def _typed(row: dict[str, Any], columns: pa.Schema) -> dict[str, Any]:
    made = {name: row.get(name) for name in columns.names}
    made["at"] = round(row["at"] * 1e6)
    return {name: list(value.items()) if isinstance(value, dict) else value for name, value in made.items()}


def days(state: Path, since: float | None = None, until: float | None = None) -> list[str]:
    """The days of which anything is kept, between two times."""
    known = sorted({path.name[:10] for path in folder_of(state).glob("????-??-??.*")})
    first = "" if since is None else _day_of(since)
    last = "~" if until is None else _day_of(until)
    return [day for day in known if first <= day <= last]


def _day_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def _lag_row(lag: Any, at: float) -> dict[str, Any]:
    same = ("topic", "partitions", "behind", "rows", "offsets", "lost", "held", "catch_up_seconds", "runway_seconds")
    more = ("arrival_per_second", "read_per_second", "trend", "hot")
    return {"at": at, "lag_seconds": lag.seconds, **{name: getattr(lag, name) for name in (*same, *more)}}


def _added(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
