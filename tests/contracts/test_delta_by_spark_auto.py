"""`writer: auto`: whoever may write the table writes it, and a batch that is half published is always finished."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.errors import SinkRefused, TableChanged
from penstock.plan import Plan
from penstock.sinks.delta.auto import AutoDelta
from penstock.testing.batches import Bench

GOOD = [b'{"id": %d, "name": "n%d", "amount": 1.50}' % (number, number) for number in range(6)]
BAD = b"oops"
ALL = [(0, number) for number in range(6)]


@pytest.fixture
def case(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


def die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def lake(plan: Plan) -> AutoDelta:
    made = plan.tables["lake"]
    assert isinstance(made, AutoDelta)
    return made


def alter(case: Bench, change: str) -> None:
    case.spark.sql(f"ALTER TABLE delta.`{case.table}` {change}")


def ids(case: Bench) -> list[int]:
    return [row.id for row in case.spark.read.format("delta").load(str(case.table)).orderBy("id").collect()]


def half_published(case: Bench, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Batch 0 is done; of batch 1 the dead letters have theirs, and the lake has not."""
    case.write(GOOD[:1])
    plan = case.plan()
    monkeypatch.setattr(lake(plan), "commit", die)
    second = [*GOOD[1:], BAD]
    with pytest.raises(KeyboardInterrupt):
        case.write(second, batch_id=1, first=1, plan=plan)
    assert case.dead() == [("invalid_json", None)]
    assert ids(case) == [0]
    return second


def test_a_table_that_leaves_the_allow_list_is_spark_s_from_the_next_batch_on(case: Bench) -> None:
    plan = case.plan()
    assert lake(plan).by == "penstock"
    case.write(GOOD[:2], plan=plan)
    alter(case, "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert lake(plan).by == "spark"
    found = "the table feature `columnMapping`, column mapping"
    assert lake(plan).why == f"the table has {found}, which penstock's writer does not honour"
    case.write(GOOD[2:4], batch_id=1, first=2, plan=plan)
    case.write(GOOD[2:4], batch_id=1, first=2)
    assert ids(case) == [0, 1, 2, 3]
    told = [
        json.loads(each["userMetadata"]) for each in DeltaTable(str(case.table)).history() if "userMetadata" in each
    ]
    assert [(each["batch_id"], each.get("writer")) for each in told] == [(1, "spark"), (0, None)]


@pytest.mark.parametrize("step", ["before the commit", "after the commit"])
def test_a_batch_of_spark_s_that_is_killed_around_its_commit_lands_once(
    case: Bench, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    case.delta = {"writer": "spark"}
    monkeypatch.setattr(f"penstock.batch.{'publish_tables' if 'before' in step else 'outcome_of'}", die)
    with pytest.raises(KeyboardInterrupt):
        case.write([*GOOD, BAD])
    monkeypatch.undo()
    case.write([*GOOD, BAD])
    assert ids(case) == [0, 1, 2, 3, 4, 5]
    assert case.dead() == [("invalid_json", None)]


CHANGES = [
    "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "ADD CONSTRAINT positive CHECK (id >= 0)",
    "ADD COLUMN more INT",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_half_published_batch_whose_table_was_altered_is_finished_by_spark(
    case: Bench, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    second = half_published(case, monkeypatch)
    alter(case, change)
    for _ in range(2):
        case.write(second, batch_id=1, first=1)
    assert ids(case) == [0, 1, 2, 3, 4, 5]
    assert case.dead() == [("invalid_json", None)]


def test_a_half_published_batch_whose_table_lost_a_column_halts_and_says_what_to_do(
    case: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = half_published(case, monkeypatch)
    alter(case, "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    alter(case, "DROP COLUMN amount")
    with pytest.raises(TableChanged, match=r"(?s)column `amount` is gone.*penstock new-generation"):
        case.write(second, batch_id=1, first=1)
    assert ids(case) == [0]


def test_a_half_published_batch_of_yesterday_is_copied_before_it_is_committed(
    case: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = half_published(case, monkeypatch)
    live = {Path(uri).name for uri in DeltaTable(str(case.table)).file_uris()}
    old = [path for path in case.table.glob("*.parquet") if path.name not in live]
    for path in old:
        os.utime(path, (time.time() - 2 * 86_400,) * 2)
    case.write(second, batch_id=1, first=1)
    for path in old:
        path.unlink()
    assert ids(case) == [0, 1, 2, 3, 4, 5], "a vacuum that took the old files does no harm"


def test_a_table_that_is_beyond_delta_rs_and_beyond_spark_is_refused_in_words(case: Bench) -> None:
    log = case.table / "_delta_log"
    log.mkdir(parents=True)
    strange = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["martian"],
        "writerFeatures": ["martian"],
    }
    column = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [column]})
    table = {"id": "1", "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
    actions = [{"protocol": strange}, {"metaData": {**table, "partitionColumns": [], "configuration": {}}}]
    (log / f"{0:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))
    with pytest.raises(SinkRefused, match=r"(?s)cannot be read: .*martian.*penstock wrote nothing"):
        case.write(GOOD)
