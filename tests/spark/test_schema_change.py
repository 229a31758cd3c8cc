"""Schemas that change from batch to batch: tables gain columns, nothing is lost, a replay stays what it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from tests.spark.schema_change_kit import framed, put

from penstock import Check, Delta, Sink, Step
from penstock.errors import SchemaStopped
from penstock.formats.avro import Avro
from penstock.observe.events import Event, PhaseStarted, SchemaChanged, TableEvolved
from penstock.options import Duration
from penstock.schemas.options import RegistryOptions, SchemaChanges
from penstock.testing.batches import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rows(table: Path, columns: str) -> list[tuple[Any, ...]]:
    """These columns of every row, by delta-rs: an older file lacks the newer columns."""
    names = columns.split(", ")
    found = DeltaTable(str(table)).to_pyarrow_table(columns=names).to_pylist()
    return [tuple(row[name] for name in names) for row in found]


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    put(tmp_path, 1)
    registry = RegistryOptions(folder=str(tmp_path / "schemas"), unknown_id_wait=Duration("1 millisecond"))
    return Bench(spark, tmp_path, sections={"registry": registry, "decode": Avro()})


def test_a_table_gains_a_column_with_the_first_rows_that_need_it(bench: Bench) -> None:
    plan = bench.plan()
    bench.write([framed(1, id=1, note="a")], plan=plan)
    put(bench.folder, 2, 3)
    bench.write([framed(2, id=2, note=None, qty=5), framed(1, id=3, note="c"), framed(3, id=4, qty=9)], 1, 1, plan)
    assert sorted(rows(bench.table, "id, note, qty")) == [(1, "a", None), (2, None, 5), (3, "c", 1), (4, None, 9)]
    changed = [event for event in bench.told if isinstance(event, SchemaChanged)]
    assert [(event.old, event.new, event.told) for event in changed] == [
        (1, 2, "/qty is new (INT)"),
        (2, 3, "/note is gone (it was STRING)"),
    ]
    evolved = [event for event in bench.told if isinstance(event, TableEvolved)]
    assert [(event.sink, event.columns) for event in evolved] == [("lake", ("qty",))]


def test_what_cannot_be_read_is_rejected_with_its_schema_id_and_the_rest_is_written(bench: Bench) -> None:
    plan = bench.plan()
    put(bench.folder, 4)
    values = [framed(1, id=1, note="a"), framed(4, id="x", note=None), b"\x00\x00\x00\x03\xe7rest", b"\x07", None]
    bench.write([*values, framed(1, id=2, note="b") + b"!", framed(1, id=3, note="c")[:-1]], plan=plan)
    assert sorted(rows(bench.table, "id")) == [(1,)]
    dead = rows(bench.state / "dead_letters", "code, schema_id, field")
    assert sorted(dead, key=str) == [
        ("bad_frame", None, None),
        ("bad_payload", 1, "/note"),
        ("bad_payload", 1, None),
        ("schema_parked", 4, None),
        ("tombstone", None, None),
        ("unknown_schema", 999, None),
    ]


def test_the_schema_id_is_seen_by_steps_and_rules(bench: Bench) -> None:
    bench.sections |= {
        "checks": (Check(name="first", rule="_schema_id = 1"),),
        "steps": (Step(sql="SELECT id, _schema_id AS written_with FROM rows"),),
    }
    put(bench.folder, 2)
    bench.write([framed(1, id=1, note=None), framed(2, id=2, note=None, qty=3)])
    assert rows(bench.table, "id, written_with") == [(1, 1)]
    assert bench.dead("code, schema_id") == [("first", 2)]


def test_a_policy_that_says_stop_leaves_nothing_visible(bench: Bench) -> None:
    bench.sections["schema_changes"] = SchemaChanges(incompatible="stop")
    bench.write([framed(1, id=1, note=None)])
    put(bench.folder, 4)
    with pytest.raises(SchemaStopped, match="string does not become BIGINT"):
        bench.write([framed(1, id=2, note=None), framed(4, id="x", note=None)], 1, 1)
    assert rows(bench.table, "id") == [(1,)]


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("phase", ["conserve", "tables", "outcome"])
def test_a_try_that_ended_midway_is_finished_by_the_next_with_the_new_columns(bench: Bench, phase: str) -> None:
    plan = bench.plan()
    bench.write([framed(1, id=1, note=None)], plan=plan)
    put(bench.folder, 2)
    values = [framed(2, id=2, note="n", qty=7)]

    def until(event: Event) -> None:
        if isinstance(event, PhaseStarted) and event.phase == phase:
            raise Killed

    plan.emit = until
    with pytest.raises(Killed):
        bench.write(values, 1, 1, plan)
    bench.write(values, 1, 1)
    assert sorted(rows(bench.table, "id, qty")) == [(1, None), (2, 7)]


def test_by_spark_a_column_becomes_wider_where_the_policy_takes_it(bench: Bench) -> None:
    bench.sections["sinks"] = {"lake": Sink(to=Delta(table="./lake/t", writer="spark"))}
    bench.sections["schema_changes"] = SchemaChanges(widen="evolve")
    (bench.folder / "schemas" / "t-value" / "1.avsc").unlink()
    put(bench.folder, 7)
    plan = bench.plan()
    bench.write([framed(7, id=1, qty=5)], plan=plan)
    put(bench.folder, 8)
    bench.write([framed(8, id=2, qty=2**40), framed(7, id=3, qty=7)], 1, 1, plan)
    bench.write([framed(8, id=4, qty=2**41)], 2, 3)
    found = bench.spark.read.format("delta").load(str(bench.table)).select("id", "qty")
    assert found.schema["qty"].dataType.simpleString() == "bigint"
    assert sorted(tuple(row) for row in found.collect()) == [(1, 5), (2, 2**40), (3, 7), (4, 2**41)]


@pytest.mark.parametrize("writer", ["auto", "spark"])
def test_a_field_inside_a_struct_or_a_list_of_structs_joins_the_tables_columns(bench: Bench, writer: Any) -> None:
    bench.sections["sinks"] = {"lake": Sink(to=Delta(table="./lake/t", writer=writer))}
    (bench.folder / "schemas" / "t-value" / "1.avsc").unlink()
    put(bench.folder, 5)
    plan = bench.plan()
    ulm, ulm_zip = {"city": "Ulm"}, {"city": "Ulm", "zip": "89073"}
    bench.write([framed(5, id=1, home=ulm, others=[ulm])], plan=plan)
    put(bench.folder, 6)
    bench.write([framed(6, id=2, home=ulm_zip, others=[ulm_zip]), framed(5, id=3, home=ulm, others=[])], 1, 1, plan)
    bench.write([framed(6, id=4, home=ulm_zip, others=[])], 2, 3)
    no_zip = {"city": "Ulm", "zip": None}
    assert sorted(rows(bench.table, "id, home, others")) == [
        (1, no_zip, [no_zip]),
        (2, ulm_zip, [ulm_zip]),
        (3, no_zip, []),
        (4, ulm_zip, []),
    ]
    evolved = [event.columns for event in bench.told if isinstance(event, TableEvolved)]
    assert evolved == [("home", "others")]


def test_by_spark_the_table_gains_the_column_too(bench: Bench) -> None:
    bench.sections["sinks"] = {"lake": Sink(to=Delta(table="./lake/t", writer="spark"))}
    plan = bench.plan()
    bench.write([framed(1, id=1, note="a")], plan=plan)
    put(bench.folder, 2)
    bench.write([framed(2, id=2, note=None, qty=5)], 1, 1, plan)
    assert sorted(rows(bench.table, "id, qty")) == [(1, None), (2, 5)]
