"""Planted faults: the audit finds each one, tells it from the others, and names the rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from penstock.operate.audit import Verdict, audit
from penstock.testing.handmade import HandMade

LAKE = "p.g1.lake"


@pytest.fixture
def case(tmp_path: Path) -> HandMade:
    """Three batches: offsets 0-3, 4-6 (5 is rejected), 7-8."""
    made = HandMade(tmp_path)
    for records in ("wwww", "wrw", "ww"):
        made.write(records)
    return made


def both(case: HandMade) -> tuple[Verdict, Verdict]:
    return audit(case.pipeline), audit(case.pipeline, deep=True)


def worst(verdict: Verdict) -> str:
    """The first sentence of the verdict's own kind."""
    return verdict.of(verdict.verdict)[0].what


def test_the_case_is_exact_before_anything_is_planted(case: HandMade) -> None:
    quick, deep = both(case)
    assert (quick.findings, deep.findings) == ((), ())
    assert (quick.exit_code, quick.read, quick.written, quick.rejected) == (0, 9, 8, 1)


def test_a_row_that_a_tampered_file_lacks_is_lost_and_named(case: HandMade) -> None:
    rewrite(case, 5 - 1, lambda rows: rows.filter(pc.not_equal(rows["_offset"], 6)))
    quick, deep = both(case)
    assert (quick.verdict, quick.lost, quick.exit_code) == ("lost", 1, 1)
    assert "and 1 row instead of 2" in worst(quick)
    assert (deep.verdict, deep.lost, deep.doubled) == ("lost", 1, 0)
    assert "sink lake, batch 1, t-0: 1 record not there: t-0-6" in worst(deep)
    assert deep.sinks["lake"].partitions["t", 0].examples == ["t-0-6"]
    assert deep.sinks["lake"].written == 7


def test_a_row_that_was_changed_in_its_file_is_found_by_its_lineage(case: HandMade) -> None:
    def elsewhere(rows: pa.Table) -> pa.Table:
        offsets = pc.if_else(pc.equal(rows["_offset"], 6), 600, rows["_offset"])
        return rows.set_column(rows.schema.get_field_index("_offset"), "_offset", offsets.cast(pa.int64()))

    rewrite(case, 4, elsewhere)
    deep = audit(case.pipeline, deep=True)
    assert (deep.verdict, deep.lost) == ("lost", 1)
    assert "t-0-6" in worst(deep)
    assert any("1 row name offsets that no batch of this pipeline read" in finding.what for finding in deep.findings)


def test_a_file_that_is_gone_from_the_disk_is_lost(case: HandMade) -> None:
    file_with(case, 7).unlink()
    quick, deep = both(case)
    assert (quick.verdict, quick.lost) == ("lost", 2)
    assert "is gone from the disk, with 2 rows" in worst(quick)
    assert (deep.verdict, deep.lost) == ("lost", 2)
    assert "sink lake, batch 2, t-0: 2 records not there: t-0-7, t-0-8" in worst(deep)


def test_an_add_action_that_was_taken_out_of_the_log_is_lost(case: HandMade) -> None:
    commit = next(path for path in log(case) if '"version":1,"lastUpdated"' in path.read_text())
    lines = commit.read_text().splitlines()
    commit.write_text("\n".join(line for line in lines if '"add"' not in line))
    quick, deep = both(case)
    assert (quick.verdict, quick.lost) == ("lost", 2)
    assert "sink lake, batch 1: it wrote 2 rows, and the files of version 2 hold 0" in worst(quick)
    assert (deep.verdict, deep.lost) == ("lost", 2)


def test_rows_removed_by_a_commit_without_a_reason_are_lost(case: HandMade) -> None:
    files = pa.table(DeltaTable(case.table()).get_add_actions(flatten=True)).to_pylist()
    path = next(file["path"] for file in files if file["min._offset"] == 7)
    remove = {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}}
    (Path(case.table()) / "_delta_log" / f"{4:020d}.json").write_text(json.dumps(remove))
    quick, deep = both(case)
    assert (quick.verdict, quick.lost) == ("lost", 2)
    assert "the nameless commit of version 4 took away 2 rows and does not say why" in worst(quick)
    assert (deep.verdict, deep.lost) == ("lost", 2)


def test_more_rows_missing_than_the_owner_deleted_are_lost(case: HandMade) -> None:
    DeltaTable(case.table()).delete("_offset = 0")
    rewrite(case, 1, lambda rows: rows.slice(0, 2))
    deep = audit(case.pipeline, deep=True)
    assert (deep.verdict, deep.lost, deep.deleted_by_owner) == ("lost", 1, 1)


def test_a_delete_of_one_batch_does_not_explain_a_loss_in_another(case: HandMade) -> None:
    DeltaTable(case.table()).delete("_offset = 0")
    rewrite(case, 7, lambda rows: rows.slice(0, 1))
    deep = audit(case.pipeline, deep=True)
    assert (deep.verdict, deep.lost, deep.deleted_by_owner) == ("lost", 1, 1)
    assert "t-0-8" in worst(deep)


