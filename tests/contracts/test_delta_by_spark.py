"""The sink contract, run on Delta with Spark's own writer."""

from __future__ import annotations

import multiprocessing
import resource
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake import Schema as DeltaSchema
from deltalake.schema import PrimitiveType
from pyspark.sql import SparkSession

from penstock.engine.session import session
from penstock.errors import Unavailable
from penstock.rows import LINEAGE
from penstock.sinks.contract import Committer, Frozen
from penstock.sinks.delta.by_spark import SparkDeltaCommitter
from penstock.sinks.delta.staged import SparkTarget
from penstock.testing.sink_suite import COLUMNS, Harness, SinkSuite, freeze, ids, key, rows

RACES = 6
"""Fewer than for delta-rs: a commit of Spark's takes most of a second."""


class Staging(SparkDeltaCommitter):
    """A committer whose batches all have one stage."""

    stage: Path

    def prepare(self, columns: pa.Schema, stage: Path | None = None) -> SparkTarget:
        return super().prepare(columns, stage or self.stage)


@dataclass(frozen=True)
class SparkHarness:
    """A Delta table on a local disk, written by Spark, read and changed by delta-rs."""

    table: str
    stage: str

    def committer(self, schema: str = "evolve") -> Committer:
        made = Staging("lake", self.table, self._session, schema=schema)  # type: ignore[arg-type]
        made.stage = Path(self.stage)
        return made

    def _session(self) -> SparkSession:
        """The shared one; in a process of its own, one of its own."""
        folder = Path(self.stage).parent
        settings = {"spark.master": "local[1]", "spark.sql.warehouse.dir": str(folder / "warehouse")}
        return session("rival", settings, folder / "rival.log")

    def another(self) -> SparkHarness:
        return SparkHarness(f"{self.table}-{uuid.uuid4().hex}", self.stage)

    def visible(self) -> list[dict[str, Any]]:
        if not DeltaTable.is_deltatable(self.table):
            return []
        return list(pa.table(DeltaTable(self.table).scan()).to_pylist())

    def lose(self, file: str) -> None:
        (Path(self.stage) / file).unlink()

    def breaking_changes(self) -> dict[str, Callable[[], None]]:
        return {
            "dropped": lambda: shutil.rmtree(self.table),
            "made anew and grown": self._make_anew_and_grow,
            "a column dropped": lambda: self._overwrite(rows(1).drop_columns(["tags"])),
            "a column retyped": lambda: self._overwrite(_retyped(rows(1))),
        }

    def harmless_changes(self) -> dict[str, Callable[[], None]]:
        return {
            "appended to": lambda: write_deltalake(self.table, pa.table(rows(1, start=7000)), mode="append"),
            "compacted": lambda: _done(DeltaTable(self.table).optimize.compact()),
            "restored": lambda: _done(DeltaTable(self.table).restore(1)),
            "a nullable column added": lambda: DeltaTable(self.table).alter.add_columns(
                Field("later", PrimitiveType("string"))
            ),
            "a condition added that the rows fulfil": lambda: self._alter("ADD CONSTRAINT positive CHECK (id >= 0)"),
            "a feature added": lambda: self._alter("SET TBLPROPERTIES('delta.enableDeletionVectors'='true')"),
        }

    def _alter(self, change: str) -> None:
        self._session().sql(f"ALTER TABLE delta.`{self.table}` {change}")

    def _make_anew_and_grow(self) -> None:
        versions = DeltaTable(self.table).version() + 3
        shutil.rmtree(self.table)
        DeltaTable.create(self.table, DeltaSchema.from_arrow(pa.schema([*COLUMNS, *LINEAGE])))
        for _ in range(versions):
            DeltaTable(self.table).alter.set_table_properties({"delta.appendOnly": "false"})

    def _overwrite(self, batch: pa.RecordBatch) -> None:
        write_deltalake(self.table, pa.table(batch), mode="overwrite", schema_mode="overwrite")


def _done(_: Any) -> None:
    """For calls whose answer is of no use here."""


def _retyped(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.set_column(0, pa.field("id", pa.int32()), batch["id"].cast(pa.int32()))


@contextmanager
def no_room_for(process: int, size: int) -> Iterator[None]:
    """No file of this process may grow larger, as on a full disk; afterwards there is room again."""
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


def jvm_of(spark: SparkSession) -> int:
    """The process of the shared session's JVM."""
    assert spark._jvm is not None
    pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    assert "java" in psutil.Process(pid).name()
    return pid


class TestSpark(SinkSuite):
    @pytest.fixture
    def harness(self, table: str, tmp_path: Path, spark: SparkSession) -> SparkHarness:
        return SparkHarness(table, str(tmp_path / "stage"))

    # The limits of these two are set on the process that writes: here that is not the one that calls.

    def test_a_full_disk_leaves_nothing_visible_and_time_cures_it(self, harness: Harness) -> None:
        committer = harness.committer()
        frozen = freeze(committer, rows(2000))
        active = SparkSession.getActiveSession()
        assert active is not None
        with no_room_for(jvm_of(active), 16), pytest.raises(Unavailable, match="could not be committed"):
            committer.commit(frozen, key(0), {})
        assert harness.visible() == []
        assert committer.commit(frozen, key(0), {}).how == "committed"
        assert len(harness.visible()) == 2000

    def test_a_writer_on_a_full_disk_fails_and_takes_no_space(self, harness: Harness) -> None:
        target = harness.committer().prepare(COLUMNS, Path(harness.stage))  # type: ignore[attr-defined]
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        process = context.Process(target=_write_on_a_full_disk, args=(target, answers))
        process.start()
        assert answers.get(timeout=60) == "OSError"
        process.join(timeout=30)
        assert list(Path(harness.stage).iterdir()) == []  # type: ignore[attr-defined]
        assert harness.visible() == []

    def test_two_processes_that_commit_the_same_batches_at_once_leave_one_copy(self, harness: Harness) -> None:
        committer = harness.committer()
        shares = [freeze(committer, rows(1, start=number), tag=str(number)) for number in range(RACES)]
        context = multiprocessing.get_context("spawn")
        barrier, answers = context.Barrier(2), context.Queue()
        rival = context.Process(target=_commit_all, args=(harness, shares, barrier, answers))
        rival.start()
        hows = [_commit_each(committer, shares, barrier), answers.get(timeout=300)]
        rival.join(timeout=60)
        assert ids(harness) == list(range(RACES))
        assert [sorted(pair) for pair in zip(*hows, strict=True)] == [["committed", "recognised"]] * RACES


def _write_on_a_full_disk(target: SparkTarget, answers: Any) -> None:
    writer = target.writer("full")
    writer.write(rows(5000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    try:
        writer.close()
        answers.put("no error")
    except OSError:
        answers.put("OSError")


def _commit_each(committer: Committer, shares: list[Frozen], barrier: Any) -> list[str]:
    hows = []
    for number, share in enumerate(shares):
        barrier.wait(timeout=300)
        hows.append(committer.commit(share, key(number), {}).how)
    return hows


def _commit_all(harness: Harness, shares: list[Frozen], barrier: Any, answers: Any) -> None:
    committer = harness.committer()
    committer.watermark("warm up")
    answers.put(_commit_each(committer, shares, barrier))
