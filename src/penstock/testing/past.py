"""A pipeline's past, made without Spark and without a broker: ledger, checkpoint and real tables, batch by batch.

A batch may be broken off after any step, as a kill would; and everything that it leaves can then be harmed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from penstock.clock import Clock
from penstock.dev.oracle import rows as rows_of
from penstock.ledger.ledger import Ledger
from penstock.ledger.preflight import Preflight
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.origin import Origin
from penstock.ranges import Range
from penstock.report import outcome_of, story_of
from penstock.rows import LINEAGE
from penstock.sinks.contract import Committer, Frozen
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.tally import Fates, Tally

COLUMNS = pa.schema([pa.field("id", pa.int64())])
STEPS = ("planned", "intent", "freeze", "tables", "outcome", "return")


class BrokenOff(Exception):
    """The batch went no further."""


@dataclass
class Past:
    """A pipeline `p` with tables, on a folder."""

    folder: Path
    names: tuple[str, ...] = ("dead_letters", "lake")
    origin: Origin = field(default_factory=lambda: Origin("cluster-1", {"t": "topic-id-1"}))
    state_name: str = "state"
    next_batch: int = 0
    offset: int = 0
    generation: int = 1

    @property
    def state(self) -> Path:
        return self.folder / self.state_name

    @property
    def spark(self) -> Path:
        return self.state / "spark"

    def table(self, name: str = "lake") -> Path:
        return self.folder / "lake" / name

    def tables(self) -> dict[str, Committer]:
        """As a new process would have them."""
        return {name: DeltaCommitter(name, str(self.table(name))) for name in self.names}

    def ledger(self) -> Ledger:
        return Ledger(self.state, "p", self.generation, "run")

    def preflight(self) -> Ledger:
        return Preflight("p", self.state, self.tables(), "p.yaml").check()

    def run(self, batches: int) -> Past:
        """So many whole batches: three rows each into the last table, none into the others."""
        for _ in range(batches):
            self.batch()
        return self

    def batch(self, rows: Mapping[str, int] | None = None, until: str = "return", fingerprint: str = "code") -> None:
        """One batch: rows by table. `until` is the last step, or the table that was the last to be committed."""
        given = dict(rows) if rows is not None else {self.names[-1]: 3}
        count = max(given.values(), default=0)
        part = Range("t", 0, self.offset, self.offset + count)
        number, self.next_batch, self.offset = self.next_batch, self.next_batch + 1, part.end
        try:
            self._steps(number, part, given, until, fingerprint)
        except BrokenOff:
            return

    def _steps(self, number: int, part: Range, given: Mapping[str, int], until: str, fingerprint: str) -> None:
        ledger = self.ledger()
        ledger.open()
        self._plan(number, part.end)
        _reached("planned", until)
        last = ledger.last_outcome()
        intent = ledger.intend(number, (part,), fingerprint, self.origin)
        _reached("intent", until)
        manifest = ledger.freeze(intent, self._frozen(intent, given), 0)
        _reached("freeze", until)
        receipts = {}
        for name, table in self.tables().items():
            share = manifest.sinks[name]
            receipts[name] = table.commit(share, intent.key(name), {**story_of(manifest, intent), "rows": share.rows})
            _reached(name, until)
        _reached("tables", until)
        ledger.close(outcome_of(intent, manifest, receipts, last, Clock(), replayed=False))
        _reached("outcome", until)
        _log(self.spark / "commits" / str(number), ["v1", '{"nextBatchWatermarkMs":0}'])

    def _plan(self, number: int, end: int) -> None:
        """What Spark writes before it calls us."""
        if number == 0:
            _log(self.spark / "metadata", ['{"id":"00000000-0000-0000-0000-000000000000"}'])
            _log(self.spark / "sources" / "0" / "0", ["\0v1", '{"t":{"0":0}}'])
        conf = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}})
        _log(self.spark / "offsets" / str(number), ["v1", conf, json.dumps({"t": {"0": end}})])

    def _frozen(self, intent: Intent, given: Mapping[str, int]) -> Manifest:
        [part] = intent.ranges
        shares = {}
        for name, table in self.tables().items():
            target = table.prepare(COLUMNS, self.ledger().stage_of(intent.batch_id))
            writer = target.writer(f"{intent.batch_id}-{name}")
            if given.get(name):
                writer.write(_rows(part.start, given[name]))
            shares[name] = Frozen(target.to_json(), tuple(writer.close()))
        fates = Fates(seen=len(part), first=part.start, last=part.end - 1)
        fates.written.update(given)
        return Manifest(intent.digest, time.time(), len(part), Tally({(part.topic, part.partition): fates}), shares)

    def offsets(self, name: str = "lake") -> list[int]:
        """Every id in the table (it is the record's offset), sorted: a doubled row shows."""
        return sorted(row[0] for row in rows_of(self.table(name), "id"))

    def last(self) -> Outcome:
        last = self.ledger().last_outcome()
        assert last is not None
        return last


def _reached(step: str, until: str) -> None:
    if step == until and until != "return":
        raise BrokenOff


def _log(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


def _rows(first: int, count: int) -> pa.RecordBatch:
    numbers = range(first, first + count)
    at = pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * count, LINEAGE.field("_timestamp").type)
    arrays = [
        pa.array(numbers, pa.int64()),
        pa.array(["t"] * count),
        pa.array([0] * count, pa.int32()),
        pa.array(numbers, pa.int64()),
        at,
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*COLUMNS, *LINEAGE]))
