"""The contract that every sink passes. A sink's test module subclasses `SinkSuite` and gives it a harness.

    class TestDelta(SinkSuite):
        @pytest.fixture
        def harness(self, tmp_path): return DeltaHarness(tmp_path / "table")

A harness is small and picklable, because two of the tests start processes of their own.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pytest

from penstock.errors import PenstockError, Refused, SinkRefused, TableChanged, Unavailable
from penstock.rows import LINEAGE
from penstock.sinks.contract import Committer, Frozen, Receipt, Target, WriteKey

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("amount", pa.decimal128(18, 2)),
        pa.field("device", pa.struct([pa.field("os", pa.string())])),
        pa.field("tags", pa.list_(pa.string())),
    ]
)
RACES = 50


class Staged(Committer, Protocol):
    """A committer that knows where to stage by itself: the suite has no batches of its own."""

    def prepare(self, columns: pa.Schema, stage: Path = ...) -> Target: ...


class Harness(Protocol):
    """How the suite gets at a sink and at what others do to its target."""

    def committer(self, schema: str = "evolve") -> Staged: ...

    def another(self) -> Harness:
        """The same sort of sink with a target of its own."""
        ...

    def visible(self) -> list[dict[str, Any]]:
        """Every row that a reader sees, read by something that is not penstock."""
        ...

    def breaking_changes(self) -> dict[str, Callable[[], None]]:
        """What another writer may do to the target so that frozen files must no longer go into it."""
        ...

    def harmless_changes(self) -> dict[str, Callable[[], None]]:
        """What another writer may do without making the frozen files wrong."""
        ...

    def lose(self, file: str) -> None:
        """Take away a file that was written and not committed, as a vacuum does."""
        ...


def rows(count: int, start: int = 0, columns: pa.Schema = COLUMNS, **extra: pa.Array) -> pa.RecordBatch:
    """A batch in these columns, with lineage: offset `start` and on."""
    numbers = range(start, start + count)
    arrays: dict[str, pa.Array] = {
        "id": pa.array(numbers, pa.int64()),
        "name": pa.array([f"name {number}" if number % 3 else None for number in numbers]),
        "amount": pa.array([Decimal(number).scaleb(-2) for number in numbers], pa.decimal128(18, 2)),
        "device": pa.array([{"os": "ios"} if number % 2 else None for number in numbers], COLUMNS.field("device").type),
        "tags": pa.array([["a", None] for _ in numbers], COLUMNS.field("tags").type),
        "_topic": pa.array(["orders"] * count),
        "_partition": pa.array([0] * count, pa.int32()),
        "_offset": pa.array(numbers, pa.int64()),
        "_timestamp": pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * count, LINEAGE.field("_timestamp").type),
        **extra,
    }
    schema = pa.schema([*columns, *LINEAGE])
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def key(batch_id: int, digest: str | None = None) -> WriteKey:
    return WriteKey("shop", 1, "lake", batch_id, digest or f"digest-{batch_id}")


def freeze(committer: Staged, *batches: pa.RecordBatch, columns: pa.Schema = COLUMNS, tag: str = "0") -> Frozen:
    """What a batch with one task would have in its manifest, after a trip through JSON."""
    target = committer.prepare(columns)
    writer = target.writer(tag)
    for batch in batches:
        assert writer.write(batch) == []
    return Frozen.from_json(Frozen(target.to_json(), tuple(writer.close())).to_json())


def write(committer: Staged, batch_id: int, batch: pa.RecordBatch, columns: pa.Schema = COLUMNS) -> Receipt:
    return committer.commit(freeze(committer, batch, columns=columns), key(batch_id), {"ranges": {}})


def ids(harness: Harness) -> list[int]:
    return sorted(row["id"] for row in harness.visible())


class SinkSuite:
    """Facts about a sink. None of them speaks of a particular system."""

    def test_what_is_committed_is_visible(self, harness: Harness) -> None:
        receipt = write(harness.committer(), 0, rows(3))
        assert (receipt.how, receipt.rows) == ("committed", 3)
        first = next(row for row in harness.visible() if row["id"] == 1)
        assert (first["name"], first["amount"], first["device"]) == ("name 1", Decimal("0.01"), {"os": "ios"})
        assert (first["_topic"], first["_partition"], first["_offset"]) == ("orders", 0, 1)

    def test_the_same_batch_twice_is_visible_once(self, harness: Harness) -> None:
        frozen = freeze(harness.committer(), rows(5))
        first = harness.committer().commit(frozen, key(0), {})
        for committer in (harness.committer(), harness.committer()):
            committer.verify(frozen, key(0))
            assert committer.commit(frozen, key(0), {}) == replace(first, how="recognised")
        assert ids(harness) == [0, 1, 2, 3, 4]

    def test_an_earlier_batch_is_recognised_after_later_ones(self, harness: Harness) -> None:
        committer = harness.committer()
        frozen = [freeze(committer, rows(2, start=2 * number)) for number in range(3)]
        for number, share in enumerate(frozen):
            committer.commit(share, key(number), {})
        assert committer.commit(frozen[0], key(0), {}).how == "recognised"
        assert committer.watermark(key(0).app) == 2
        assert ids(harness) == [0, 1, 2, 3, 4, 5]

    def test_the_same_batch_id_with_other_content_halts(self, harness: Harness) -> None:
        committer = harness.committer()
        write(committer, 7, rows(2))
        with pytest.raises(Refused, match="same batch id with other content"):
            committer.commit(freeze(committer, rows(2, start=10)), key(7, "another"), {})
        assert ids(harness) == [0, 1]

    def test_a_batch_without_rows_writes_no_file(self, harness: Harness) -> None:
        committer = harness.committer()
        frozen = freeze(committer, rows(0))
        assert frozen.files == ()
        assert committer.commit(frozen, key(0), {}).how == "empty"
        assert harness.visible() == []

    def test_the_watermark_is_the_last_batch_and_none_before_the_first(self, harness: Harness) -> None:
        committer = harness.committer()
        assert committer.watermark(key(0).app) is None
        write(committer, 0, rows(1))
        assert (committer.watermark(key(0).app), harness.committer().watermark(key(0).app)) == (0, 0)
        assert committer.watermark("another.g1.lake") is None

    def test_files_of_a_batch_that_was_never_committed_are_invisible(self, harness: Harness) -> None:
        lost, tried_again = freeze(harness.committer(), rows(4)), harness.committer()
        assert lost.files
        write(tried_again, 0, rows(4))
        assert ids(harness) == [0, 1, 2, 3]

    def test_a_new_column_is_added_and_older_rows_read_null(self, harness: Harness) -> None:
        committer = harness.committer()
        write(committer, 0, rows(1))
        wider = COLUMNS.append(pa.field("coupon", pa.string(), nullable=False))
        write(committer, 1, rows(1, start=1, columns=wider, coupon=pa.array(["ten"])), wider)
        assert {row["id"]: row["coupon"] for row in harness.visible()} == {0: None, 1: "ten"}

    def test_a_frozen_batch_with_a_new_column_is_recognised_too(self, harness: Harness) -> None:
        committer = harness.committer()
        write(committer, 0, rows(1))
        wider = COLUMNS.append(pa.field("coupon", pa.string()))
        frozen = freeze(committer, rows(1, start=1, columns=wider, coupon=pa.array(["ten"])), columns=wider)
        assert [harness.committer().commit(frozen, key(1), {}).how for _ in range(2)] == ["committed", "recognised"]
        assert ids(harness) == [0, 1]

    def test_a_fixed_schema_refuses_a_new_column(self, harness: Harness) -> None:
        write(harness.committer(), 0, rows(1))
        wider = COLUMNS.append(pa.field("coupon", pa.string()))
        with pytest.raises(SinkRefused, match=r"coupon(.|\n)*wrote nothing(.|\n)*schema: evolve"):
            harness.committer("fixed").prepare(wider)

    def test_a_column_that_the_batch_lacks_is_null(self, harness: Harness) -> None:
        write(harness.committer(), 0, rows(1))
        fewer = pa.schema([COLUMNS.field("id"), COLUMNS.field("tags")])
        write(harness.committer(), 1, rows(1, start=1, columns=fewer), fewer)
        assert {row["id"]: row["amount"] for row in harness.visible()} == {0: Decimal("0.00"), 1: None}

    def test_a_column_of_another_type_is_refused(self, harness: Harness) -> None:
        write(harness.committer(), 0, rows(1))
        other = COLUMNS.set(0, pa.field("id", pa.int32()))
        with pytest.raises(SinkRefused, match=r"`id` is BIGINT in the table, INT in the batch"):
            harness.committer().prepare(other)

    def test_a_change_under_a_frozen_batch_stops_it(self, harness: Harness) -> None:
        for name in harness.breaking_changes():
            each = harness.another()
            committer = each.committer()
            write(committer, 0, rows(1))
            frozen = freeze(committer, rows(2, start=1))
            committer.verify(frozen, key(1))
            each.breaking_changes()[name]()
            before = each.visible()
            for witness in (committer, each.committer()):
                with pytest.raises(TableChanged, match="no longer what the batch was written for"):
                    witness.verify(frozen, key(1))
                with pytest.raises(TableChanged):
                    witness.commit(frozen, key(1), {})
            assert each.visible() == before, name

    def test_a_harmless_change_under_a_frozen_batch_does_not_stop_it(self, harness: Harness) -> None:
        committer = harness.committer()
        write(committer, 0, rows(2))
        for number, (name, change) in enumerate(harness.harmless_changes().items(), start=1):
            frozen = freeze(committer, rows(1, start=number * 100))
            change()
            assert committer.commit(frozen, key(number), {}).how == "committed", name
            assert number * 100 in ids(harness), name

    def test_a_file_that_is_gone_or_cut_stops_the_batch(self, harness: Harness) -> None:
        committer = harness.committer()
        frozen = freeze(committer, rows(2))
        harness.lose(frozen.files[0].path)
        with pytest.raises(TableChanged, match=r"part-.* is gone"):
            committer.commit(frozen, key(0), {})
        assert harness.visible() == []

    def test_a_full_disk_leaves_nothing_visible_and_time_cures_it(self, harness: Harness) -> None:
        committer = harness.committer()
        frozen = freeze(committer, rows(2000))
        assert _elsewhere(_commit_on_a_full_disk, harness, frozen) == Unavailable.__name__
        assert harness.visible() == []
        assert committer.commit(frozen, key(0), {}).how == "committed"
        assert len(harness.visible()) == 2000

    def test_a_writer_on_a_full_disk_fails_and_takes_no_space(self, harness: Harness) -> None:
        harness.committer().prepare(COLUMNS)
        assert _elsewhere(_write_on_a_full_disk, harness, None) == "OSError"
        assert harness.visible() == []

    def test_two_processes_that_commit_the_same_batches_at_once_leave_one_copy(self, harness: Harness) -> None:
        committer = harness.committer()
        shares = [freeze(committer, rows(1, start=number), tag=str(number)) for number in range(RACES)]
        context = multiprocessing.get_context("spawn")
        barrier, answers = context.Barrier(2), context.Queue()
        rivals = [context.Process(target=_commit_all, args=(harness, shares, barrier, answers)) for _ in range(2)]
        for rival in rivals:
            rival.start()
        hows = [answers.get(timeout=120) for _ in rivals]
        for rival in rivals:
            rival.join(timeout=30)
        assert ids(harness) == list(range(RACES))
        assert [sorted(pair) for pair in zip(*hows, strict=True)] == [["committed", "recognised"]] * RACES


def _elsewhere(work: Callable[[Harness, Any], None], harness: Harness, given: Any) -> str:
    """The name of the error that this work raises in a process of its own; a limit set there stays there."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_named_error, args=(work, harness, given, answers))
    process.start()
    name = answers.get(timeout=60)
    process.join(timeout=30)
    return str(name)


def _named_error(work: Callable[[Harness, Any], None], harness: Harness, given: Any, answers: Any) -> None:
    try:
        work(harness, given)
        answers.put("no error")
    except (PenstockError, OSError, AssertionError) as error:
        answers.put(type(error).__name__)


def _no_room(size: int) -> None:
    """No file may grow larger: the kernel answers a write beyond it with an error, as a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _commit_on_a_full_disk(harness: Harness, frozen: Frozen) -> None:
    committer = harness.committer()
    committer.verify(frozen, key(0))
    _no_room(16)
    committer.commit(frozen, key(0), {})


def _write_on_a_full_disk(harness: Harness, _: None) -> None:
    target = harness.committer().prepare(COLUMNS)
    writer = target.writer("full")
    writer.write(rows(5000))
    _no_room(1024)
    try:
        writer.close()
    finally:
        left = list(Path(target.to_json()["table"]).glob("part-full-*"))
        assert left == [], left


def _commit_all(harness: Harness, shares: list[Frozen], barrier: Any, answers: Any) -> None:
    committer = harness.committer()
    hows = []
    for number, share in enumerate(shares):
        barrier.wait(timeout=60)
        hows.append(committer.commit(share, key(number), {}).how)
    answers.put(hows)
