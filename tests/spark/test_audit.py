"""The audit of what the engine itself wrote: batches, replays, Spark's own rewrites, deletion vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock import Delta, Sink
from penstock.operate.audit import Verdict, audit
from penstock.testing.batches import Bench

Make = Callable[..., Bench]
GOOD = [b'{"id": %d, "name": "n%d", "amount": 1.50}' % (number, number % 2) for number in range(8)]


def words(verdict: Verdict) -> list[str]:
    return [finding.what for finding in verdict.findings]


def both(case: Bench) -> list[Verdict]:
    return [audit(case.plan().pipeline, deep=deep) for deep in (False, True)]


def written(bench: Make) -> Bench:
    """Two batches: offsets 0-4 with two rejects, 5-8."""
    case = bench()
    case.plan().ledger.open()
    case.write([*GOOD[:3], b"oops", b'{"id": "x"}'])
    case.write(GOOD[3:7], batch_id=1, first=5)
    return case


def test_what_the_engine_wrote_is_exact(bench: Make) -> None:
    for found in both(written(bench)):
        assert found.findings == ()
        assert (found.read, found.written, found.rejected) == (9, 7, 2)


def test_batches_that_came_again_and_columns_that_joined_are_exact(bench: Make) -> None:
    case = written(bench)
    case.write(GOOD[3:7], batch_id=1, first=5)
    case.schema += ", coupon STRING"
    for _ in range(2):
        case.write([b'{"id": 9, "coupon": "c"}'], batch_id=2, first=9)
    for found in both(case):
        assert found.findings == (), words(found)


def test_a_batch_that_died_before_its_outcome_is_in_flight(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = written(bench)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.ledger.ledger.Ledger.close", die)
    with pytest.raises(KeyboardInterrupt):
        case.write(GOOD[:2], batch_id=2, first=9)
    monkeypatch.undo()
    for found in both(case):
        assert found.findings == (), words(found)
        assert (found.in_flight, found.read) == (("batch 2",), 9)
    case.write(GOOD[:2], batch_id=2, first=9)
    for found in both(case):
        assert (found.findings, found.in_flight, found.read) == ((), (), 11)


@pytest.mark.parametrize("vectors", [False, True])
def test_sparks_own_rewrites_are_exact_and_its_delete_is_the_owners(bench: Make, vectors: bool) -> None:
    case = written(bench)
    table = f"delta.`{case.table}`"
    case.spark.sql(f"OPTIMIZE {table} ZORDER BY (id)")
    case.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = {str(vectors).lower()})")
    for found in both(case):
        assert found.exact, words(found)
    case.spark.sql(f"DELETE FROM {table} WHERE _offset = 6")
    case.spark.sql(f"UPDATE {table} SET name = 'x' WHERE _offset = 7")
    for found in both(case):
        assert found.exact, words(found)
        assert found.deleted_by_owner == 1
        assert any("the owner's DELETE of version" in what and "removed 1 row" in what for what in words(found))


def test_a_restore_by_spark_is_a_loss_and_the_way_back_works(bench: Make) -> None:
    case = written(bench)
    case.spark.sql(f"RESTORE TABLE delta.`{case.table}` TO VERSION AS OF 1")
    quick, deep = both(case)
    assert (quick.verdict, quick.lost) == ("lost", 4)
    assert (deep.verdict, deep.lost) == ("lost", 4)
    back = quick.of("lost")[0].remedy.partition("  ")[2]
    case.spark.sql(back)
    for found in both(case):
        assert found.exact, words(found)


def test_a_table_with_names_of_its_own_for_columns_is_read(bench: Make) -> None:
    """Spark writes it, because delta-rs would write it wrongly."""
    case = bench(delta={"properties": {"delta.columnMapping.mode": "name"}})
    case.plan().ledger.open()
    case.write([*GOOD[:3], b"oops"])
    case.write(GOOD[3:5], batch_id=1, first=4)
    [file] = [*case.table.rglob("part-*.parquet")][:1]
    assert "_offset" not in pq.read_schema(file).names
    for found in both(case):
        assert found.findings == (), words(found)
    case.spark.sql(f"DELETE FROM delta.`{case.table}` WHERE _offset = 4")
    deep = audit(case.plan().pipeline, deep=True)
    assert (deep.verdict, deep.deleted_by_owner) == ("exact", 1), words(deep)


def test_a_table_of_the_catalog_is_found_through_spark(bench: Make) -> None:
    case = written(bench)
    case.spark.sql(f"CREATE TABLE default.audited USING delta LOCATION '{case.table}'")
    try:
        pipeline = case.plan().pipeline
        named = pipeline.model_copy(update={"sinks": {"lake": Sink(to=Delta(table="default.audited"))}})
        assert audit(named, deep=True, spark=case.spark).findings == ()
        gone = pipeline.model_copy(update={"sinks": {"lake": Sink(to=Delta(table="default.not_there"))}})
        found = audit(gone, spark=case.spark)
        assert (found.verdict, found.findings[0].sink) == ("unproven", "lake")
    finally:
        case.spark.sql("DROP TABLE default.audited")


def test_rows_that_spark_inserted_are_another_writers(bench: Make, tmp_path: Path) -> None:
    case = written(bench)
    case.spark.sql(f"INSERT INTO delta.`{case.table}` (id, name) VALUES (1, 'theirs')")
    for found in both(case):
        assert found.exact, words(found)
        assert any("is not penstock's and added 1 row" in what for what in words(found))
    case.spark.sql(f"INSERT INTO delta.`{case.table}` SELECT * FROM delta.`{case.table}` WHERE _offset = 5")
    quick, deep = both(case)
    assert (quick.verdict, quick.doubled) == ("doubled", 1)
    assert (deep.verdict, deep.doubled) == ("doubled", 1)
    assert deep.of("doubled")[0].examples == ("t-0-5",)
