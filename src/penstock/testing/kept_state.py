"""A state folder as long runs leave it, made by the real writers: ledger, dead letters, history, now.json. No Spark."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from penstock import files
from penstock.ledger.lease import lease
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Manifest, Outcome
from penstock.observe.events import BatchCommitted
from penstock.observe.history import History
from penstock.observe.lag import Lag
from penstock.observe.now import InHand, LastBatch, Now, Shown, path_of
from penstock.observe.tracker import Measure, Tracker
from penstock.origin import Origin
from penstock.ranges import Positions, Range
from penstock.report import committed
from penstock.rows import DEAD_LETTER
from penstock.sinks.contract import Receipt
from penstock.tally import Fates, Tally

PHASES = {
    "intent": 0.02,
    "pass": 0.61,
    "conserve": 0.01,
    "freeze": 0.04,
    "tables": 0.21,
    "topics": 0.08,
    "outcome": 0.03,
}
"""Shares of a batch's seconds."""


@dataclass
class KeptState:
    """A pipeline that read some topics for a while, and what it left in `folder`."""

    folder: Path
    name: str = "orders"
    topics: Sequence[str] = ("orders", "returns")
    partitions: int = 3
    batches: int = 40
    seconds: float = 12.0
    """From one batch to the next; the last one was committed just now."""
    rows: int = 12_000
    """Of a batch, about."""
    behind: int = 900
    """Rows unread in all, about."""
    ended: str = ""
    error: str = ""
    alerts: tuple[dict[str, Any], ...] = ()
    ranges_of: int | None = None
    """Partitions that a batch reads; None: all."""
    codes: dict[str, int] = field(default_factory=lambda: {"missing_field": 9, "wrong_type": 4, "positive_amount": 7})
    sinks: tuple[str, ...] = ("lake",)
    until: float = field(default_factory=time.time)
    place: str = ""
    """The folder's name, where it is not the pipeline's."""

    @property
    def state(self) -> Path:
        return self.folder / "state" / (self.place or self.name)

    @property
    def parts(self) -> list[tuple[str, int]]:
        return [(topic, number) for topic in self.topics for number in range(self.partitions)]

    def write(self) -> KeptState:
        """Leave everything."""
        ledger = Ledger(self.state, self.name, 1, "4f1c22a90b7d")
        ledger.open(about=self._about())
        history = History(self.state, 30 * 86_400.0, lambda: self._clock)
        self._clock = self._at(0) - self.seconds
        history.run("started", "4f1c22a90b7d", 1, "")
        positions, last = dict.fromkeys(self.parts, 0), None
        for number in range(self.batches):
            self._clock = self._at(number)
            last, event = self._batch(ledger, number, positions, last)
            history.batch(event, 1, 500_000)
            if number % max(1, round(60 / self.seconds)) == 0:
                history.lag(self._lag(positions, number))
        if self.ended:
            history.run(self.ended, "4f1c22a90b7d", 1, self.error)
        self._clock = self.until
        history.tick(force=True)
        self.tell(self._now(positions, last))
        return self

    def tell(self, now: Now) -> None:
        """Leave this as the present; of a pipeline that ended long ago, as it was then."""
        files.replace(path_of(self.state), msgspec.json.encode(replace(now, at=self.until).to_json()))

    @contextmanager
    def held(self) -> Iterator[None]:
        """As if the pipeline ran."""
        with lease(self.state / "lease", self.name, "4f1c22a90b7d"):
            yield

    def begin(self, *, freeze: bool = False) -> int:
        """A batch that was begun, and perhaps frozen, and went no further."""
        ledger = Ledger(self.state, self.name, 1, "4f1c22a90b7d")
        intent = ledger.intend(self.batches, (Range(self.topics[0], 0, 0, 5),), "c0ffee5eed123456", self._origin)
        if freeze:
            ledger.freeze(intent, Manifest(intent.digest, time.time(), 5, Tally(), {}), 0)
        return self.batches

    def dead_letters(self, values: Sequence[bytes | None], detail: str = "`amount` is missing") -> Path:
        """A table of dead letters with these values."""
        from deltalake import write_deltalake

        path = self.state / "dead_letters"
        now, codes = datetime.now(UTC), list(self.codes)
        rows: list[dict[str, Any]] = [
            {
                "topic": self.topics[number % len(self.topics)],
                "partition": number % self.partitions,
                "offset": 1000 + number,
                "timestamp": now - timedelta(seconds=90),
                "key": f"order-{number}".encode(),
                "value": value,
                "headers": [],
                "stage": "decode" if number % 2 else "check",
                "code": codes[number % len(codes)],
                "field": "/amount",
                "detail": detail,
                "schema_id": None,
                "pipeline": self.name,
                "generation": 1,
                "batch_id": number,
                "rejected_at": now - timedelta(seconds=number),
                "version": "0.1.0",
            }
            for number, value in enumerate(values)
        ]
        write_deltalake(str(path), pa.Table.from_pylist(rows, schema=DEAD_LETTER), mode="append")
        return path

    # how it went
    _clock: float = field(default=0.0, init=False)

    def _at(self, number: int) -> float:
        return self.until - (self.batches - 1 - number) * self.seconds

    def _wave(self, number: int) -> float:
        """Traffic that looks like traffic: a slow wave, a quick one, a burst."""
        burst = 1.6 * math.exp(-(((number / max(self.batches, 1)) - 0.72) ** 2) / 0.0012)
        return 0.75 + 0.22 * math.sin(number / 17) + 0.08 * math.sin(number * 2.1) + burst

    @property
    def _origin(self) -> Origin:
        return Origin("5L6g3nShT-eMCtK--X86sw", {topic: f"id-of-{place}" for place, topic in enumerate(self.topics)})

    def _about(self) -> dict[str, Any]:
        sinks = {name: {"committer": "delta", "target": f"./lake/{name}", "id": f"table-{name}"} for name in self.sinks}
        letters = {"committer": "delta", "target": str(self.state / "dead_letters"), "id": None}
        return {"source": self._origin.to_json(), "sinks": {**sinks, "dead_letters": letters}}

    def _batch(
        self, ledger: Ledger, number: int, positions: Positions, last: Outcome | None
    ) -> tuple[Outcome, BatchCommitted]:
        parts = self.parts[: self.ranges_of or None]
        share = max(1, round(self.rows * self._wave(number) / len(parts)))
        ranges = tuple(
            Range(topic, part, positions[topic, part], positions[topic, part] + share) for topic, part in parts
        )
        positions.update({(part.topic, part.partition): part.end for part in ranges})
        tally = Tally({(part.topic, part.partition): self._fates(part, number) for part in ranges})
        total = tally.total()
        seconds = round(1.2 + 1.6 * self._wave(number), 3)
        phases = {name: round(seconds * part, 4) for name, part in PHASES.items()}
        intent = ledger.intend(number, ranges, "c0ffee5eed123456", self._origin)
        letters = sum(total.rejected.values())
        shares = {name: (total.written[name], number) for name in self.sinks} | {"dead_letters": (letters, number)}
        totals = Fates()
        for each in (last.totals if last else Fates(), total):
            totals.add(each)
        outcome = Outcome(
            batch_id=number,
            digest=intent.digest,
            ranges=ranges,
            gaps=(),
            read=total.seen,
            tally=tally,
            receipts={name: Receipt(name, "committed", version, rows) for name, (rows, version) in shares.items()},
            last_written=dict.fromkeys(shares, number),
            totals=totals,
            committed_at=datetime.fromtimestamp(self._clock, UTC).isoformat(timespec="milliseconds"),
            seconds=seconds,
            phases=phases,
            replayed=False,
        )
        ledger.close(outcome)
        return outcome, self._event(outcome)

    def _event(self, outcome: Outcome) -> BatchCommitted:
        return committed(self.name, outcome, files=4, size=outcome.read * 70)

    def _fates(self, part: Range, number: int) -> Fates:
        fates = Fates(seen=len(part), first=part.start, last=part.end - 1)
        if part.partition == number % self.partitions:
            fates.rejected = Counter({code: count for code, count in self.codes.items() if count < len(part) / 4})
        fates.dropped = Counter({"tombstone": 1}) if len(part) > 10 else Counter()
        kept = len(part) - fates.rejected.total() - fates.dropped.total()
        for sink in self.sinks:
            fates.written[sink] = fates.rows[sink] = kept
        return fates

    def _lag(self, positions: Positions, number: int) -> Lag:
        """What is unread after this batch: more in a few partitions than in the others."""
        count = len(positions)
        share = self.behind * self._wave(number) / max(1, count)
        ends = {
            part: at + round(share * (0.4 + (place * 7 % 5) / 3 + (9 if place % 97 == 5 else 0)))
            for place, (part, at) in enumerate(positions.items())
        }
        rate = self.rows / self.seconds / max(1, count)
        tracker = Tracker()
        for back in (60.0, 45.0, 30.0, 15.0, 0.0):
            past = {part: max(0, round(at - back * rate)) for part, at in positions.items()}
            upto = {part: max(0, round(at - back * rate)) for part, at in ends.items()}
            lag = tracker.see(Measure(at=self._clock - back, positions=past, ends=upto))
        return lag

    def _now(self, positions: Positions, last: Outcome | None) -> Now:
        self._clock = self.until
        return Now(
            self.name,
            run="4f1c22a90b7d",
            pid=4711,
            started_at=self.until - self.batches * self.seconds,
            generation=1,
            tries=1,
            batches=self.batches,
            in_hand=None
            if self.ended or last is None
            else InHand(self.batches, self.until - 2, "pass", self.until - 1, 900),
            last_batch=LastBatch.of(self._event(last), self.until) if last else None,
            rows_per_second=round(self.rows / self.seconds, 1),
            read_limit=500_000,
            lag=replace(self._lag(positions, self.batches - 1), at=self.until),
            shown=Shown(self.name, self.until, self.batches - 1),
            alerts=self.alerts,
            ended=self.ended,
            error=self.error,
        )
