"""Every folder beside this file is a case: a pipeline, its input, and what must become of each record."""

from __future__ import annotations

import base64
import json
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from penstock import Pipeline, load_pipeline
from penstock.batch import write_batch
from penstock.engine.tables import committers
from penstock.ledger.ledger import Ledger
from penstock.observe.events import BatchCommitted, Event
from penstock.plan import Plan
from penstock.ranges import Range
from penstock.sources.losses import Losses
from penstock.steps.compiled.compile import SWITCH
from penstock.steps.learn import learn
from penstock.tally import Fates
from penstock.testing.batches import SPARK_SOURCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
CASES = sorted(path.parent.name for path in HERE.glob("*/pipeline.yaml"))
NOT_SHOWN = {"_topic", "_partition", "_timestamp"}
AT = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass
class Done:
    """A case after its one batch."""

    pipeline: Pipeline
    values: list[bytes | None]
    told: BatchCommitted
    totals: Fates


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def value_of(line: bytes) -> bytes | None:
    """The value of one record, as README.md says."""
    try:
        told = json.loads(line)
    except ValueError:
        return line
    match told:
        case {"$base64": str(text)}:
            return base64.b64decode(text, validate=True)
        case {"$text": str(text)}:
            return text.encode()
        case {"$null": True}:
            return None
    return line


def plain(value: Any, kind: pa.DataType) -> Any:
    """A value of the table as the expected files write it."""
    if pa.types.is_map(kind) and value is not None:
        return {key: plain(item, kind.item_type) for key, item in value}
    if isinstance(value, dict):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if isinstance(value, list):
        return [plain(item, kind.value_type) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal | date) else value


def rows_of(table: str) -> list[dict[str, Any]]:
    """The rows of a table by offset, without null columns.

    The files of the newest version are read one by one: deltalake's own way to Arrow fails on a NOT NULL field inside
    a struct that is null.
    """
    found = pa.concat_tables([pq.read_table(uri, partitioning=None) for uri in DeltaTable(table).file_uris()])
    kinds = {field.name: field.type for field in found.schema if field.name not in NOT_SHOWN}
    rows = [{name: plain(row[name], kind) for name, kind in kinds.items()} for row in found.to_pylist()]
    return sorted((_without_nulls(row) for row in rows), key=lambda row: int(row["_offset"]))


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def run(spark: SparkSession, name: str, folder: Path) -> Done:
    for path in [HERE / name / "pipeline.yaml", *(HERE / name).glob("*.py")]:
        shutil.copy(path, folder)
    pipeline = load_pipeline(folder / "pipeline.yaml")
    [topic] = pipeline.source.topics
    values = [value_of(line) for line in (HERE / name / "input.jsonl").read_bytes().splitlines()]
    records = [(b"k", value, topic, 0, offset, AT, 0, None) for offset, value in enumerate(values)]
    told: list[Event] = []
    losses = Losses(pipeline.name, "stop", lambda _partitions: {}, "penstock run pipeline.yaml")
    ledger = Ledger(Path(pipeline.state), pipeline.name, 1)
    flow = learn(pipeline, lambda: spark)
    plan = Plan(pipeline, ledger, losses, {**committers(pipeline)}, "case", flow, told.append)
    write_batch(plan, spark.createDataFrame(records, SPARK_SOURCE), 0, (Range(topic, 0, 0, len(values)),))
    [committed] = [event for event in told if isinstance(event, BatchCommitted)]
    outcome = ledger.last_outcome()
    assert outcome is not None
    return Done(pipeline, values, committed, outcome.totals)


def expected_rows(name: str, sink: str) -> list[dict[str, Any]]:
    own = HERE / name / f"expected.{sink}.jsonl"
    return lines(own if own.exists() else HERE / name / "expected.jsonl")


def check_dead_letters(done: Done, expected: list[dict[str, Any]]) -> None:
    """Each dead letter has the right offset and reason, and the bytes as they came."""
    found = DeltaTable(done.pipeline.dead_letters.delta).to_pyarrow_table().to_pylist()
    found.sort(key=lambda letter: (letter["offset"], letter["stage"]))
    keys = ("offset", "code", "field", "stage")
    assert [{key: letter[key] for key in keys} for letter in found] == [
        {"stage": "decode", **line} for line in expected
    ]
    assert [letter["value"] for letter in found] == [done.values[line["offset"]] for line in expected]
    assert all(letter["key"] == b"k" and letter["detail"] for letter in found)


WITH_SQL = [
    name for name in CASES if re.search("^(checks|steps):|where:", (HERE / name / "pipeline.yaml").read_text(), re.M)
]


@pytest.mark.parametrize(("name", "compiled"), [*((name, "1") for name in CASES), *((name, "0") for name in WITH_SQL)])
def test_every_record_of_the_case_becomes_what_its_files_say(
    name: str, compiled: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, compiled)  # with "0" Spark runs all SQL, also what could be compiled
    done = run(spark, name, tmp_path)
    rejected = lines(HERE / name / "rejected.jsonl")
    for sink, part in done.pipeline.sinks.items():
        expected = expected_rows(name, sink)
        assert rows_of(part.to.table) == expected, sink
        assert DeltaTable(part.to.table).metadata().partition_columns == list(part.to.partition_by)
        fates = {row["_offset"] for row in expected}
        fates |= {line["offset"] for line in rejected if of_this(line.get("stage", ""), sink)}
        gone = sum(done.told.dropped.values()) + done.totals.not_routed[sink]
        assert len(done.values) - len(fates) == gone, sink
    check_dead_letters(done, rejected)
    check_counts(done, HERE / name / "counts.json")
    assert done.told.read == len(done.values)


def of_this(stage: str, sink: str) -> bool:
    """Is a record that was rejected at this stage missing from this sink?"""
    return not stage.startswith("sink:") or stage == f"sink:{sink}"


def check_counts(done: Done, file: Path) -> None:
    """What was dropped and warned of, by name."""
    expected = json.loads(file.read_text()) if file.exists() else {"warned": {}}
    found = {"dropped": dict(done.totals.dropped), "warned": dict(done.totals.warned)}
    assert found | expected == found


def test_there_is_a_case_in_every_folder_and_each_has_all_of_its_files() -> None:
    folders = [path for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("__")]
    assert [path.name for path in sorted(folders)] == CASES
    for folder in folders:
        names = {path.name for path in folder.iterdir()}
        assert {"pipeline.yaml", "input.jsonl", "rejected.jsonl"} < names, folder.name
        assert any(name.startswith("expected.") for name in names), folder.name
