"""Checks and steps at some length: every record accounted for, against a reference in plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Check, Delta, Sink, Step
from penstock.dev.oracle import rows as read
from penstock.errors import CheckStopped, PenstockError
from penstock.ledger.records import Outcome
from penstock.plan import Plan
from penstock.testing.batches import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 30_000
SCHEMA = "id BIGINT NOT NULL, code STRING, amount DECIMAL(18,2), tags ARRAY<STRING>"
SECTIONS = {
    "checks": (
        Check(name="positive", rule="amount > 0"),
        Check(name="round", rule="amount = floor(amount)", on_fail="warn"),
        Check(name="test_data", rule="id % 1000 <> 999", on_fail="drop"),
    ),
    "steps": (
        Step(sql="SELECT id, CAST(code AS INT) AS code, amount, tags FROM rows WHERE id % 7 <> 0", name="cast"),
        Step(sql="SELECT id, code, amount, explode(tags) AS tag FROM rows", name="spread"),
    ),
    "sinks": {
        "lake": Sink(to=Delta(table="./lake/t")),
        "red": Sink(to=Delta(table="./lake/red"), where="tag = 'red'"),
    },
}


def record(luck: random.Random, number: int) -> tuple[bytes, Any]:
    """A record and its fate by the rules above: a verdict, or the rows it becomes."""
    if luck.random() < 0.01:
        return b'{"id": ' + str(number).encode(), "truncated_json"
    amount = luck.choice([None, Decimal(-1), Decimal("1.50"), Decimal(2), Decimal(3), Decimal(4)])
    code = "oops" if luck.random() < 0.001 else luck.choice(["1", "22", None])
    tags = luck.choice([None, [], ["red"], ["red", "blue"], ["blue", "green", "red"]])
    body = {"id": number, "code": code, "amount": None if amount is None else str(amount), "tags": tags}
    value = json.dumps(body).encode()
    fates = {
        "positive": amount is None or amount <= 0,
        "drop test_data": number % 1000 == 999,
        "drop cast": number % 7 == 0,
        "step_failed": code == "oops",
        "drop spread": not tags,
    }
    out = next((fate for fate, holds in fates.items() if holds), None)
    return value, out or [(number, None if code is None else int(code), tag) for tag in tags or ()]


def last(plan: Plan) -> Outcome:
    found = plan.ledger.last_outcome()
    assert found is not None
    return found


@pytest.fixture
def case(spark: SparkSession, tmp_path: Path) -> Callable[..., Bench]:
    def make(**settings: Any) -> Bench:
        return Bench(spark, tmp_path, **{"schema": SCHEMA, **settings})

    return make


def test_every_record_has_the_fate_that_plain_python_gives_it(case: Callable[..., Bench]) -> None:
    luck = random.Random(7)
    made = [record(luck, number) for number in range(COUNT)]
    bench = case(sections=SECTIONS)
    plan = bench.plan()
    bench.write([value for value, _ in made], plan=plan)
    fates = [fate for _, fate in made]
    expected = sorted(row for fate in fates if isinstance(fate, list) for row in fate)
    assert sorted(read(bench.table, "id, code, tag"), key=str) == sorted(expected, key=str)
    red = sorted(read(bench.folder / "lake" / "red", "id"))
    assert red == sorted((row[0],) for row in expected if row[2] == "red")
    words = Counter(fate for fate in fates if isinstance(fate, str))
    totals = last(plan).totals
    assert dict(totals.rejected) == {code: words[code] for code in ("truncated_json", "positive", "step_failed")}
    assert dict(totals.dropped) == {name: words[f"drop {name}"] for name in ("test_data", "cast", "spread")}
    kept = [fate for fate in fates if isinstance(fate, list)]
    assert totals.written["lake"] == len(kept)
    assert totals.not_routed["red"] == sum(all(tag != "red" for _, _, tag in rows) for rows in kept)
    assert Counter(code for code, _ in bench.dead()) == totals.rejected


def test_a_check_that_stops_leaves_nothing_visible(case: Callable[..., Bench]) -> None:
    bench = case(sections={"checks": (Check(name="never", rule="id <> 2", on_fail="stop"),)})
    with pytest.raises(CheckStopped) as caught:
        bench.write([b'{"id": 1}', b'{"id": 2}', b"oops"])
    assert "check never says to stop" in str(caught.value)
    assert "Nothing of this batch is visible" in str(caught.value)
    assert list(bench.table.glob("_delta_log/*.json")) == [bench.table / "_delta_log" / f"{0:020d}.json"]
    bench.sections = {}
    bench.write([b'{"id": 1}', b'{"id": 2}', b"oops"])
    assert bench.names() == [(0, 0), (0, 1)]


def test_a_function_that_breaks_its_word_stops_the_batch_with_its_own_words(case: Callable[..., Bench]) -> None:
    bench = case(sections={"steps": (Step(python="broken:f", name="broken"),)})
    (bench.folder / "broken.py").write_text(
        "import pyarrow as pa\ndef f(rows: pa.RecordBatch) -> pa.RecordBatch:\n"
        "    return rows.drop_columns(['_offset']) if rows.num_rows else rows\n"
    )
    with pytest.raises(Exception, match="it gave rows without _offset"):
        bench.write([b'{"id": 1}'])
    assert bench.table.exists()
    (bench.folder / "broken2.py").write_text(
        "import pyarrow as pa\ndef f(rows: pa.RecordBatch) -> pa.RecordBatch:\n    return rows\n"
    )
    bench.sections = {"steps": (Step(python="broken2:f"),)}
    bench.write([b'{"id": 1}'])
    assert bench.names() == [(0, 0)]


def test_a_step_may_use_keywords_unicode_and_many_columns(case: Callable[..., Bench]) -> None:
    names = [f"c{number}" for number in range(500)]
    schema = ", ".join(["`order` BIGINT", "`größe` STRING", *(f"{name} INT" for name in names)])
    bench = case(
        schema=schema, sections={"steps": (Step(select=("*", "`order` + 1 AS `select`", "upper(`größe`) AS up")),)}
    )
    bench.write([json.dumps({"order": 1, "größe": "groß", **dict.fromkeys(names, 5)}).encode()])
    assert read(bench.table, '"order", "select", up, c499') == [(1, 2, "GROSS", 5)]


def test_penstocks_own_columns_can_be_read_and_kept_under_another_name(case: Callable[..., Bench]) -> None:
    items = (
        "id", "_topic AS topic", "_partition AS part", "_offset AS off", "_timestamp AS at", "_timestamp_type AS kind",
        "CAST(_key AS STRING) AS k", "CAST(_headers[0].value AS STRING) AS h", "_schema_id AS schema_id",
    )  # fmt: skip
    bench = case(sections={"steps": (Step(select=items),)})
    bench.write([b'{"id": 1}', b'{"id": 2}'])
    assert sorted(read(bench.table, "id, topic, part, off, kind, k, h, schema_id")) == [
        (1, "t", 0, 0, "CreateTime", "k", "1", None),
        (2, "t", 0, 1, "CreateTime", "k", "1", None),
    ]


def test_an_error_while_planning_is_no_records_fault(case: Callable[..., Bench]) -> None:
    with pytest.raises(PenstockError, match="steps\\[0\\]"):
        case(sections={"steps": (Step(select=("id + tags AS x",)),)}).plan()
