"""A checkpoint of any Structured Streaming job, ours or not, read and never written: how far it is, what ails it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from penstock import files
from penstock.counting import spoken
from penstock.errors import Refused
from penstock.ledger import sparklog
from penstock.ledger.sparklog import Damaged, Planned
from penstock.operate.checkpoint_files import StateSize, changed_at, checksums, crc_holds, state_size
from penstock.ranges import Positions, positions_to_spark

STUCK_SECONDS = 600.0
"""A batch that is unfinished for less is not called stuck, however short batches are as a rule."""
STUCK_TIMES = 10.0


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or may be."""

    code: str
    what: str
    remedy: str = ""
    grave: bool = False
    """Whether the job will not start again as it is, or data may be lost or doubled."""


@dataclass(frozen=True)
class Done:
    """A batch that is committed. Times are those of the files, so a copy of a checkpoint may have lost them."""

    batch_id: int
    committed_at: float
    seconds: float | None
    """From its offsets to its commit."""


@dataclass(frozen=True)
class Foreign:
    """What a checkpoint tells."""

    path: str
    at: float
    query_id: str | None
    planned: Planned | None
    """The newest batch whose offsets can be read."""
    newest: int | None
    """The newest batch in the offset log, whether it can be read or not."""
    committed: int | None
    positions: Positions
    """Where the next batch starts, over all Kafka sources: what is done is done up to here."""
    batches: tuple[Done, ...] = ()
    state: StateSize | None = None
    findings: tuple[Finding, ...] = ()
    kinds: tuple[str, ...] = field(default=())
    """Of the sources, in the order of the plan: `kafka`, `files`, `delta`, `other`, `none`."""

    @property
    def unfinished(self) -> int | None:
        """The batch that is planned and not committed."""
        behind = self.newest is not None and (self.committed is None or self.newest > self.committed)
        return self.newest if behind else None

    @property
    def unfinished_seconds(self) -> float | None:
        """How long ago it was planned."""
        if self.unfinished is None or self.planned is None or self.planned.planned_at is None:
            return None
        return max(0.0, self.at - self.planned.planned_at)

    @property
    def usual_seconds(self) -> float | None:
        """How long a batch takes as a rule."""
        known = [batch.seconds for batch in self.batches if batch.seconds is not None]
        return median(known) if known else None

    @property
    def stuck(self) -> bool:
        """Is a batch unfinished for much longer than batches take?"""
        waited = self.unfinished_seconds
        return waited is not None and waited > max(STUCK_SECONDS, STUCK_TIMES * (self.usual_seconds or 0.0))

    @property
    def last_commit_at(self) -> float | None:
        return self.batches[-1].committed_at if self.batches else None

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "query_id": self.query_id,
            "sources": list(self.kinds),
            "planned": self.newest,
            "committed": self.committed,
            "unfinished": self.unfinished,
            "unfinished_seconds": self.unfinished_seconds,
            "stuck": self.stuck,
            "usual_batch_seconds": self.usual_seconds,
            "last_commit_at": self.last_commit_at,
            "positions": positions_to_spark(self.positions),
            "watermark_ms": self.planned.watermark_ms if self.planned else None,
            "state": dict(self.state.__dict__) if self.state else None,
            "batches": [dict(batch.__dict__) for batch in self.batches],
            "findings": [dict(finding.__dict__) for finding in self.findings],
        }


def look(path: Path) -> Foreign:
    """The checkpoint in this folder; of a pipeline of ours, its state folder will do. Refused if there is none."""
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(path)):
        raise Refused(
            f"{path}: a checkpoint is read from a disk of this machine only.",
            data="Nothing was read or changed.",
            remedy="Copy its folders `offsets`, `commits`, `sources` and the file `metadata`, and look at the copy.",
        )
    folder = path / "spark" if (path / "spark").is_dir() and (path / "ledger").is_dir() else path
    if not any((folder / name).exists() for name in ("offsets", "commits", "metadata")):
        raise Refused(
            f"{path}: there is no checkpoint of Structured Streaming: neither `offsets` nor `commits` nor `metadata`.",
            data="Nothing was read or changed.",
            remedy="Name the folder that the job has as its checkpointLocation.",
        )
    return _Look(folder).done()


