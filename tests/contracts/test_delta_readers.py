"""A table that penstock wrote, as others see it: Spark, delta-rs, Polars, DuckDB; and as Spark goes on with it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.sinks.contract import Frozen
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.delta_values import EVERY_TYPE, PARTITION_VALUES, ROWS, batch
from penstock.testing.sink_suite import COLUMNS, freeze, key, rows, write


def commit(table: str, columns: pa.Schema, given: list[dict[str, Any]], **how: Any) -> Frozen:
    committer = DeltaCommitter("lake", table, **how)
    frozen = freeze(committer, batch(columns, given), columns=columns)
    committer.commit(frozen, key(0), {})
    return frozen


def complete(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row.get(name) for name in EVERY_TYPE.names}


def with_maps(row: dict[str, Any]) -> dict[str, Any]:
    """Arrow gives a map as a list of pairs; here it is compared as a map."""
    labels = row["labels"]
    pairs = [(pair["key"], pair["value"]) if isinstance(pair, dict) else pair for pair in labels or ()]
    return {**row, "labels": labels if labels is None or isinstance(labels, dict) else dict(pairs)}


def in_utc(row: dict[str, Any]) -> dict[str, Any]:
    """Spark gives moments without a zone, in the session's; the tests' session is in UTC."""
    moment = row["moment"]
    return {**row, "moment": moment and (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)}


def read_by_delta_rs(table: str, _: SparkSession) -> list[dict[str, Any]]:
    return list(pa.table(DeltaTable(table).scan()).to_pylist())


def read_by_polars(table: str, _: SparkSession) -> list[dict[str, Any]]:
    return pl.scan_delta(table).collect().to_dicts()


def read_by_duckdb(table: str, _: SparkSession) -> list[dict[str, Any]]:
    files = [str(uri) for uri in DeltaTable(table).file_uris()]
    return list(duckdb.connect().read_parquet(files).to_arrow_table().to_pylist())


def read_by_spark(table: str, spark: SparkSession) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in spark.read.format("delta").load(table).collect()]


@pytest.mark.parametrize("read", [read_by_delta_rs, read_by_polars, read_by_duckdb, read_by_spark])
def test_every_type_reads_the_same_everywhere(read: Any, table: str, spark: SparkSession) -> None:
    commit(table, EVERY_TYPE, ROWS)
    found = {row["id"]: in_utc(with_maps(complete(row))) for row in read(table, spark)}
    for row in ROWS:
        expected = complete(row)
        got = found[row["id"]]
        got["raw"] = got["raw"] if got["raw"] is None else bytes(got["raw"])
        assert got == expected


@pytest.mark.parametrize("name", PARTITION_VALUES)
def test_partition_values_read_back_everywhere(name: str, table: str, spark: SparkSession) -> None:
    kind, values = PARTITION_VALUES[name]
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("moment", kind)])
    commit(table, columns, [{"id": n, "moment": v} for n, v in enumerate(values)], partition_by=["moment"])
    expected = dict(enumerate(values))
    readers = {read.__name__: read(table, spark) for read in (read_by_spark, read_by_polars, read_by_duckdb)}
    for reader, found in readers.items():
        got = {row["id"]: in_utc(row)["moment"] if name == "moment" else row["moment"] for row in found}
        assert got == expected, reader


def test_a_partition_timestamp_means_the_same_in_a_session_of_another_zone(table: str, spark: SparkSession) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("at", pa.timestamp("us", "UTC"))])
    moment = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
    commit(table, columns, [{"id": 1, "at": moment}], partition_by=["at"])
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        [row] = spark.read.format("delta").load(table).selectExpr("unix_micros(at) AS at").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row["at"] == moment.timestamp() * 1_000_000


def files_read(spark: SparkSession, table: str, where: str) -> int:
    return len(spark.read.format("delta").load(table).where(where).inputFiles())


def test_spark_skips_files_by_our_statistics_and_never_a_row(table: str, spark: SparkSession) -> None:
    columns = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("name", pa.string()),
            pa.field("money", pa.decimal128(18, 2)),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("score", pa.float64()),
            pa.field("device", pa.struct([pa.field("os", pa.string())])),
        ]
    )
    start = datetime(2026, 1, 1, microsecond=999_999, tzinfo=UTC)
    committer = DeltaCommitter("lake", table)
    for number in range(4):
        row = {
            "id": number,
            "name": "x" * 40 + str(number),
            "money": Decimal("90071992547409.93") + number,
            "at": start + timedelta(days=number),
            "score": math.nan if number == 3 else float(number),
            "device": {"os": f"os {number}"},
        }
        committer.commit(freeze(committer, batch(columns, [row]), columns=columns), key(number), {})
    assert files_read(spark, table, "id = 2") == 1
    assert files_read(spark, table, "id > 100") == 0
    assert files_read(spark, table, "device.os = 'os 1'") == 1
    assert files_read(spark, table, "money = 90071992547410.93") == 1
    assert files_read(spark, table, "at > '2026-01-03 00:00:00.999998'") == 2
    assert files_read(spark, table, f"name = '{'x' * 40}2'") == 4
    table_now = spark.read.format("delta").load(table)
    assert table_now.where("at = '2026-01-02 00:00:00.999999'").count() == 1
    assert table_now.where(f"name = '{'x' * 40}2'").count() == 1
    assert table_now.where("score > 1").count() == 2  # NaN is larger than everything
    assert table_now.where("score = double('NaN')").count() == 1


@pytest.mark.slow
def test_spark_goes_on_with_the_table_and_penstock_after_it(table: str, spark: SparkSession, tmp_path: Path) -> None:
    committer = DeltaCommitter("lake", table, properties={"delta.checkpointInterval": "3"})
    for number in range(3):
        write(committer, number, rows(10, start=number * 10))
        assert committer.upkeep.wait(120) in (None, 0)
    assert list((Path(table) / "_delta_log").glob("*.checkpoint.parquet")), "Spark begins with a checkpoint of ours"
    here = f"delta.`{table}`"
    spark.sql(
        f"MERGE INTO {here} t USING (SELECT 5L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'five'"
    )
    spark.sql(f"DELETE FROM {here} WHERE id = 6")
    spark.sql(f"OPTIMIZE {here}")
    frozen = freeze(committer, rows(10, start=30))
    spark.sql(f"VACUUM {here} RETAIN 168 HOURS")
    assert committer.commit(frozen, key(3), {}).how == "committed"
    now = spark.read.format("delta").load(table)
    assert (now.count(), now.where("name = 'five'").count(), now.where("id = 6").count()) == (39, 1, 0)
    assert spark.read.format("delta").option("versionAsOf", 3).load(table).count() == 30
    assert committer.commit(frozen, key(3), {}).how == "recognised"
    streamed = spark.readStream.format("delta").option("ignoreChanges", "true").load(table)
    query = (
        streamed.writeStream.format("memory").queryName("seen").outputMode("append")
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination(60)
    write(committer, 4, rows(10, start=40))
    assert spark.sql("SELECT count(DISTINCT id) AS n FROM seen").collect()[0].n >= 39
    assert spark.read.format("delta").load(table).where("id >= 30").count() == 20


def test_spark_rewrites_a_partitioned_table_of_ours(table: str, spark: SparkSession) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("part", pa.string())])
    values = ["a/b=c%20 d", "😀", None, "x"]
    commit(table, columns, [{"id": n, "part": v} for n, v in enumerate(values)], partition_by=["part"])
    assert files_read(spark, table, "part = '😀'") == 1
    spark.sql(f"UPDATE delta.`{table}` SET part = 'moved' WHERE part = 'x'")
    spark.sql(f"UPDATE delta.`{table}` SET id = id + 10")
    spark.sql(f"OPTIMIZE delta.`{table}`")
    for read in (read_by_spark, read_by_delta_rs, read_by_polars):
        found = {row["id"]: row["part"] for row in read(table, spark)}
        assert found == {10: "a/b=c%20 d", 11: "😀", 12: None, 13: "moved"}, read.__name__


@pytest.mark.slow
def test_a_vacuum_without_retention_takes_frozen_files_and_the_batch_stops(table: str, spark: SparkSession) -> None:
    from penstock.errors import TableChanged

    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(3))
    frozen = freeze(committer, rows(3, start=3))
    spark.sql(f"VACUUM delta.`{table}` RETAIN 0 HOURS")
    with pytest.raises(TableChanged, match="is gone"):
        committer.commit(frozen, key(1), {})
    assert spark.read.format("delta").load(table).count() == 3


def test_spark_and_penstock_recognise_each_others_batches(table: str, spark: SparkSession) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 4, rows(2))
    again = spark.read.format("delta").load(table).limit(1)
    for version in (4, 5):
        again.write.format("delta").mode("append").option("txnAppId", key(0).app).option("txnVersion", version).save(
            table
        )
    assert committer.watermark(key(0).app) == 5
    assert spark.read.format("delta").load(table).count() == 3


def test_lineage_may_be_one_struct(table: str, spark: SparkSession) -> None:
    committer = DeltaCommitter("lake", table, lineage="struct")
    write(committer, 0, rows(2))
    [first] = spark.read.format("delta").load(table).where("_source.offset = 1").collect()
    assert (first["id"], first["_source"]["topic"], first["_source"]["partition"]) == (1, "orders", 0)
    assert DeltaTable(table).schema().fields[-1].name == "_source"
    assert len(DeltaTable(table).schema().fields) == len(COLUMNS) + 1
