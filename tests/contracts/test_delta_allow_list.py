"""Tables made by Spark with features that our files would violate: each is refused by name, nothing is written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.errors import SinkRefused, TableChanged
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.sink_suite import freeze, key, rows, write

LINEAGE = "_topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"
ID = pa.schema([pa.field("id", pa.int64())])
REFUSED = {
    "column mapping": ("id BIGINT", "TBLPROPERTIES('delta.columnMapping.mode'='name')", "column mapping"),
    "deletion vectors": ("id BIGINT", "TBLPROPERTIES('delta.enableDeletionVectors'='true')", "deletionVectors"),
    "generated": ("id BIGINT, g BIGINT GENERATED ALWAYS AS (id + 1)", "", r"a generated column \(`g`\)"),
    "identity": ("id BIGINT, g BIGINT GENERATED ALWAYS AS IDENTITY", "", "identity column"),
    "identity, legacy": (
        "id BIGINT",
        "TBLPROPERTIES('delta.minReaderVersion'='2','delta.minWriterVersion'='6')",
        "writer version 6",
    ),
    "varchar": ("id BIGINT, g VARCHAR(3)", "", r"VARCHAR column \(`g`\)"),
    "nested char": ("id BIGINT, s STRUCT<c: CHAR(3)>", "", r"VARCHAR column \(`s"),
    "default": (
        "id BIGINT, g INT DEFAULT 3",
        "TBLPROPERTIES('delta.feature.allowColumnDefaults'='supported')",
        "column default",
    ),
    "clustering": ("id BIGINT", "CLUSTER BY (id)", "clustering"),
    "row tracking": ("id BIGINT", "TBLPROPERTIES('delta.enableRowTracking'='true')", "rowTracking"),
    "in-commit time": ("id BIGINT", "TBLPROPERTIES('delta.enableInCommitTimestamps'='true')", "inCommitTimestamp"),
    "v2 checkpoints": ("id BIGINT", "TBLPROPERTIES('delta.checkpointPolicy'='v2')", "v2Checkpoint"),
    "type widening": ("id BIGINT", "TBLPROPERTIES('delta.enableTypeWidening'='true')", "typeWidening"),
    "variant": ("id BIGINT, v VARIANT", "", "variantType"),
    "forgotten batches": (
        "id BIGINT",
        "TBLPROPERTIES('delta.setTransactionRetentionDuration'='interval 7 days')",
        "setTransactionRetentionDuration",
    ),
}
TAKEN = {
    "plain": ("id BIGINT", ""),
    "not null": ("id BIGINT NOT NULL", ""),
    "change feed": ("id BIGINT", "TBLPROPERTIES('delta.enableChangeDataFeed'='true')"),
    "append only": ("id BIGINT", "TBLPROPERTIES('delta.appendOnly'='true')"),
    "legacy 4": ("id BIGINT", "TBLPROPERTIES('delta.minReaderVersion'='1','delta.minWriterVersion'='4')"),
    "legacy 5": ("id BIGINT", "TBLPROPERTIES('delta.minReaderVersion'='2','delta.minWriterVersion'='5')"),
    "unzoned column that is not written": ("id BIGINT, n TIMESTAMP_NTZ", ""),
}


def make(spark: SparkSession, table: str, columns: str, rest: str) -> None:
    spark.sql(f"CREATE TABLE delta.`{table}` ({columns}, {LINEAGE}) USING delta {rest}")


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_with_this_feature_is_refused_by_name(name: str, table: str, spark: SparkSession) -> None:
    columns, rest, says = REFUSED[name]
    make(spark, table, columns, rest)
    with pytest.raises(SinkRefused, match=rf"(?s){says}.*wrote nothing.*Spark's writer"):
        DeltaCommitter("lake", table).prepare(ID)
    assert [path.name for path in Path(table).iterdir()] == ["_delta_log"]


def test_a_check_constraint_is_refused_and_its_removal_is_enough(table: str, spark: SparkSession) -> None:
    make(spark, table, "id BIGINT", "")
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT positive CHECK (id > 0)")
    with pytest.raises(SinkRefused, match="the CHECK constraint `positive`"):
        DeltaCommitter("lake", table).prepare(ID)
    spark.sql(f"ALTER TABLE delta.`{table}` DROP CONSTRAINT positive")
    assert DeltaCommitter("lake", table).prepare(ID).columns.names[0] == "id"


@pytest.mark.parametrize("name", TAKEN)
def test_a_table_within_the_list_is_written(name: str, table: str, spark: SparkSession) -> None:
    make(spark, table, *TAKEN[name])
    write(DeltaCommitter("lake", table), 0, rows(2, columns=ID), ID)
    assert [row.id for row in spark.read.format("delta").load(table).orderBy("id").collect()] == [0, 1]


CHANGES = {
    "repartitioned": "partitioned by name, was by nothing",
    "retyped": "`id` is STRING in the table, BIGINT in the batch",
    "dropped": "column `tags` is gone",
    "renamed": "column mapping",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_spark_makes_under_a_frozen_batch_stops_it(change: str, table: str, spark: SparkSession) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(2, start=1))
    frozen = freeze(committer, rows(2, start=3))
    here = f"delta.`{table}`"
    held = spark.read.format("delta").load(table).where("name IS NOT NULL")
    overwrite = {"mode": "overwrite", "overwriteSchema": "true", "format": "delta"}
    if change == "repartitioned":
        held.write.save(table, partitionBy="name", **overwrite)
    elif change == "retyped":
        held.withColumn("id", held.id.cast("string")).write.save(table, **overwrite)
    elif change == "dropped":
        held.drop("tags").write.save(table, **overwrite)
    else:
        spark.sql(f"ALTER TABLE {here} SET TBLPROPERTIES('delta.columnMapping.mode'='name')")
        spark.sql(f"ALTER TABLE {here} RENAME COLUMN name TO title")
    before = spark.read.format("delta").load(table).count()
    with pytest.raises(TableChanged, match=CHANGES[change]):
        committer.commit(frozen, key(1), {})
    assert spark.read.format("delta").load(table).count() == before