def test_copies_that_somebody_appended_are_doubled(case: HandMade) -> None:
    rows = DeltaTable(case.table()).to_pyarrow_table()
    write_deltalake(case.table(), rows.filter(pc.is_in(rows["_offset"], pa.array([1, 8]))), mode="append")
    quick, deep = both(case)
    assert (quick.verdict, quick.doubled, quick.exit_code) == ("doubled", 2, 1)
    assert "added 2 rows. 2 of them name offsets that this pipeline read: t-0-1, t-0-8" in worst(quick)
    assert (deep.verdict, deep.doubled, deep.lost, deep.exit_code) == ("doubled", 2, 0, 1)
    assert sorted(name for finding in deep.of("doubled") for name in finding.examples) == ["t-0-1", "t-0-8"]
    DeltaTable(case.table()).optimize.compact()
    assert [found.doubled for found in both(case)] == [2, 2], "also when the rows lie in one file"
    DeltaTable(case.table()).vacuum(0, dry_run=False, enforce_retention_duration=False)
    quick, deep = both(case)
    assert quick.verdict == "unproven"
    assert "and lie in other files by now: they may be copies" in worst(quick)
    assert (deep.verdict, deep.doubled) == ("doubled", 2)


def test_rows_that_the_owner_deleted_and_put_back_are_no_copies(case: HandMade) -> None:
    rows = DeltaTable(case.table()).to_pyarrow_table()
    DeltaTable(case.table()).delete("_offset in (1, 8)")
    write_deltalake(case.table(), rows.filter(pc.is_in(rows["_offset"], pa.array([1, 8]))), mode="append")
    quick, deep = both(case)
    assert quick.verdict == "unproven"
    assert "copies, unless they stand for rows that the owner had deleted" in worst(quick)
    assert (deep.verdict, deep.deleted_by_owner) == ("exact", 0)


def test_a_key_that_somebody_moved_on_without_rows_is_told(case: HandMade) -> None:
    properties = CommitProperties(app_transactions=[Transaction(LAKE, 99)])
    rows = DeltaTable(case.table()).to_pyarrow_table().slice(0, 0)
    write_deltalake(case.table(), rows, mode="append", commit_properties=properties)
    quick = audit(case.pipeline)
    assert quick.verdict == "unproven"
    assert "has the key of batch 99, which the ledger does not know" in worst(quick)


def test_a_row_that_is_twice_in_one_file_is_doubled(case: HandMade) -> None:
    rewrite(case, 7, lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))
    quick, deep = both(case)
    assert (quick.verdict, quick.doubled) == ("doubled", 1)
    assert (deep.verdict, deep.doubled) == ("doubled", 1)
    assert "t-0-7" in worst(deep)


def test_a_doubled_record_of_several_rows_is_told_from_its_several_rows(tmp_path: Path) -> None:
    case = HandMade(tmp_path)
    case.write("w3w")
    rewrite(case, 0, lambda rows: pa.concat_tables([rows, rows.filter(pc.equal(rows["_offset"], 1)).slice(0, 1)]))
    deep = audit(case.pipeline, deep=True)
    assert (deep.verdict, deep.doubled, deep.lost) == ("doubled", 1, 0)
    assert "t-0-1" in worst(deep)


def test_a_record_that_lost_one_of_its_rows_is_lost(tmp_path: Path) -> None:
    case = HandMade(tmp_path)
    case.write("w3w")
    rewrite(case, 0, lambda rows: rows.slice(0, 3) if rows["_offset"][1].as_py() == 1 else rows.slice(0, 4))
    deep = audit(case.pipeline, deep=True)
    assert deep.verdict == "lost"


@pytest.mark.parametrize("story", [None, {"digest": "0" * 64}])
def test_a_forged_commit_under_our_key_is_found(case: HandMade, story: dict[str, Any] | None) -> None:
    forge(case, 3, story)
    quick, deep = both(case)
    assert (quick.verdict, quick.doubled, quick.exit_code) == ("doubled", 2, 1)
    assert "has the key of batch 3, which the ledger does not know: penstock did not write it (2 rows)" in worst(quick)
    assert deep.verdict == "doubled"


def test_a_forged_commit_under_the_key_of_a_batch_that_is_there_is_found(case: HandMade) -> None:
    forge(case, 1, {"digest": "0" * 64})
    quick, deep = both(case)
    assert (quick.verdict, quick.doubled) == ("doubled", 2)
    assert "has its key, but another digest: penstock did not write it" in worst(quick)
    assert deep.verdict == "doubled"


