"""Partitioned tables: values of every type, more of them than files may be open, and those that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from penstock.errors import SinkRefused
from penstock.sinks.contract import Frozen
from penstock.sinks.delta import writer as writer_module
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.delta_values import PARTITION_VALUES, batch
from penstock.testing.sink_suite import key


def commit(committer: DeltaCommitter, columns: pa.Schema, *batches: pa.RecordBatch, batch_id: int = 0) -> Frozen:
    target = committer.prepare(columns)
    writer = target.writer("0")
    for rows in batches:
        assert writer.write(rows) == []
    frozen = Frozen.from_json(Frozen(target.to_json(), tuple(writer.close())).to_json())
    committer.commit(frozen, key(batch_id), {})
    return frozen


@pytest.mark.parametrize("name", PARTITION_VALUES)
def test_partition_values_of_every_type_read_back(name: str, table: str) -> None:
    kind, values = PARTITION_VALUES[name]
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", kind)])
    rows = [{"id": number, "part": value} for number, value in enumerate(values)]
    frozen = commit(DeltaCommitter("lake", table, partition_by=["part"]), columns, batch(columns, rows))
    assert len(frozen.files) == len(values)
    found = pa.table(DeltaTable(table).scan()).to_pylist()
    assert {row["id"]: row["part"] for row in found} == dict(enumerate(values))


def test_file_names_are_flat_whatever_the_value(table: str) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.string())])
    rows = [{"id": 1, "part": "../../a/b"}, {"id": 2, "part": "x=y"}]
    frozen = commit(DeltaCommitter("lake", table, partition_by=["part"]), columns, batch(columns, rows))
    assert all("/" not in file.path and file.path.startswith("part-0-") for file in frozen.files)
    assert {path.name for path in Path(table).iterdir()} == {"_delta_log", *(file.path for file in frozen.files)}


def test_an_empty_string_reads_back_as_null_as_delta_has_it(table: str) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.string())])
    rows: list[dict[str, Any]] = [{"id": 1, "part": ""}, {"id": 2, "part": None}, {"id": 3, "part": "x"}]
    frozen = commit(DeltaCommitter("lake", table, partition_by=["part"]), columns, batch(columns, rows))
    assert sorted(file.rows for file in frozen.files) == [1, 2]
    for found in (pa.table(DeltaTable(table).scan()).to_pylist(), pl.read_delta(table).to_dicts()):
        assert {row["id"]: row["part"] for row in found} == {1: None, 2: None, 3: "x"}


def test_an_empty_string_does_not_fit_a_partition_column_that_is_not_null(table: str) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.string(), nullable=False)])
    writer = DeltaCommitter("lake", table, partition_by=["part"]).prepare(columns).writer("0")
    rows = [{"id": 0, "part": "x"}, {"id": 1, "part": ""}, {"id": 2, "part": "x"}]
    misfits = writer.write(batch(columns, rows))
    assert [(misfit.row, misfit.field) for misfit in misfits] == [(1, "/part")]
    assert [file.rows for file in writer.close()] == [2]


def test_a_day_beyond_the_year_9999_does_not_fit_a_partition_column(table: str) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.date32())])
    writer = DeltaCommitter("lake", table, partition_by=["part"]).prepare(columns).writer("0")
    rows = batch(columns, [{"id": 0}, {"id": 1}])
    far = rows.set_column(1, columns.field("part"), pa.array([10_000_000, 0], pa.int32()).cast(pa.date32()))
    assert [misfit.row for misfit in writer.write(far)] == [0]


def test_two_partition_columns_make_a_file_for_each_pair(table: str) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("a", pa.string()), pa.field("b", pa.int32())])
    rows = [{"id": n, "a": "xy"[n % 2], "b": n % 3 or None} for n in range(60)]
    frozen = commit(DeltaCommitter("lake", table, partition_by=["b", "a"]), columns, batch(columns, rows))
    assert len(frozen.files) == 6
    found = pa.table(DeltaTable(table).scan()).to_pylist()
    assert sorted((row["id"], row["a"], row["b"]) for row in found if row["b"]) == sorted(
        (row["id"], row["a"], row["b"]) for row in rows if row["b"]
    )
    assert sum(row["b"] is None for row in found) == 20


def test_partition_columns_come_last_in_the_file_and_have_no_statistics(table: str) -> None:
    columns = pa.schema([pa.field("part", pa.string()), pa.field("id", pa.int64())])
    rows = [{"id": 7, "part": "x"}]
    frozen = commit(DeltaCommitter("lake", table, partition_by=["part"]), columns, batch(columns, rows))
    assert pq.read_schema(Path(table) / frozen.files[0].path).names[-1] == "part"
    assert '"part"' not in frozen.files[0].stats
    assert '"id":7' in frozen.files[0].stats


def test_five_thousand_values_in_one_task_take_few_open_files(table: str) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.int32())])
    committer = DeltaCommitter("lake", table, partition_by=["part"])
    writer = committer.prepare(columns).writer("0")
    most_open = 0
    for start in range(0, 20_000, 5_000):
        rows = [{"id": start + n, "part": n * 7919 % 5_000} for n in range(5_000)]
        assert writer.write(batch(columns, rows)) == []
        most_open = max(most_open, len(list(Path("/proc/self/fd").iterdir())))
    target = committer.prepare(columns)
    frozen = Frozen(target.to_json(), tuple(writer.close()))
    assert (len(frozen.files), {file.rows for file in frozen.files}) == (5_000, {4})
    assert most_open < writer_module.OPEN_PARTS + 100
    committer.commit(frozen, key(0), {})
    found = pa.table(DeltaTable(table).scan(columns=["id", "part"]))
    assert sorted(found["id"].to_pylist()) == list(range(20_000))
    assert all(row["part"] == row["id"] % 5_000 * 7919 % 5_000 for row in found.slice(0, 1000).to_pylist())


@pytest.mark.parametrize(
    ("partition_by", "says"),
    [
        (["nope"], "there is no such column"),
        (["raw"], "BINARY: no table can be partitioned by it"),
        (["tags"], "ARRAY<STRING>: no table can be partitioned by it"),
    ],
)
def test_a_column_that_cannot_be_a_partition_column_is_refused(partition_by: list[str], says: str, table: str) -> None:
    columns = pa.schema([("id", pa.int64()), ("raw", pa.binary()), ("tags", pa.list_(pa.string()))])
    with pytest.raises(SinkRefused, match=says):
        DeltaCommitter("lake", table, partition_by=partition_by).prepare(columns)
    assert not Path(table).exists()


def test_partition_by_must_agree_with_the_table_unless_it_is_left_out(table: str) -> None:
    columns = pa.schema([("id", pa.int64()), ("a", pa.string()), ("b", pa.string())])
    DeltaCommitter("lake", table, partition_by=["a"]).prepare(columns)
    with pytest.raises(SinkRefused, match=r"partition_by is b, but table .* is partitioned by a"):
        DeltaCommitter("lake", table, partition_by=["b"]).prepare(columns)
    assert DeltaCommitter("lake", table).prepare(columns).partition_by == ("a",)


def test_a_partition_column_that_the_data_lacks_is_null(table: str) -> None:
    columns = pa.schema([("id", pa.int64()), ("part", pa.string())])
    committer = DeltaCommitter("lake", table, partition_by=["part"])
    commit(committer, columns, batch(columns, [{"id": 1, "part": "x"}]))
    fewer = pa.schema([("id", pa.int64())])
    commit(committer, fewer, batch(fewer, [{"id": 2}]), batch_id=1)
    found = pa.table(DeltaTable(table).scan()).to_pylist()
    assert {row["id"]: row["part"] for row in found} == {1: "x", 2: None}
