"""A look before the run: what records become, what the pipeline would do. Nothing is left behind."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock import Check, Delta, Json, Kafka, Pipeline, Raw, Sink, Step, Topic
from penstock.errors import StepRefused
from penstock.operate.looking import Look
from penstock.operate.preview import Previewer
from penstock.rows import SOURCE
from penstock.steps.learn import learn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = [
    b'{"id": 1, "amount": "1.50"}', b'{"id": 2, "amount": "-1"}', b"oops", b'{"id": 4, "amount": "200"}',
]  # fmt: skip


def pipeline(folder: Path, **sections: object) -> Pipeline:
    return Pipeline(
        **{
            "name": "p",
            "folder": folder,
            "source": Kafka(brokers=("localhost:9092",), topics=("t",)),
            "decode": Json(schema="id BIGINT NOT NULL, amount DECIMAL(18,2)"),
            "sinks": {"lake": Sink(to=Delta(table="./lake/t"))},
            **sections,
        }
    )


def records() -> pa.RecordBatch:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    rows = [
        {"value": value, "topic": "t", "partition": 0, "offset": offset, "timestamp": at, "timestamp_type": 0}
        for offset, value in enumerate(VALUES)
    ]
    return pa.RecordBatch.from_pylist(rows, SOURCE)


def no_spark() -> SparkSession:
    raise AssertionError("this pipeline needs no Spark")


def test_a_pipeline_without_sql_is_previewed_without_spark(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    found = Previewer(made, learn(made, no_spark), no_spark).of(records())
    assert found.rows["id"].to_pylist() == [1, 2, 4]
    assert found.rejects["code"].to_pylist() == ["invalid_json"]
    assert list(tmp_path.iterdir()) == []


def test_checks_steps_and_routes_are_previewed_as_they_will_run(spark: SparkSession, tmp_path: Path) -> None:
    made = pipeline(
        tmp_path,
        checks=(Check(name="positive", rule="amount > 0"),),
        steps=(Step(sql="SELECT id, amount * 2 AS twice FROM rows WHERE id <> 3"),),
        sinks={
            "lake": Sink(to=Delta(table="./lake/t")),
            "big": Sink(where="twice > 100", to=Topic(topic="big", key="id")),
        },
    )
    found = Previewer(made, learn(made, lambda: spark), lambda: spark).of(records())
    assert found.sinks["lake"]["id"].to_pylist() == [1, 4]
    assert found.sinks["big"]["id"].to_pylist() == [4]
    assert sorted(found.rejects["code"].to_pylist()) == ["invalid_json", "positive"]
    assert found.fates.not_routed == {"lake": 0, "big": 1}
    assert list(tmp_path.iterdir()) == []


def test_the_outline_says_where_each_stage_runs_and_who_commits(spark: SparkSession, tmp_path: Path) -> None:
    made = pipeline(
        tmp_path,
        steps=(Step(select=("*", "id + 1 AS next"), name="count_up"),),
        sinks={
            "lake": Sink(to=Delta(table="./lake/t")),
            "loose": Sink(to=Topic(topic="loose", delivery="at_least_once")),
        },
    )
    found = Look(made, None, spark).outline()
    assert [(stage.name, stage.runs_in, stage.segment) for stage in found.stages] == [
        ("decode", "arrow", 1), ("count_up", "arrow", 1), ("write", "arrow", 1),
    ]  # fmt: skip
    assert found.stages[1].columns["next"] == "int64 not null"
    letters, lake, loose = found.sinks
    assert (letters.name, lake.committer, lake.exists, loose.committer) == (
        "dead_letters", "penstock", False, "producer",
    )  # fmt: skip
    assert lake.columns["next"] == "BIGINT NOT NULL"
    assert "twice" in found.not_guaranteed[0]
    assert found.source.note == "No broker was asked."
    assert list(tmp_path.iterdir()) == []


def test_adjacent_stages_of_one_sort_share_a_segment(tmp_path: Path) -> None:
    found = Look(pipeline(tmp_path, decode=Raw()), None).outline()
    assert [(stage.name, stage.segment) for stage in found.stages] == [("decode", 1), ("write", 1)]


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"checks": (Check(name="c", rule="amount"),)}, "checks[0] `c`: `amount` is of type decimal(18,2)"),
        ({"checks": (Check(name="c", rule="amount > current_date()"),)}, "checks[0] `c`"),
        ({"steps": (Step(sql="SELECT id.x FROM rows"),)}, "steps[0] `step1`"),
        ({"steps": (Step(python="nowhere:f"),)}, "No module named 'nowhere'"),
        (
            {"sinks": {"t": Sink(to=Topic(topic="t2", key="array(id)"))}},
            "sinks.t: kafka.key: `array(id)` is of type array",
        ),
    ],
)
def test_what_only_spark_or_python_can_know_is_refused_before_the_first_batch(
    sections: dict[str, object], words: str, spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(StepRefused) as caught:
        learn(pipeline(tmp_path, **sections), lambda: spark)
    assert words in str(caught.value)
    assert "Nothing was written." in str(caught.value)


def test_what_spark_refuses_is_told_once_and_in_words(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = pipeline(tmp_path, steps=(Step(sql="SELECT id + array(1) AS x FROM rows"),))
    with pytest.raises(StepRefused) as caught:
        learn(made, lambda: spark)
    assert str(caught.value).startswith('steps[0] `step1`: Cannot resolve "(id + array(1))" due to data type mismatch')
    assert "QueryContextLogger" not in capfd.readouterr().err


def test_spark_explains_the_pass(spark: SparkSession, tmp_path: Path) -> None:
    text = pipeline(tmp_path, steps=(Step(select=("hash(id) AS id",)),)).explain(spark)
    assert "MapInArrow" in text
    assert "tryeval" in text
