"""Stages of compiled SQL: each record meets the fate that Spark's form of the stage gives it, in one crossing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from penstock import Check, Delta, Json, Kafka, Pipeline, Sink, Step, Topic
from penstock.operate.looking import Look
from penstock.operate.preview import Preview, Previewer
from penstock.rows import SOURCE
from penstock.steps.compiled.compile import SWITCH
from penstock.steps.compiled.plan import compiled_routes
from penstock.steps.flow import Flow
from penstock.steps.learn import learn
from penstock.steps.routes import Route, routed
from penstock.testing.compiled_against_spark import Bench
from penstock.testing.hard_rows import COLUMNS, hard_rows
from penstock.worker.crossing import from_form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "id BIGINT NOT NULL, code STRING, amount DECIMAL(18,2), tags ARRAY<STRING>, who STRUCT<name: STRING, age: INT>"
CHECKS = (
    Check(name="known", rule="code IS NOT NULL"),
    Check(name="adult", rule="who.age >= 18", on_fail="warn"),
    Check(name="number", rule="CAST(code AS INT) > 0"),
    Check(name="positive", rule="amount > 0", on_fail="reject"),
    Check(name="sevenfold", rule="id % 7 <> 0", on_fail="drop"),
    Check(name="tagged", rule="size(tags) > 0", on_fail="warn"),
)
STEPS = (
    Step(select=("*", "id * 1000000000000000 AS large", "upper(who.name) AS name"), name="widen"),
    Step(
        name="cut",
        sql="SELECT id, amount * 2 AS twice, concat(name, '-', code) AS k, large FROM rows r WHERE r.name LIKE 'A%'",
    ),
)
SPREAD = """
import pyarrow as pa


def spread(rows: pa.RecordBatch) -> pa.RecordBatch:
    twice = rows.take(pa.array([row for row in range(rows.num_rows) for _ in range(2)], pa.int64()))
    part = [2 * offset + number % 2 for number, offset in enumerate(twice["_offset"].to_pylist())]
    return twice.append_column("part", pa.array(part, pa.int64()))
"""


def record(luck: random.Random, number: int) -> bytes:
    """An order that may be broken in several ways."""
    if luck.random() < 0.03:
        return b"oops"
    body = {
        "id": luck.choice([number, number, number * 10**9]),
        "code": luck.choice(["1", "22", " 3 ", "x", None]),
        "amount": luck.choice([None, "-1", "1.50", "2", "3"]),
        "tags": luck.choice([None, [], ["red"], ["red", "blue"]]),
        "who": luck.choice([None, {"name": "ann", "age": 17}, {"name": "Ähm", "age": None}, {"name": "al", "age": 80}]),
    }
    return json.dumps(body).encode()


def records(count: int) -> pa.RecordBatch:
    luck, at = random.Random(5), datetime(2026, 11, 1, tzinfo=UTC)
    rows = [
        {"key": b"k", "value": record(luck, n), "topic": "t", "partition": 0, "offset": n, "timestamp": at}
        | {"timestamp_type": 0}
        for n in range(count)
    ]
    return pa.RecordBatch.from_pylist(rows, SOURCE)


def pipeline(folder: Path, **sections: Any) -> Pipeline:
    return Pipeline(
        **{
            "name": "p",
            "folder": folder,
            "source": Kafka(brokers=("localhost:9092",), topics=("t",)),
            "decode": Json(schema=SCHEMA),
            "sinks": {"lake": Sink(to=Delta(table="./lake/t"))},
            **sections,
        }
    )


Both = Callable[[Pipeline], tuple[Flow, Flow, Preview, Preview]]


@pytest.fixture
def both(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Both:
    """The same records through the compiled form and through Spark's."""

    def run(made: Pipeline) -> tuple[Flow, Flow, Preview, Preview]:
        flows, found = [], []
        for switch in ("1", "0"):
            monkeypatch.setenv(SWITCH, switch)
            flows.append(learn(made, lambda: spark))
            found.append(Previewer(made, flows[-1], lambda: spark).of(records(600)))
        return flows[0], flows[1], found[0], found[1]

    return run


def told(found: Preview) -> dict[str, Any]:
    """Everything that a preview says, in an order of its own."""
    letters = found.rejects.select(["offset", "stage", "code", "field", "detail"]).to_pylist()
    return {
        "rows": {name: sorted(table.to_pylist(), key=repr) for name, table in found.sinks.items()},
        "letters": sorted(letters, key=repr),
        "fates": found.fates,
    }


def test_checks_steps_and_routes_give_every_record_the_same_fate(both: Both, tmp_path: Path) -> None:
    sinks = {
        "lake": Sink(to=Delta(table="./lake/t")),
        "big": Sink(to=Delta(table="./lake/big"), where="CAST(substring(k, -1, 1) AS INT) > 1"),
    }
    compiled, by_spark, ours, theirs = both(pipeline(tmp_path, checks=CHECKS, steps=STEPS, sinks=sinks))
    assert {stage.runs_in for stage in compiled.stages} == {"arrow"}
    assert {stage.runs_in for stage in by_spark.stages} == {"spark"}
    assert told(ours) == told(theirs)
    assert compiled.columns == by_spark.columns
    fates = ours.fates
    assert min(fates.rejected[code] for code in ("known", "step_failed", "positive")) > 0
    assert min(fates.dropped["sevenfold"], fates.dropped["cut"], fates.warned["adult"], fates.warned["tagged"]) > 0
    assert min(fates.written["big"], fates.not_routed["big"]) > 0