class _Look:
    """One look at one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.at = folder, time.time()
        self.offsets = files.numbered(folder / "offsets")
        self.commits = files.numbered(folder / "commits")
        self.findings: list[Finding] = []
        self.read: dict[int, Planned] = {}

    def done(self) -> Foreign:
        newest = max(self.offsets, default=None)
        committed = max(self.commits, default=None)
        planned = next((each for number in reversed(self.offsets[-3:]) if (each := self._planned(number))), None)
        query = self._query_id()
        self._logs(newest, committed)
        positions = self._positions(committed)
        made = Foreign(
            path=str(self.folder),
            at=self.at,
            query_id=query,
            planned=planned,
            newest=newest,
            committed=committed,
            positions=positions,
            batches=tuple(self._batches()),
            state=state_size(self.folder / "state"),
            kinds=tuple(source.kind for source in planned.sources) if planned else (),
        )
        if made.stuck:
            self.findings.insert(0, _stuck(made))
        return Foreign(**{**made.__dict__, "findings": tuple(self.findings)})

    def _planned(self, number: int) -> Planned | None:
        if number in self.read:
            return self.read[number]
        path = self.folder / "offsets" / str(number)
        body = files.read(path)
        try:
            found = sparklog.planned(number, body or b"")
        except Damaged as error:
            self._half_written(number, str(error))
            return None
        if crc_holds(path, body or b"") is False:
            self._note("checksum", path, "was changed after Spark wrote it: its checksum does not hold.", grave=True)
        self.read[number] = found
        return found

    def _half_written(self, number: int, why: str) -> None:
        remedy = "Restore it from a backup."
        if number == max(self.offsets) and number not in self.commits:
            remedy = (
                f"Batch {number} is not committed. First see whether the sink has it (a Delta table: --table PATH). If "
                f"it has not, move offsets/{number} and offsets/.{number}.crc away: Spark then plans it afresh."
            )
        self.findings.append(
            Finding(
                "half_written",
                f"offsets/{number} is damaged: {why}. The job does not start with it.",
                remedy,
                grave=True,
            )
        )

    def _query_id(self) -> str | None:
        path = self.folder / "metadata"
        body = files.read(path)
        try:
            return sparklog.query_id(body or b"")
        except Damaged:
            if self.offsets:
                self._note(
                    "no_metadata",
                    path,
                    "is missing or damaged: it holds the id of the query. Spark 4.2 does not start without it; older "
                    "ones take a new id, and a Delta table no longer recognises the batches it has.",
                    "Restore it from a backup; the table's history names the id too (txn.appId).",
                    grave=True,
                )
            return None

    def _logs(self, newest: int | None, committed: int | None) -> None:
        """What is missing between the two logs."""
        if committed is not None and committed not in self.offsets:
            text = f"commits/{committed} has no offsets/{committed}: Spark cannot tell where the next batch starts."
            self.findings.append(Finding("no_offsets", text, "Restore the offsets from a backup.", grave=True))
        elif newest is not None and newest > 0 and newest - 1 not in self.offsets:
            text = f"offsets/{newest - 1} is missing: Spark needs it beside offsets/{newest} to start again."
            self.findings.append(Finding("no_offsets", text, "Restore it from a backup.", grave=True))
        skipped = [number for number in self.offsets if newest and number < newest and number not in self.commits]
        skipped = [number for number in skipped if not self.commits or number > min(self.commits)]
        if skipped:
            named = ", ".join(map(str, skipped[:5]))
            text = f"batches {named} have offsets and no commit, and a later one was begun."
            remedy = (
                "With asynchronous progress that is usual. Else compare the sink with these offsets: rows may miss."
            )
            self.findings.append(Finding("no_commit", text, remedy, grave=skipped[-1] == (newest or 0) - 1))
        for log in ("offsets", "commits"):
            there = self.offsets if log == "offsets" else self.commits
            lost = [number for number in checksums(self.folder / log) if number not in there]
            if lost:
                text = f"{log}/{lost[-1]} is gone and its checksum is there: somebody removed it, or the disk lost it."
                self.findings.append(Finding("only_checksum", text, "Restore it from a backup.", grave=True))

    def _positions(self, committed: int | None) -> Positions:
        if committed is not None:
            found = self._planned(committed) if committed in self.offsets else None
            return found.positions if found else {}
        made: Positions = {}
        for path in sorted((self.folder / "sources").glob("*/0")):
            body = files.read(path)
            if body and body[:1] == b"\0":
                try:
                    made |= sparklog.initial(body)
                except Damaged as error:
                    self._note("half_written", path, f"is damaged: {error}.")
        return made

    def _batches(self) -> Iterator[Done]:
        for number in self.commits:
            done = changed_at(self.folder / "commits" / str(number))
            began = changed_at(self.folder / "offsets" / str(number))
            if done is not None:
                yield Done(number, done, None if began is None else max(0.0, done - began))

    def _note(self, code: str, path: Path, text: str, remedy: str = "", *, grave: bool = False) -> None:
        self.findings.append(Finding(code, f"{path.relative_to(self.folder)} {text}", remedy, grave=grave))


def _stuck(found: Foreign) -> Finding:
    usual = "" if found.usual_seconds is None else f" Batches take {spoken(found.usual_seconds)} as a rule."
    return Finding(
        "stuck_batch",
        f"batch {found.unfinished} was planned {spoken(found.unfinished_seconds or 0.0)} ago and is not committed: "
        f"offsets are ahead of commits.{usual}",
        "If the job runs, it hangs in this batch: look at its sink and at its slowest task. If it does not, it does "
        "this batch again when it is started.",
    )
