"""What the committer does when the table is new, old, forgotten, or changed at the last moment."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Transaction, write_deltalake
from deltalake.schema import PrimitiveType

from penstock.errors import Refused, SinkRefused, TableChanged
from penstock.rows import DEAD_LETTER
from penstock.sinks.delta import Delta
from penstock.sinks.delta.changes import changes
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.sinks.delta.folder import Folder
from penstock.sinks.delta.state import TableState
from penstock.testing.sink_suite import COLUMNS, freeze, key, rows, write


def count(table: str) -> int:
    return int(pa.table(DeltaTable(table).scan()).num_rows)


def test_a_new_table_has_the_lowest_protocol_and_nullable_lineage(table: str) -> None:
    target = DeltaCommitter("lake", table, properties={"delta.checkpointInterval": "10"}).prepare(COLUMNS)
    made = DeltaTable(table)
    assert tuple(made.protocol())[:2] == (1, 2)
    assert made.metadata().configuration == {"delta.checkpointInterval": "10"}
    assert [field.nullable for field in made.schema().fields] == [False, *[True] * 8]
    assert target.table_id == str(made.metadata().id)


def test_a_folder_with_other_files_is_refused(table: str) -> None:
    Path(table).mkdir()
    (Path(table) / "holiday.jpg").write_bytes(b"...")
    with pytest.raises(SinkRefused, match=r"no Delta table, and not empty: it holds holiday\.jpg"):
        DeltaCommitter("lake", table).prepare(COLUMNS)
    assert [path.name for path in Path(table).iterdir()] == ["holiday.jpg"]


def test_the_watermark_of_a_table_that_is_not_there_creates_nothing(table: str) -> None:
    assert DeltaCommitter("lake", table).watermark("any") is None
    assert not Path(table).exists()


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"delta.enableDeletionVectors": "true"}, "delta.enableDeletionVectors"),
        ({"delta.columnMapping.mode": "name"}, "column mapping"),
        ({"delta.noSuchThing": "1"}, "delta.noSuchThing"),
    ],
)
def test_properties_that_we_would_not_honour_make_no_table(properties: dict[str, str], says: str, table: str) -> None:
    with pytest.raises(SinkRefused, match=says):
        DeltaCommitter("lake", table, properties=properties).prepare(COLUMNS)
    assert not DeltaTable.is_deltatable(table)


def _make(table: str, barrier: Any, answers: Any) -> None:
    barrier.wait(timeout=60)
    answers.put(DeltaCommitter("lake", table).prepare(COLUMNS).table_id)


def test_two_processes_that_create_the_table_at_once_agree_on_one(table: str) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2), context.Queue()
    makers = [context.Process(target=_make, args=(table, barrier, answers)) for _ in range(2)]
    for maker in makers:
        maker.start()
    assert {answers.get(timeout=60) for _ in makers} == {str(DeltaTable(table).metadata().id)}
    for maker in makers:
        maker.join(timeout=30)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (pa.schema([("ID", pa.int64())]), "`id` is spelled `ID`"),
        (pa.schema([("id", pa.int64()), ("id2", pa.string()), ("Id2", pa.string())]), "`id2` and `Id2`"),
        (pa.schema([("id", pa.int64()), ("_offset", pa.int64())]), "two columns `_offset` and `_offset`"),
        (pa.schema([("id", pa.int64()), ("a b", pa.int64())]), "The name 'a b' is not possible"),
        (pa.schema([("id", pa.int64()), ("u", pa.uint64())]), "type uint64"),
        (pa.schema([("name", pa.string())]), "`id` is NOT NULL, and the batch does not have it"),
    ],
)
def test_columns_that_no_table_or_not_this_one_can_take_are_refused(columns: pa.Schema, says: str, table: str) -> None:
    DeltaCommitter("lake", table).prepare(COLUMNS)
    with pytest.raises(SinkRefused, match=says):
        DeltaCommitter("lake", table).prepare(columns)


def test_the_commit_tells_its_story(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    committer.commit(freeze(committer, rows(3)), key(7), {"ranges": {"orders": {"0": [0, 3]}}})
    told = json.loads(DeltaTable(table).history(1)[0]["userMetadata"])
    assert told == {
        "ranges": {"orders": {"0": [0, 3]}}, "app": "shop.g1.lake", "batch_id": 7, "digest": "digest-7", "rows": 3,
    }  # fmt: skip


def forget(table: str) -> None:
    """What is left when the log is cleaned: a checkpoint, and no commit before it."""
    write_deltalake(table, pa.table(rows(1, start=99)), mode="append")
    newest = DeltaTable(table)
    newest.create_checkpoint()
    for number in range(newest.version()):
        (Path(table) / "_delta_log" / f"{number:020d}.json").unlink()


def test_a_batch_whose_commit_left_the_log_is_recognised_by_its_files(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    frozen = freeze(committer, rows(3))
    committer.commit(frozen, key(0), {})
    forget(table)
    assert DeltaCommitter("lake", table).commit(frozen, key(0), {}).how == "recognised"
    assert count(table) == 4


def test_a_batch_whose_commit_left_the_log_and_whose_files_are_others_halts(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(3))
    forget(table)
    with pytest.raises(Refused, match="that commit is not in its log"):
        committer.commit(freeze(committer, rows(3, start=10)), key(0), {})


def test_a_closed_generation_commits_nothing_more(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(1))
    frozen = freeze(committer, rows(1, start=1))
    closed = CommitProperties(app_transactions=[Transaction(key(0).app, 2**63 - 1)])
    DeltaTable(table).alter.set_table_properties({"delta.appendOnly": "false"}, commit_properties=closed)
    if committer.watermark(key(0).app) != 2**63 - 1:
        write_deltalake(table, pa.table(rows(1, start=50)), mode="append", commit_properties=closed)
    before = count(table)
    with pytest.raises(Refused, match="this generation was closed"):
        committer.commit(frozen, key(1), {})
    assert count(table) == before


def at_the_last_moment(
    committer: DeltaCommitter, monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]
) -> list[int]:
    """Let another writer act once between our last look at the table and our commit."""
    real = committer.watch.tail.append
    done: list[int] = []

    def interrupted(folder: Folder, body: bytes) -> int | None:
        if not done:
            done.append(1)
            deed()
        return real(folder, body)

    monkeypatch.setattr(committer.watch.tail, "append", interrupted)
    return done


def test_a_rival_with_the_same_key_at_the_last_moment_is_recognised(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer, rival = DeltaCommitter("lake", table), DeltaCommitter("lake", table)
    frozen = freeze(committer, rows(3))
    done = at_the_last_moment(committer, monkeypatch, lambda: rival.commit(frozen, key(0), {}))
    assert (committer.commit(frozen, key(0), {}).how, done) == ("recognised", [1])
    assert count(table) == 3


def test_an_appender_at_the_last_moment_is_no_trouble(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    committer = DeltaCommitter("lake", table)
    frozen = freeze(committer, rows(3))
    at_the_last_moment(
        committer, monkeypatch, lambda: write_deltalake(table, pa.table(rows(1, start=9)), mode="append")
    )
    assert committer.commit(frozen, key(0), {}).version == 2
    assert count(table) == 4


def test_a_column_retyped_at_the_last_moment_stops_the_batch(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(1))
    frozen = freeze(committer, rows(3))
    other = pa.table(rows(1)).set_column(0, "id", pa.array([1], pa.int32()))
    at_the_last_moment(
        committer, monkeypatch, lambda: write_deltalake(table, other, mode="overwrite", schema_mode="overwrite")
    )
    with pytest.raises(TableChanged, match="`id` is INT in the table, BIGINT in the batch"):
        committer.commit(frozen, key(1), {})
    assert count(table) == 1


@pytest.mark.parametrize("how", ["overwrite", "restore"])
def test_a_table_replaced_at_the_last_moment_is_not_written_to(
    table: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Our commit on top would hide that earlier batches are gone: then nobody would ever look for them."""
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(2))
    write(committer, 1, rows(2, start=2))
    frozen = freeze(committer, rows(2, start=4))
    harm = {
        "overwrite": lambda: write_deltalake(table, pa.table(rows(1)), mode="overwrite"),
        "restore": lambda: DeltaTable(table).restore(1),
    }
    at_the_last_moment(committer, monkeypatch, harm[how])
    with pytest.raises(SinkRefused, match=r"was given batches up to 1, but version 3 (replaced|restored)"):
        committer.commit(frozen, key(2), {})
    assert committer.watermark(key(2).app) == 1


