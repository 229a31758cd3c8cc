"""Tables by their name in the catalog: the local session's own, which forgets names but not folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock import Delta, Json, Kafka, Pipeline, Sink
from penstock.engine.tables import committers
from penstock.errors import InvalidPipeline, SinkRefused
from penstock.sinks.contract import Committer, Frozen
from penstock.sinks.delta.choose import committer
from penstock.testing.sink_suite import key, rows

DATA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string())])
SCHEMA = "penstock_sales"


@pytest.fixture
def sales(spark: SparkSession) -> Iterator[str]:
    """A schema that is not there yet; gone afterwards."""
    yield SCHEMA
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def named(spark: SparkSession, table: str) -> Committer:
    return committer("lake", table, lambda: spark, partition_by=("name",) if table.endswith("orders") else ())


def write(made: Committer, batch_id: int, batch: pa.RecordBatch, stage: Path, columns: pa.Schema = DATA) -> str:
    target = made.prepare(columns, stage)
    writer = target.writer(str(batch_id))
    assert writer.write(batch) == []
    return made.commit(Frozen(target.to_json(), tuple(writer.close())), key(batch_id), {}).how


def test_a_table_of_the_catalog_is_made_written_and_grown_by_its_name(
    spark: SparkSession, sales: str, tmp_path: Path
) -> None:
    table = f"{sales}.orders"
    made = named(spark, table)
    assert made.watermark(key(0).app) is None
    assert not spark.catalog.tableExists(table), "looking creates nothing"
    wider = DATA.append(pa.field("coupon", pa.string()))
    more = rows(1, start=2, columns=wider, coupon=pa.array(["ten"]))
    assert write(made, 0, rows(2, columns=DATA), tmp_path) == "committed"
    assert write(named(spark, table), 1, more, tmp_path, wider) == "committed"
    assert [(row.id, row.coupon) for row in spark.table(table).orderBy("id").collect()] == [
        (0, None),
        (1, None),
        (2, "ten"),
    ]
    assert named(spark, table).watermark(key(0).app) == 1
    [detail] = spark.sql(f"DESCRIBE DETAIL {table}").collect()
    assert detail.partitionColumns == ["name"]
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    _forget(spark, "orders")
    assert not spark.catalog.tableExists(table)
    again = named(spark, table)
    assert again.watermark(key(0).app) == 1, "a session that knows the name no more finds the folder"
    assert write(again, 2, rows(1, start=3, columns=DATA), tmp_path) == "committed"
    assert spark.table(table).count() == 4


def _forget(spark: SparkSession, table: str) -> None:
    """As if the session had ended: its catalog lives in memory, its tables' folders stay."""
    assert spark._jsparkSession is not None
    [detail] = spark.sql(f"DESCRIBE DETAIL {SCHEMA}.{table}").collect()
    folder = Path(detail.location.removeprefix("file:"))
    aside = folder.with_name("aside")
    folder.rename(aside)
    spark._jsparkSession.sharedState().externalCatalog().dropTable(SCHEMA, table, True, False)
    if folder.exists():
        folder.rmdir()
    aside.rename(folder)


def test_what_is_no_delta_table_of_the_catalog_is_refused(spark: SparkSession, sales: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE SCHEMA {sales}")
    spark.sql(f"CREATE TABLE {sales}.plain (id BIGINT) USING parquet")
    spark.sql(f"CREATE VIEW {sales}.seen AS SELECT 1 AS id")
    for table, says in (
        (f"{sales}.plain", "is no Delta table: the catalog says parquet"),
        (f"{sales}.seen", "is a view"),
        (f"nowhere.{sales}.orders", "cannot be used: .*nowhere"),
    ):
        with pytest.raises(SinkRefused, match=says):
            named(spark, table).prepare(DATA, tmp_path)


def test_a_catalog_name_in_a_pipeline_stays_as_it_is_written(spark: SparkSession, tmp_path: Path) -> None:
    sinks = {"lake": Sink(to=Delta(table="sales.orders")), "copy": Sink(to=Delta(table="./lake/t", writer="spark"))}
    source = Kafka(brokers=("localhost:9092",), topics=("t",))
    pipeline = Pipeline(name="p", folder=tmp_path, source=source, decode=Json(schema="id BIGINT"), sinks=sinks)
    made = committers(pipeline, lambda: spark)
    assert {name: (each.table, each.by) for name, each in made.items()} == {  # type: ignore[attr-defined]
        "dead_letters": (str(tmp_path / "state" / "p" / "dead_letters"), "penstock"),
        "lake": ("sales.orders", "spark"),
        "copy": (str(tmp_path / "lake" / "t"), "spark"),
    }
    assert made["lake"].why == "a table of the catalog"  # type: ignore[attr-defined]
    with pytest.raises(InvalidPipeline, match="is the table of sink `lake` already"):
        Pipeline(
            name="p", folder=tmp_path, source=source, decode=Json(schema="id BIGINT"),
            sinks={"lake": sinks["lake"], "other": Sink(to=Delta(table="Sales.Orders"))},
        )  # fmt: skip
