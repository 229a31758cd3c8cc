"""Tables that delta-rs would write wrongly, written by Spark: each feature honoured, each broken row rejected alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.errors import Refused, SinkRefused, TableChanged
from penstock.sinks.contract import Committer, Frozen, WriteKey
from penstock.sinks.delta.auto import AutoDelta
from penstock.sinks.delta.choose import committer
from penstock.sinks.delta.conditions import Condition, TooComplex, read
from penstock.testing.delta_values import EVERY_TYPE, ROWS, batch
from penstock.testing.sink_suite import key, rows

CLOSED = 2**63 - 1
LINEAGE = "_topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"
DATA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string())])
TABLES: dict[str, tuple[str, str, dict[str, list[Any]]]] = {
    "column mapping": ("", "TBLPROPERTIES('delta.columnMapping.mode'='name')", {}),
    "deletion vectors": ("", "TBLPROPERTIES('delta.enableDeletionVectors'='true')", {}),
    "generated": (", more BIGINT GENERATED ALWAYS AS (id + 1)", "", {"more": [2, 3]}),
    "identity": (", more BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY", "", {}),
    "default": (
        ", more INT NOT NULL DEFAULT 3",
        "TBLPROPERTIES('delta.feature.allowColumnDefaults'='supported')",
        {"more": [3, 3]},
    ),
    "row tracking": ("", "TBLPROPERTIES('delta.enableRowTracking'='true')", {}),
    "clustering": ("", "CLUSTER BY (id)", {}),
    "type widening": ("", "TBLPROPERTIES('delta.enableTypeWidening'='true')", {}),
    "nested char": (", more STRUCT<c: CHAR(3)>", "", {"more": [None, None]}),
}


def make(spark: SparkSession, table: str, more: str = "", rest: str = "", data: str = "id BIGINT, name STRING") -> None:
    spark.sql(f"CREATE TABLE delta.`{table}` ({data}{more}, {LINEAGE}) USING delta {rest}")


def auto(spark: SparkSession, table: str, **settings: Any) -> Committer:
    return committer("lake", table, lambda: spark, **settings)


def by_spark(spark: SparkSession, table: str, **settings: Any) -> Committer:
    return committer("lake", table, lambda: spark, writer="spark", **settings)


def frozen_by(made: Committer, stage: Path, *batches: pa.RecordBatch, columns: pa.Schema = DATA) -> Frozen:
    target = made.prepare(columns, stage)
    writer = target.writer("0")
    for each in batches:
        assert writer.write(each) == []
    return Frozen.from_json(Frozen(target.to_json(), tuple(writer.close())).to_json())


def held(spark: SparkSession, table: str, order: str = "id") -> list[Any]:
    return spark.read.format("delta").load(table).orderBy(order).collect()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_with_this_feature_is_written_once_and_can_be_closed(
    name: str, table: str, tmp_path: Path, spark: SparkSession
) -> None:
    more, rest, expected = TABLES[name]
    make(spark, table, more, rest)
    made = auto(spark, table)
    frozen = frozen_by(made, tmp_path / "stage", rows(2, start=1, columns=DATA))
    assert frozen.target["by"] == "spark", "a plain append must not have it"
    hows = [each.commit(frozen, key(0), {}).how for each in (made, auto(spark, table))]
    assert hows == ["committed", "recognised"]
    found = held(spark, table)
    assert [(row.id, row.name, row["_offset"]) for row in found] == [(1, "name 1", 1), (2, "name 2", 2)]
    for column, values in expected.items():
        assert [row[column] for row in found] == values
    made.close(WriteKey("shop", 1, "lake", CLOSED, ""))
    assert made.watermark(key(0).app) == CLOSED
    assert len(held(spark, table)) == 2


def test_every_type_comes_through_spark_as_it_was(table: str, tmp_path: Path, spark: SparkSession) -> None:
    old = [*ROWS, {"id": 4, "day": date(1, 1, 1)}, {"id": 5, "day": date(1582, 10, 14)}]
    made = by_spark(spark, table, properties={"delta.columnMapping.mode": "name"}, partition_by=("flag",))
    made.commit(frozen_by(made, tmp_path, batch(EVERY_TYPE, old), columns=EVERY_TYPE), key(0), {})
    for row, expected in zip(held(spark, table), old, strict=True):
        found = row.asDict(recursive=True)
        assert {name: _plain(found[name]) for name in EVERY_TYPE.names if name != "moment"} == {
            name: expected.get(name) for name in EVERY_TYPE.names if name != "moment"
        }
    seconds = spark.sql(f"SELECT unix_micros(moment) AS at FROM delta.`{table}` ORDER BY id LIMIT 3").collect()
    assert [row["at"] for row in seconds] == [-1, None, 13_574_606_400_000_001]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value


def test_a_row_that_breaks_a_check_or_a_length_is_rejected_alone(
    table: str, tmp_path: Path, spark: SparkSession
) -> None:
    make(spark, table, data="id BIGINT, name VARCHAR(6)")
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT small CHECK (id < 12 OR id IS NULL)")
    made = auto(spark, table)
    target = made.prepare(DATA, tmp_path)
    writer = target.writer("0")
    misfits = writer.write(rows(14, columns=DATA))
    assert {misfit.row: (misfit.field, misfit.code) for misfit in misfits} == {
        10: ("/name", "does_not_fit"),
        11: ("/name", "does_not_fit"),
        12: (None, "does_not_fit"),
        13: (None, "does_not_fit"),
    }
    assert "the CHECK constraint `small` (id < 12 OR id IS NULL)" in misfits[-1].detail
    assert "VARCHAR(6) (`name`)" in misfits[0].detail
    made.commit(Frozen(target.to_json(), tuple(writer.close())), key(0), {})
    assert [row.id for row in held(spark, table)] == list(range(10))


CHECKS = [
    "id > 1", "2 > id", "id <> 1", "id IN (1, 3)", "id NOT IN (1, 3)", "id BETWEEN 1 AND 2", "id IS NOT NULL",
    "real > 0", "real <= 0.5", "real = 0.5", "real <> 0.5", "single = 0.1", "single >= 0.1", "money >= 1.5",
    "money > -1", "money <> 2", "text = 'b'", "text < 'b'", "length(text) <= 1", "flag", "NOT flag", "flag = true",
    "day > DATE'2020-01-01'", "day >= '2020-01-01'", "id > 0 AND (real > 1 OR money IS NULL)", "real = real",
    "NOT (id > 1 OR flag)", "(ID) >= -3",
]  # fmt: skip
JUDGED = pa.schema(
    [
        ("id", pa.int64()), ("real", pa.float64()), ("single", pa.float32()), ("money", pa.decimal128(18, 2)),
        ("text", pa.string()), ("flag", pa.bool_()), ("day", pa.date32()),
    ]
)  # fmt: skip


def test_conditions_are_judged_in_the_task_as_spark_judges_them(spark: SparkSession) -> None:
    nothing = dict.fromkeys(JUDGED.names)
    records = [
        nothing,
        {"id": 1, "real": 0.5, "single": 0.1, "money": Decimal("1.50"), "text": "b", "flag": True,
         "day": date(2020, 1, 1)},
        {"id": 2, "real": float("nan"), "single": float("nan"), "money": Decimal("-1.00"), "text": "ä",
         "flag": False, "day": date(2020, 1, 2)},
        {"id": 3, "real": -0.0, "single": float("inf"), "money": Decimal("2.00"), "text": "", "flag": None,
         "day": date(1, 1, 1)},
    ]  # fmt: skip
    given = pa.RecordBatch.from_pylist(records, schema=JUDGED)
    schema = "id BIGINT, real DOUBLE, single FLOAT, money DECIMAL(18,2), text STRING, flag BOOLEAN, day DATE"
    frame = spark.createDataFrame([tuple(each[name] for name in JUDGED.names) for each in records], schema)
    verdicts = frame.coalesce(1).selectExpr(*(f"coalesce({text}, false) AS c{n}" for n, text in enumerate(CHECKS)))
    found = verdicts.collect()
    for number, text in enumerate(CHECKS):
        ours = [not broken for broken in Condition(text, read(text, JUDGED)).broken(given).to_pylist()]
        assert ours == [row[number] for row in found], text


TOO_COMPLEX = [
    "id % 2 = 0", "upper(text) = 'A'", "id > 1.5", "text > 3", "id = real", "a.b > 0", "other > 0",
    "day > current_date()", "text LIKE 'a%'", "text = NULL", "1e3 > id",
]  # fmt: skip


@pytest.mark.parametrize("text", TOO_COMPLEX)
def test_a_condition_that_only_spark_can_judge_is_too_complex(text: str) -> None:
    with pytest.raises(TooComplex):
        read(text, JUDGED)


REFUSED = {
    "a complex check": ("", "ALTER TABLE {} ADD CONSTRAINT even CHECK (id % 2 = 0)", DATA, "`even` .*only Spark"),
    "a generated column that is brought": (
        ", more BIGINT GENERATED ALWAYS AS (id + 1)", "", DATA.append(pa.field("more", pa.int64())), "brings as well"
    ),
    "a generated column that is not null": (
        ", more BIGINT NOT NULL GENERATED ALWAYS AS (id + 1)", "", DATA, "which is NOT NULL"
    ),
    "an identity column that is brought": (
        ", more BIGINT GENERATED ALWAYS AS IDENTITY", "", DATA.append(pa.field("more", pa.int64())), "brings as well"
    ),
    "forgotten batches": (
        "",
        "ALTER TABLE {} SET TBLPROPERTIES('delta.setTransactionRetentionDuration'='interval 7 days')",
        DATA,
        "forgets which batches",
    ),
    "a bounded text inside a struct": (
        ", more STRUCT<c: CHAR(3)>",
        "",
        DATA.append(pa.field("more", pa.struct([("c", pa.string())]))),
        "inside another type",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_neither_the_writer_nor_spark_can_hold_is_refused_by_name(
    name: str, table: str, tmp_path: Path, spark: SparkSession
) -> None:
    more, then, columns, says = REFUSED[name]
    make(spark, table, more)
    if then:
        spark.sql(then.format(f"delta.`{table}`"))
    with pytest.raises(SinkRefused, match=rf"(?s){says}.*penstock wrote nothing"):
        by_spark(spark, table).prepare(columns, tmp_path)


def test_delta_rs_recognises_what_spark_has_committed_and_the_other_way_round(
    table: str, tmp_path: Path, spark: SparkSession
) -> None:
    rs, sparks = committer("lake", table, None), by_spark(spark, table)
    first = frozen_by(rs, tmp_path, rows(2, columns=DATA))
    second = frozen_by(sparks, tmp_path, rows(2, start=2, columns=DATA))
    assert [each.commit(first, key(0), {}).how for each in (rs, sparks)] == ["committed", "recognised"]
    assert [each.commit(second, key(1), {}).how for each in (sparks, rs)] == ["committed", "recognised"]
    assert (rs.watermark(key(0).app), sparks.watermark(key(0).app)) == (1, 1)
    for each, share, batch_id in ((rs, first, 1), (sparks, second, 0)):
        with pytest.raises(Refused, match="same batch id with other content"):
            each.commit(share, key(batch_id, "another"), {})
    assert [row.id for row in held(spark, table)] == [0, 1, 2, 3]


def test_a_generation_that_one_has_closed_is_closed_for_the_other(
    table: str, tmp_path: Path, spark: SparkSession
) -> None:
    rs, sparks = committer("lake", table, None), by_spark(spark, table)
    shares = [(rs, frozen_by(rs, tmp_path, rows(1, columns=DATA))), (sparks, frozen_by(sparks, tmp_path, rows(1)))]
    for closer, generation in ((rs, 1), (sparks, 2)):
        closer.close(WriteKey("shop", generation, "lake", CLOSED, ""))
        for each, share in shares:
            with pytest.raises(Refused, match="this generation was closed"):
                each.commit(share, replace(key(5), generation=generation), {})
    assert held(spark, table) == []


def test_a_column_that_was_widened_since_the_freeze_still_takes_the_rows(
    table: str, tmp_path: Path, spark: SparkSession
) -> None:
    make(spark, table, rest="TBLPROPERTIES('delta.enableTypeWidening'='true')", data="id INT, name STRING")
    narrow = DATA.set(0, pa.field("id", pa.int32()))
    made = auto(spark, table)
    given = rows(2, columns=DATA)
    frozen = frozen_by(made, tmp_path, given.set_column(0, narrow.field(0), given["id"].cast("int32")), columns=narrow)
    spark.sql(f"ALTER TABLE delta.`{table}` ALTER COLUMN id TYPE BIGINT")
    assert made.commit(frozen, key(0), {}).how == "committed"
    assert [row.id for row in held(spark, table)] == [0, 1]


def test_a_condition_that_is_new_since_the_freeze_has_the_batch_written_anew(
    table: str, tmp_path: Path, spark: SparkSession
) -> None:
    make(spark, table)
    made = by_spark(spark, table)
    frozen = frozen_by(made, tmp_path, rows(3, columns=DATA))
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT positive CHECK (id > 0)")
    with pytest.raises(TableChanged, match="the CHECK constraint `positive`"):
        made.verify(frozen, key(0))
    with pytest.raises(TableChanged, match="a row breaks a condition of table"):
        made.commit(frozen, key(0), {})
    assert held(spark, table) == []


def test_a_new_table_has_the_partitions_and_properties_of_the_file(
    table: str, tmp_path: Path, spark: SparkSession
) -> None:
    made = auto(spark, table, partition_by=("name",), properties={"delta.enableDeletionVectors": "true"})
    assert isinstance(made, AutoDelta)
    assert (made.by, "delta.enableDeletionVectors = true" in made.why) == ("spark", True)
    made.commit(frozen_by(made, tmp_path, rows(3, start=1, columns=DATA)), key(0), {})
    [detail] = spark.sql(f"DESCRIBE DETAIL delta.`{table}`").collect()
    assert (detail.partitionColumns, detail.properties) == (["name"], {"delta.enableDeletionVectors": "true"})
    with pytest.raises(SinkRefused, match=r"partition_by is id, but table .* is partitioned by name"):
        by_spark(spark, table, partition_by=("id",)).prepare(DATA, tmp_path)
    with pytest.raises(SinkRefused, match=r"could not be created: .*noSuchThing"):
        by_spark(spark, f"{table}-2", properties={"delta.noSuchThing": "1"}).prepare(DATA, tmp_path)