def test_a_commit_that_fails_after_it_landed_is_recognised(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    committer = DeltaCommitter("lake", table)
    frozen = freeze(committer, rows(3))
    real = committer.watch.tail.append

    def lands_and_fails(folder: Folder, body: bytes) -> None:
        real(folder, body)
        raise OSError("the answer was lost")

    monkeypatch.setattr(committer.watch.tail, "append", lands_and_fails)
    assert committer.commit(frozen, key(0), {}).how == "recognised"
    assert count(table) == 3


def test_two_batches_that_add_the_same_column_add_it_once(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(1))
    wider = COLUMNS.append(pa.field("coupon", pa.string()))
    frozen = freeze(committer, rows(1, start=1, columns=wider, coupon=pa.array(["x"])), columns=wider)
    DeltaTable(table).alter.add_columns(Field("coupon", PrimitiveType("string")))
    committer.commit(frozen, key(1), {})
    assert [field.name for field in DeltaTable(table).schema().fields].count("coupon") == 1
    assert count(table) == 2


def test_the_new_column_has_a_commit_of_its_own_before_the_files(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    write(committer, 0, rows(1))
    wider = COLUMNS.append(pa.field("coupon", pa.string()))
    receipt = write(committer, 1, rows(1, start=1, columns=wider, coupon=pa.array(["x"])), wider)
    log = [json.loads(line) for line in _commit(table, receipt.version - 1)]
    assert any("metaData" in action for action in log)
    assert not any("add" in action for action in log)
    assert not any("metaData" in json.loads(line) for line in _commit(table, receipt.version))


def _commit(table: str, version: int) -> list[str]:
    return (Path(table) / "_delta_log" / f"{version:020d}.json").read_text().splitlines()


def test_a_column_that_became_not_null_is_a_change(table: str) -> None:
    committer = DeltaCommitter("lake", table)
    frozen = freeze(committer, rows(1))
    look = committer.watch.look()
    assert look is not None
    state = look.state
    stricter = [{**field, "nullable": field["name"] not in ("id", "name")} for field in state.fields]
    now = TableState(**{**state.__dict__, "fields": tuple(stricter)})
    assert list(changes(frozen.target, now)) == ["column `name` is NOT NULL now, or something in it is"]
    assert list(changes(frozen.target, state)) == []


def test_a_dead_letter_table_has_its_own_columns_and_no_lineage(table: str) -> None:
    committer = DeltaCommitter("dead_letters", table, lineage=None)
    letter = {field.name: None for field in DEAD_LETTER} | {"topic": "orders", "value": b"\xff", "headers": []}
    batch = pa.RecordBatch.from_pylist([letter], schema=DEAD_LETTER)
    committer.commit(freeze(committer, batch, columns=DEAD_LETTER), key(0), {})
    [found] = pa.table(DeltaTable(table).scan()).to_pylist()
    assert (found["value"], found["headers"], list(found)) == (b"\xff", [], DEAD_LETTER.names)


def test_spark_s_writer_without_a_session_is_refused_and_not_ignored(table: str) -> None:
    with pytest.raises(SinkRefused, match="needs Spark's writer, and there is no session"):
        Delta.model_validate({"table": table, "writer": "spark"}).committer("lake")