def test_the_same_batch_committed_twice_is_doubled(case: HandMade) -> None:
    commit = next(path for path in log(case) if '"version":2,"lastUpdated"' in path.read_text())
    again = commit.read_text().replace("part-", "copy-")
    for path in Path(case.table()).glob("part-00000002-*"):
        shutil.copy(path, path.with_name(path.name.replace("part-", "copy-")))
    (commit.parent / f"{4:020d}.json").write_text(again)
    quick, deep = both(case)
    assert (quick.verdict, quick.doubled) == ("doubled", 2)
    assert "sink lake, batch 2: committed by version 3, and once more by version 4" in worst(quick)
    assert (deep.verdict, deep.doubled) == ("doubled", 2)


def test_an_optimize_that_drops_rows_is_lost(case: HandMade) -> None:
    DeltaTable(case.table()).optimize.compact()
    newest = log(case)[-1]
    text = newest.read_text()
    assert '\\"numRecords\\":8' in text
    newest.write_text(text.replace('\\"numRecords\\":8', '\\"numRecords\\":7'))
    quick = audit(case.pipeline)
    assert (quick.verdict, quick.lost) == ("lost", 1)
    assert "the OPTIMIZE of version 4 moved 8 rows and wrote 7" in worst(quick)


def test_a_table_that_was_restored_to_an_older_version_has_lost_what_came_after(case: HandMade) -> None:
    DeltaTable(case.table()).restore(2)
    quick, deep = both(case)
    assert (quick.verdict, quick.lost, quick.exit_code) == ("lost", 2, 1)
    assert "sink lake, batch 2: a RESTORE undid its commit of version 3, with 2 records" in worst(quick)
    assert "TO VERSION AS OF 3" in quick.of("lost")[0].remedy
    assert (deep.verdict, deep.lost) == ("lost", 2)
    DeltaTable(case.table()).restore(3)
    assert [found.verdict for found in both(case)] == ["exact", "exact"], "the remedy works"


def test_a_table_that_was_dropped_is_unproven(case: HandMade) -> None:
    shutil.rmtree(case.table())
    for found in both(case):
        assert (found.verdict, found.exit_code) == ("unproven", 3)
        assert "there is no table at" in worst(found)
        assert "the ledger says that it was given 8 rows" in worst(found)


def test_a_table_that_was_made_anew_is_another_one(case: HandMade) -> None:
    rows = DeltaTable(case.table()).to_pyarrow_table()
    shutil.rmtree(case.table())
    write_deltalake(case.table(), rows)
    quick, deep = both(case)
    assert (quick.verdict, quick.lost) == ("lost", 8)
    assert any("is another table now (id" in finding.what for finding in quick.findings)
    assert deep.verdict == "unproven", "all rows are there, but it is not the table that we wrote"


def test_a_dead_letter_that_is_gone_is_lost(case: HandMade) -> None:
    [file] = Path(case.table("dead_letters")).glob("part-*")
    schema = pq.read_schema(file)
    pq.write_table(schema.empty_table(), file)
    quick, deep = both(case)
    assert (quick.verdict, quick.lost) == ("lost", 1)
    assert (deep.verdict, deep.lost, deep.letters["dead_letters"].lost) == ("lost", 1, 1)
    assert "sink dead_letters, batch 1" in worst(deep)


def test_a_record_in_the_sink_and_in_the_dead_letters_is_doubled(case: HandMade) -> None:
    def with_the_rejected_one(rows: pa.Table) -> pa.Table:
        more = rows.slice(0, 1).to_pylist()
        return pa.concat_tables([rows, pa.Table.from_pylist([{**more[0], "_offset": 5}], rows.schema)])

    rewrite(case, 4, with_the_rejected_one)
    deep = audit(case.pipeline, deep=True)
    assert (deep.verdict, deep.doubled) == ("doubled", 1)
    assert "t-0-5" in worst(deep)


def rewrite(case: HandMade, offset: int, change: Callable[[pa.Table], pa.Table]) -> None:
    """Tamper with the file that holds this offset; the log is left as it is."""
    path = file_with(case, offset)
    rows = pq.read_table(path)
    pq.write_table(change(rows), path)


def file_with(case: HandMade, offset: int) -> Path:
    uris = [Path(uri) for uri in DeltaTable(case.table()).file_uris()]
    return next(path for path in uris if offset in pq.read_table(path, columns=["_offset"])["_offset"].to_pylist())


def log(case: HandMade) -> list[Path]:
    return sorted((Path(case.table()) / "_delta_log").glob("*.json"))


def forge(case: HandMade, batch_id: int, story: dict[str, Any] | None) -> None:
    """Commit copies of two rows under a key of ours."""
    rows = DeltaTable(case.table()).to_pyarrow_table().slice(0, 2)
    told = None if story is None else {"userMetadata": json.dumps(story)}
    properties = CommitProperties(app_transactions=[Transaction(LAKE, batch_id)], custom_metadata=told)
    write_deltalake(case.table(), rows, mode="append", commit_properties=properties)