def test_a_check_that_stops_is_told_of_the_same_records(both: Both, tmp_path: Path) -> None:
    _, _, ours, theirs = both(pipeline(tmp_path, checks=(Check(name="never", rule="id <> 13", on_fail="stop"),)))
    assert told(ours) == told(theirs)
    assert ours.fates.stopped == {"never": 1}


def test_rows_of_one_record_meet_one_fate_behind_a_step_that_makes_several(both: Both, tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(SPREAD)
    steps = (
        Step(python="several:spread", name="spread"),
        Step(sql="SELECT id, part, CAST(code AS INT) AS code FROM rows WHERE part % 3 <> 0", name="third"),
        Step(sql="SELECT * FROM rows WHERE part % 4 < 2 OR id % 5 = 0", name="half"),
    )
    sinks = {"lake": Sink(to=Delta(table="./lake/t"), where="part % 5 <> 0")}
    compiled, _, ours, theirs = both(pipeline(tmp_path, steps=steps, sinks=sinks))
    assert [stage.runs_in for stage in compiled.stages] == ["arrow"] * 4
    assert told(ours) == told(theirs)
    assert min(ours.fates.dropped["half"], ours.fates.rejected["step_failed"], ours.fates.not_routed["lake"]) > 0
    assert ours.fates.rows["lake"] > ours.fates.written["lake"]


def test_warnings_of_compiled_checks_are_counted_through_a_spark_stage(both: Both, tmp_path: Path) -> None:
    steps = (Step(select=("id", "hash(code) AS h"), name="hashed"), Step(select=("id",)))
    compiled, _, ours, theirs = both(pipeline(tmp_path, checks=CHECKS, steps=steps))
    assert [(stage.name, stage.runs_in) for stage in compiled.stages] == [
        ("checks", "arrow"), ("hashed", "spark"), ("step2", "spark"),
    ]  # fmt: skip
    assert told(ours) == told(theirs)
    assert ours.fates.warned["adult"] > 0


def by_spark(rows: DataFrame, routes: dict[str, Route]) -> dict[str, pa.StructArray]:
    """The routes as the next worker gets them: a column that is NOT NULL inside a NULL struct crosses this way only."""

    def hold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})

    held = [row[0] for row in rows.mapInArrow(hold, "batch binary").collect()]
    [batch] = pa.ipc.open_stream(held[0]).read_all().combine_chunks().to_batches()
    return {**from_form(batch, pa.schema([]), [*routes], multiplied=False).routes}


def test_a_sinks_own_expressions_give_the_same_routes(spark: SparkSession, tmp_path: Path) -> None:
    routes = {
        "plain": Route(key="s1"),
        "some": Route(where="CAST(n1 AS INT) > 0", key="l1", topic="s2", headers={"a": "i1 + 1", "b": "x1", "c": "t1"},
                      binary=frozenset({"x1"})),
        "keyed": Route(where="i1 > 0", key="CAST(_key AS STRING)"),
    }  # fmt: skip
    bench = Bench(spark, hard_rows(random.Random(3), 300), tmp_path)
    ours = compiled_routes(bench.frame, COLUMNS, routes).over(bench.rows).routes
    theirs = by_spark(routed(bench.frame, routes).rows, routes)
    for name, route in routes.items():
        there = theirs[name].is_valid().to_pylist()
        taken = [bool(each and each["take"]) for each in theirs[name].to_pylist()]
        assert ours[name].is_valid().to_pylist() == there
        for field in ("take", "key", "topic", *(["headers"] if route.headers else [])):
            both_ = zip(ours[name].field(field).to_pylist(), theirs[name].field(field).to_pylist(), strict=True)
            used = there if field == "take" else taken
            assert [one == other for (one, other), asked in zip(both_, used, strict=True) if asked] == [True] * sum(
                used
            )
    assert 0 < ours["some"].null_count < 300


def test_a_pipeline_of_simple_sql_crosses_once(spark: SparkSession, tmp_path: Path) -> None:
    sinks = {"lake": Sink(to=Delta(table="./lake/t"), where="id > 1"), "out": Sink(to=Topic(topic="o", key="k"))}
    made = pipeline(tmp_path, checks=CHECKS, steps=STEPS, sinks=sinks)
    plan = made.explain(spark)
    assert plan.count("MapInArrow") == 1
    assert "tryeval" not in plan
    assert "Project" not in plan
    assert {stage.segment for stage in Look(made, None, spark).outline().stages} == {1}


def test_the_outline_names_the_expression_that_keeps_a_stage_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    steps = (Step(select=("id", "sha2(code, 256) AS h"), name="hashed"), Step(select=("id",), name="less"))
    found = Look(pipeline(tmp_path, checks=CHECKS[:1], steps=steps), None, spark).outline()
    assert [(stage.runs_in, stage.why) for stage in found.stages[1:4]] == [
        ("arrow", "rules, compiled to Arrow, in the Python worker"),
        ("spark", "SQL, in Spark: `sha2(code, 256) AS h`: `sha2` is not compiled"),
        ("spark", "SQL, in Spark: the rows are in Spark already"),
    ]


def test_a_verdict_of_a_compiled_check_says_what_sparks_says(both: Both, tmp_path: Path) -> None:
    _, _, ours, _ = both(pipeline(tmp_path, checks=CHECKS))
    details = {letter["code"]: letter["detail"] for letter in ours.rejects.to_pylist()}
    assert details["positive"] == "Not true: amount > 0"
    assert details["step_failed"] == "The rule of check number raised an error on this record."
