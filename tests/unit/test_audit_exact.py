"""The audit raises no false alarm: whatever a pipeline or a table's owner may rightly do is exact."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.operate.audit import Verdict, audit
from penstock.operate.generation import new_generation
from penstock.testing.handmade import DATA, HandMade

BOTH = pytest.mark.parametrize("deep", [False, True], ids=["quick", "deep"])
EVERY_FATE = ["wwrd3", "nxww.", "rr", "dd", "....", "w9w"]


def words(verdict: Verdict) -> list[str]:
    return [finding.what for finding in verdict.findings]


@BOTH
def test_every_fate_of_a_record_is_accounted_for(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    for records in EVERY_FATE:
        case.write(records)
    found = audit(case.pipeline, deep=deep)
    assert (found.verdict, found.findings) == ("exact", ())
    assert (found.read, found.written, found.rejected, found.dropped) == (16, 8, 4, 3)
    lake = found.sinks["lake"]
    assert lake.read == lake.written + lake.not_routed + lake.rejected + lake.dropped


@BOTH
def test_two_sinks_with_different_rows_are_both_exact(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path, sinks={"lake": {}, "copy": {"lineage": "struct"}})
    case.write({0: "wwn2", 1: "xr"})
    case.write({0: "nn", 1: "w"})
    found = audit(case.pipeline, deep=deep)
    assert found.exact, words(found)
    assert [found.sinks[name].written for name in ("lake", "copy")] == [4, 8]
    assert audit(case.pipeline, deep=deep, sink="copy").sinks.keys() == {"copy"}
    if deep:
        assert found.written == 8, "records in at least one sink"


@BOTH
@pytest.mark.parametrize("by", [["name"], ["_partition"], ["_topic", "name"]])
def test_partitioned_tables_are_exact(tmp_path: Path, deep: bool, by: list[str]) -> None:
    case = HandMade(tmp_path, sinks={"lake": {"partition_by": by}})
    case.write({0: "wwww", 1: "www"})
    case.write({0: "wwww", 1: "wrd"})
    DeltaTable(case.table()).optimize.compact()
    assert audit(case.pipeline, deep=deep).findings == ()


@BOTH
def test_a_batch_that_came_again_is_exact(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    intent, manifest = case.freeze("wwr")
    for _ in range(3):
        case.publish(intent, manifest)
    case.write("w")
    assert audit(case.pipeline, deep=deep).findings == ()


@BOTH
def test_a_table_that_grew_and_was_optimized_is_exact(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    case.write("www")
    case.columns = pa.schema([*DATA, pa.field("coupon", pa.string())])
    case.write("w3w")
    table = DeltaTable(case.table())
    table.optimize.compact()
    case.write("ww")
    DeltaTable(case.table()).optimize.z_order(["id"])
    assert audit(case.pipeline, deep=deep).findings == ()


@BOTH
@pytest.mark.parametrize("sort", ["delete", "update", "overwrite"])
def test_what_the_owner_declares_is_told_and_is_no_loss(tmp_path: Path, deep: bool, sort: str) -> None:
    case = HandMade(tmp_path)
    case.write("wwww")
    case.write("ww")
    table = DeltaTable(case.table())
    if sort == "delete":
        table.optimize.compact()
        table.delete("_offset in (1, 4)")
    elif sort == "update":
        table.update(updates={"name": "'x'"}, predicate="_offset = 1")
    else:
        write_deltalake(table, table.to_pyarrow_table().slice(0, 5), mode="overwrite")
    found = audit(case.pipeline, deep=deep)
    assert found.exact, words(found)
    name = {"delete": "DELETE", "update": "UPDATE", "overwrite": "WRITE"}[sort]
    assert any(f"the owner's {name} of version" in what for what in words(found))
    assert found.deleted_by_owner == {"delete": 2, "update": 0, "overwrite": 1}[sort]
    assert found.lost == found.doubled == 0


@BOTH
def test_a_restore_that_brings_everything_back_is_exact(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    case.write("wwww")
    table = DeltaTable(case.table())
    table.restore(0)
    table.restore(1)
    table.delete("_offset = 2")
    table.restore(3)
    found = audit(case.pipeline, deep=deep)
    assert found.exact, words(found)
    assert found.deleted_by_owner == 0


@BOTH
@pytest.mark.parametrize("begin", ["last", "source"])
def test_a_second_generation_that_goes_on_is_exact_and_one_that_reads_again_doubles(
    tmp_path: Path, deep: bool, begin: str
) -> None:
    case = HandMade(tmp_path)
    case.write("wwr")
    case.write("w")
    new_generation("p", case.state, case.tables(), "last" if begin == "last" else "source", "run")
    case.generation, case.batch_id = 2, 0
    if begin == "source":
        case.at = {}
    case.write("wwr")
    case.write("ww")
    found = audit(case.pipeline, deep=deep)
    assert found.generations == 2
    if begin == "last":
        assert found.exact, words(found)
    else:
        assert found.verdict == "doubled"
        assert any("(new-generation --from source)" in what for what in words(found))
        assert [(part.start, part.end) for part in found.sinks["lake"].overlaps] == [(0, 3), (3, 4)]
        assert found.sinks["lake"].doubled == (3 if deep else 4), "rows, or offsets where only ranges are compared"


@BOTH
def test_a_topic_that_was_created_again_has_other_records_under_the_same_offsets(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    case.write("wwr")
    new_generation("p", case.state, case.tables(), "source", "run")
    case.generation, case.batch_id, case.topic_id, case.at = 2, 0, "second-life", {}
    case.write("www")
    found = audit(case.pipeline, deep=deep)
    assert found.exact, words(found)


@BOTH
def test_a_batch_in_flight_is_named_and_not_judged(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    case.write("ww")
    intent, manifest = case.freeze("wwr")
    case.tables()["lake"].commit(
        manifest.sinks["lake"], intent.key("lake"), {"digest": intent.digest, "rows": manifest.sinks["lake"].rows}
    )
    found = audit(case.pipeline, deep=deep)
    assert found.exact, words(found)
    assert (found.read, found.in_flight) == (2, ("batch 1",))
    assert found.sinks["lake"].foreign == 0


@BOTH
def test_another_writer_is_told_and_not_counted(tmp_path: Path, deep: bool) -> None:
    case = HandMade(tmp_path)
    case.write("ww")
    schema = pa.schema(DeltaTable(case.table()).schema().to_arrow())
    write_deltalake(case.table(), pa.Table.from_pylist([{"id": 9, "name": "theirs"}] * 3, schema), mode="append")
    case.write("w")
    found = audit(case.pipeline, deep=deep)
    assert found.exact, words(found)
    assert any("is not penstock's and added 3 rows" in what for what in words(found))
    if deep:
        assert found.sinks["lake"].foreign == 3


def test_files_that_others_rewrote_are_read_whatever_their_form(tmp_path: Path) -> None:
    case = HandMade(tmp_path)
    case.write({0: "www", 1: "wwr", 2: "ww"})
    table = DeltaTable(case.table())
    table.optimize.compact()
    table.delete("_partition = 1 and _offset = 0")
    found = audit(case.pipeline, deep=True)
    assert found.exact, words(found)
    assert found.deleted_by_owner == 1


def test_a_cleaned_log_is_unproven_until_the_rows_are_counted(tmp_path: Path) -> None:
    case = HandMade(tmp_path)
    for _ in range(3):
        case.write("ww")
    table = DeltaTable(case.table())
    table.create_checkpoint()
    for version in range(3):
        (Path(case.table()) / "_delta_log" / f"{version:020d}.json").unlink()
    quick = audit(case.pipeline)
    assert (quick.verdict, quick.exit_code) == ("unproven", 3)
    assert (
        "the table's log begins at version 3, and the commits of batch 0 to batch 1 were before it" in words(quick)[0]
    )
    assert audit(case.pipeline, since="2").exact
    assert audit(case.pipeline, deep=True).exact
