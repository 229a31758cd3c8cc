"""Are the files of a table still on disk as they were committed? Names, sizes and footers; no rows are read."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.counting import counted
from penstock.operate.audit.findings import Finding, off_by
from penstock.operate.audit.scope import DEEP
from penstock.operate.audit.snapshot import File, Snapshot
from penstock.operate.audit.tablelog import TableLog


def file_findings(log: TableLog) -> Iterator[Finding]:
    """A finding for every file that is gone or has changed, as far as it may hold rows in question."""
    for file in log.snapshot.files():
        held = log.aftermath.held.get(file.path)
        if held is None or not held.origins.isdisjoint(log.scope.keys):  # None: from before the log begins
            yield from _stands(log.sink, log.snapshot, file)


def _stands(sink: str, snapshot: Snapshot, file: File) -> Iterator[Finding]:
    place = file.place(snapshot.table)
    try:
        size = place.stat().st_size
    except FileNotFoundError:
        what = f"sink {sink}: file {file.path} is gone from the disk, with {counted(file.rows or 0, 'row')}."
        yield Finding("lost", what, sink, file.rows or 0, "Restore it from a backup.", rows_decide=True)
        return
    if size != file.size:
        yield _changed(sink, snapshot, file, size)


def _changed(sink: str, snapshot: Snapshot, file: File, size: int) -> Finding:
    what = f"sink {sink}: file {file.path} has {size:,} bytes instead of {file.size:,}"
    rows = _footer(snapshot, file)
    if rows is None or file.rows is None or rows == file.rows:
        more = "and cannot be read" if rows is None else "and as many rows as it should"
        return Finding("unproven", f"{what} {more}.", sink, file.rows or 0, DEEP, rows_decide=rows is not None)
    return off_by(
        rows - file.rows, f"{what}, and {counted(rows, 'row')} instead of {file.rows:,}.", sink, "Restore it."
    )


def _footer(snapshot: Snapshot, file: File) -> int | None:
    """The rows that the file itself says it has, or None if it is no whole Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(file.place(snapshot.table)).num_rows)
    except (OSError, pa.ArrowException):
        return None
