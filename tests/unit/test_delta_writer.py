"""The writer in the task: what fits, what does not, and how much it holds."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.rows import DEAD_LETTER
from penstock.sinks.contract import Misfit
from penstock.sinks.delta import part as part_module
from penstock.sinks.delta.fit import shaped
from penstock.sinks.delta.target import DeltaTarget
from penstock.sinks.delta.writer import DeltaWriter


def target(folder: Path, columns: pa.Schema, partition_by: tuple[str, ...] = ()) -> DeltaTarget:
    return DeltaTarget(
        table=str(folder),
        table_id="id",
        columns=columns,
        partition_by=partition_by,
        lineage=None,
        add_columns=(),
        configuration={},
        protocol={},
    )


def written(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def write(folder: Path, columns: pa.Schema, rows: list[dict[str, Any]]) -> list[tuple[int, str | None]]:
    """Write rows whose types are the table's, but nullable throughout; the misfits as (row, field)."""
    writer = DeltaWriter(target(folder, columns), "t")
    loose = pa.schema([pa.field(field.name, _loose(field.type)) for field in columns])
    misfits = writer.write(pa.RecordBatch.from_pylist(rows, schema=loose))
    writer.close()
    return [(misfit.row, misfit.field) for misfit in misfits]


def _loose(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _loose(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _loose(kind.item_type))
    return pa.list_(_loose(kind.value_type)) if pa.types.is_list(kind) else kind


def test_a_null_in_a_not_null_column_comes_back_and_the_rest_is_written(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.string())])
    rows: list[dict[str, Any]] = [{"id": 1, "x": None}, {"id": None, "x": "b"}, {"id": 3, "x": "c"}]
    assert write(tmp_path, columns, rows) == [(1, "/id")]
    assert written(tmp_path) == [rows[0], rows[2]]


STRICT = pa.struct([pa.field("os", pa.string(), nullable=False)])


@pytest.mark.parametrize(
    ("kind", "values", "misfits"),
    [
        (STRICT, [{"os": "a"}, {"os": None}, None], [(1, "/c/os")]),
        (pa.list_(pa.field("element", pa.int64(), nullable=False)), [[1], [], None, [1, None]], [(3, "/c/1")]),
        (pa.list_(pa.field("element", STRICT)), [[{"os": "a"}, None], [{"os": "a"}, {"os": None}]], [(1, "/c/1/os")]),
        (
            pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False)),
            [[("a", 1)], [("a", 1), ("b", None)], None],
            [(1, "/c/1/value")],
        ),
    ],
)
def test_a_null_inside_is_found_at_any_depth(
    tmp_path: Path, kind: pa.DataType, values: list[Any], misfits: list[tuple[int, str]]
) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("c", kind)])
    rows = [{"id": number, "c": value} for number, value in enumerate(values)]
    assert write(tmp_path, columns, rows) == misfits
    bad = {row for row, _ in misfits}
    assert [row["id"] for row in written(tmp_path)] == [number for number in range(len(rows)) if number not in bad]


def test_rows_are_brought_into_the_tables_order_inside_structs() -> None:
    inner = pa.struct(
        [pa.field("a", pa.int64()), pa.field("b", pa.list_(pa.struct([("y", pa.int64()), ("x", pa.string())])))]
    )
    wanted = pa.struct(
        [
            pa.field("b", pa.list_(pa.field("element", pa.struct([("x", pa.string()), ("y", pa.int64())])))),
            pa.field("a", pa.int64(), nullable=False),
        ]
    )
    values = [{"a": 1, "b": [{"y": 1, "x": "p"}, None]}, None, {"a": 3, "b": None}, {"a": 4, "b": []}]
    array = pa.array([None, *values], inner).slice(1)
    got = shaped(array, wanted)
    assert got.type == wanted
    assert got.to_pylist() == [None if v is None else {"b": v["b"], "a": v["a"]} for v in values]
    got.validate(full=True)


@pytest.mark.parametrize("start", [0, 1])
def test_maps_are_shaped_too(start: int) -> None:
    loose = pa.map_(pa.string(), pa.struct([("b", pa.int64()), ("a", pa.int64())]))
    wanted = pa.map_(pa.string(), pa.field("value", pa.struct([("a", pa.int64()), ("b", pa.int64())])))
    array = pa.array([[("k", {"a": 1, "b": 2})], None, [], [("x", None)]], loose).slice(start)
    got = shaped(array, wanted)
    got.validate(full=True)
    assert got.to_pylist() == array.to_pylist()


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    writer = DeltaWriter(target(tmp_path, columns), "t")
    assert writer.write(pa.RecordBatch.from_pydict({"id": pa.array([], pa.int64())})) == []
    assert [
        misfit.row for misfit in writer.write(pa.RecordBatch.from_pydict({"id": pa.array([None], pa.int64())}))
    ] == [0]
    assert (writer.close(), list(tmp_path.iterdir())) == ([], [])


def test_row_groups_are_bounded_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_module, "GROUP_BYTES", 100_000)
    columns = pa.schema([pa.field("c", pa.binary())])
    writer = DeltaWriter(target(tmp_path, columns), "t")
    writer.write(pa.RecordBatch.from_pydict({"c": [bytes([n % 250]) * 10_000 for n in range(100)]}))
    [file] = writer.close()
    footer = pq.read_metadata(tmp_path / file.path)
    assert (file.rows, footer.num_rows, footer.num_row_groups) == (100, 100, 12)


def test_no_more_than_the_limit_is_held_over_all_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sinks.delta.writer.HELD_BYTES", 200_000)
    columns = pa.schema([pa.field("c", pa.binary()), pa.field("p", pa.int32())])
    writer = DeltaWriter(target(tmp_path, columns, ("p",)), "t")
    most = 0
    for start in range(20):
        values = {"c": [b"x" * 1000] * 60, "p": pa.array([(start + n) % 30 for n in range(60)], pa.int32())}
        writer.write(pa.RecordBatch.from_pydict(values))
        most = max(most, sum(part.held_bytes for part in writer.parts.values()))
    assert most <= 200_000
    assert sum(file.rows for file in writer.close()) == 1200


def test_values_beyond_the_open_files_wait_on_disk_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.sinks.delta.writer.OPEN_PARTS", 3)
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("p", pa.string())])
    writer = DeltaWriter(target(tmp_path, columns, ("p",)), "t")
    for start in range(0, 100, 10):
        ids = range(start, start + 10)
        writer.write(pa.RecordBatch.from_pydict({"id": ids, "p": [f"v{n % 7}" if n % 7 else None for n in ids]}))
        assert len(writer.parts) == 3
    files = writer.close()
    assert sorted(str(file.partition_values["p"]) for file in files) == ["None", *(f"v{n}" for n in range(1, 7))]
    found = sorted((row["id"], row["p"]) for row in written(tmp_path))
    assert found == [(n, f"v{n % 7}" if n % 7 else None) for n in range(100)]


def test_a_target_travels_to_the_task_and_into_the_manifest(tmp_path: Path) -> None:
    here = target(tmp_path, DEAD_LETTER)
    there = pickle.loads(pickle.dumps(here))
    assert there == here
    assert there.to_json()["columns"][0] == {"name": "topic", "type": "string", "nullable": True, "metadata": {}}


def test_a_misfit_says_why() -> None:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    writer = DeltaWriter(target(Path(), columns), "t")
    found = writer.write(pa.RecordBatch.from_pydict({"id": pa.array([None], pa.int64())}))
    assert found == [Misfit(0, "/id", "The table's column is NOT NULL, and the value is null.")]
