"""The ledger of one pipeline as the page shows it. Records are created once, so each is read once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from penstock import files
from penstock.errors import Refused
from penstock.ledger.ledger import Ledger, generations
from penstock.ledger.shelf import Record
from penstock.operate.stamps import Kept
from penstock.tally import Tally
from penstock.ui.models import BatchRow

MOST_ROWS = 20_000
"""Batches whose figures are kept in memory."""
T = TypeVar("T")


class Books:
    """Reads the ledger in one state folder."""

    def __init__(self, state: Path, name: str) -> None:
        self.state, self.name = state, name
        self._kept = Kept()
        self._rows: dict[tuple[int, int], BatchRow] = {}

    def generations(self) -> list[int]:
        return self._kept.of("generations", (self.state / "ledger",), lambda: generations(self.state))

    def ledger(self, generation: int | None = None) -> Ledger | None:
        """Of this generation, or of the newest; None where there is no such."""
        known = self.generations()
        wanted = generation if generation is not None else (known[-1] if known else None)
        return Ledger(self.state, self.name, wanted) if wanted in known and wanted is not None else None

    def folders(self) -> tuple[Path, ...]:
        """What changes with every batch."""
        ledger = self.ledger()
        base = (self.state / "ledger", self.state / "schemas" / "readers", self.state / "gaps")
        if ledger is None:
            return base
        folder, stage = files.here(ledger.folder), files.here(ledger.stage)
        return (*base, folder / "outcomes", folder / "intents", stage)

    def identity(self, generation: int | None = None) -> Record:
        """What a generation says of itself: never changes."""
        ledger = self.ledger(generation)
        return (files.read_json(ledger.folder / "generation.json") or {}) if ledger else {}

    def page(self, ledger: Ledger, limit: int, before: int | None = None) -> list[BatchRow]:
        """So many batches below this number, the newest first."""
        numbers = ledger.closed.newest(limit, before)
        self._learn(ledger, [number for number in numbers if (ledger.generation, number) not in self._rows])
        return [self._rows[key] for number in numbers if (key := (ledger.generation, number)) in self._rows]

    def _learn(self, ledger: Ledger, numbers: list[int]) -> None:
        if len(self._rows) > MOST_ROWS:
            self._rows.clear()
        left = set()
        for number in numbers:
            try:
                record = ledger.closed.at_hand(number)
            except Refused as error:
                self._rows[ledger.generation, number] = unreadable(number, error)
                continue
            if record is None:
                left.add(number)
            else:
                self._rows[ledger.generation, number] = row_of(record)
        if left:
            self._rows |= {(ledger.generation, each["batch_id"]): row_of(each) for each in ledger.closed.archived(left)}

    def open_batch(self, ledger: Ledger) -> int | None:
        """The batch that was begun and has no outcome."""
        begun, closed = ledger.intents.last, ledger.closed.last
        return begun if begun is not None and (closed is None or begun > closed) else None

    def frozen(self, ledger: Ledger, batch_id: int) -> bool:
        """Is there a manifest of this batch?"""
        return any(path.name.startswith("manifest-") for path in files.listed(ledger.stage / str(batch_id)))


def row_of(record: Record) -> BatchRow:
    """An outcome as a line of the table."""
    total = Tally.total_in(record["tally"])
    return BatchRow(
        batch_id=record["batch_id"],
        committed_at=seconds_of(record["committed_at"]),
        seconds=record["seconds"],
        read=record["read"],
        written=max(total.written.values(), default=0),
        rejected=sum(total.by_code().values()),
        dropped=total.dropped.total(),
        phases=record["phases"],
        versions={name: receipt["version"] for name, receipt in record["receipts"].items()},
        replayed=record["replayed"],
    )


def unreadable(batch_id: int, error: Refused) -> BatchRow:
    return BatchRow(
        batch_id=batch_id,
        committed_at=None,
        seconds=None,
        read=0,
        written=0,
        rejected=0,
        dropped=0,
        phases={},
        versions={},
        replayed=False,
        trouble=str(error),
    )


def seconds_of(text: str | None) -> float | None:
    """A time of the ledger as seconds since 1970."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None


def offsets_in(ranges: Iterable[dict[str, Any]]) -> int:
    return sum(part["end"] - part["start"] for part in ranges)
