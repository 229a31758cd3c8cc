"""The ledger as the audit reads it: every generation, every batch, and which of them are in question."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock import files
from penstock.errors import Refused
from penstock.files import Place
from penstock.ledger.ledger import Ledger, generations
from penstock.ledger.records import Intent, Outcome
from penstock.ledger.shelf import Shelf
from penstock.operate.audit.closing import doubts_of
from penstock.operate.audit.since import Since
from penstock.operate.audit.told import Told, told_by
from penstock.ranges import Positions, Range, digest_of, positions_from_spark
from penstock.tally import Fates

Ranges = tuple[Range, ...]
Key = tuple[int, int]
"""Generation and batch id."""
BROKEN = (ValueError, KeyError, TypeError, AttributeError)
"""What reading a record raises that somebody edited."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch as far as the ledger knows it."""

    generation: int
    batch_id: int
    digest: str
    ranges: Ranges
    told: Told | None = None
    """What its outcome says."""
    doubts: tuple[str, ...] = ()
    """Why what the ledger says of it cannot be believed."""
    topics: Mapping[str, str] | None = None
    """Topic -> its id: one that was deleted and created again has another."""

    @property
    def key(self) -> Key:
        return self.generation, self.batch_id

    @property
    def sound(self) -> bool:
        """Can its counts be relied on?"""
        return self.told is not None and not self.doubts

    def incarnation(self, topic: str) -> str:
        return (self.topics or {}).get(topic, "")


@dataclass(frozen=True)
class Generation:
    """One generation: where it starts, what it did, and what it has begun."""

    number: int
    start: Positions | None
    """Where it starts, or None: where the pipeline file says."""
    batches: tuple[Batch, ...]
    """Up to its last outcome."""
    in_flight: tuple[Batch, ...] = ()
    """Begun, and not finished when the ledger was read."""
    unknown: tuple[int, ...] = ()
    """Numbers before its last outcome of which the ledger holds nothing."""
    id: str = ""

    @property
    def first(self) -> int | None:
        return self.batches[0].batch_id if self.batches else None


class Books:
    """All generations of one pipeline. Outcomes are read once; an intent can be asked for at any later moment."""

    def __init__(self, state: Place, pipeline: str) -> None:
        self.state, self.pipeline = state, pipeline
        self.generations = [self._generation(number) for number in generations(state)]

    @property
    def newest(self) -> int:
        return max((generation.number for generation in self.generations), default=0)

    def batches(self) -> Iterator[Batch]:
        for generation in self.generations:
            yield from generation.batches

    def in_flight(self) -> Iterator[Batch]:
        for generation in self.generations:
            yield from generation.in_flight

    def begun_since(self) -> Iterator[Batch]:
        """Batches that were begun after the ledger was read: those of a pipeline that runs."""
        for generation in self.generations:
            known = max((batch.batch_id for batch in (*generation.batches, *generation.in_flight)), default=-1)
            while (intent := self.intent(generation.number, known + 1)) is not None:
                known += 1
                yield Batch(generation.number, known, intent.digest, intent.ranges)

    def in_question(self, since: Since | None) -> list[Batch]:
        """The batches to judge, in order: all, or from the first one on that `since` names."""
        known = list(self.batches())
        if since is None:
            return known
        first = next((i for i, batch in enumerate(known) if since.takes(batch, self.newest)), len(known))
        return known[first:]

    def intent(self, generation: int, batch_id: int) -> Intent | None:
        """What stands in the ledger now. Intents come before commits, so a commit seen before has one."""
        try:
            return Ledger(self.state, self.pipeline, generation).intent(batch_id)
        except (Refused, *BROKEN):
            return None

    def from_story(self, key: Key, story: Mapping[str, Any]) -> Batch | None:
        """A batch of which a commit tells, if what that says agrees with itself."""
        try:
            ranges = tuple(Range(*part) for part in story["ranges"])
        except (KeyError, TypeError):
            return None
        digest = digest_of(self.pipeline, *key, ranges, str(story.get("ledger", "")))
        return Batch(*key, digest, ranges) if digest == story.get("digest") else None

    def _generation(self, number: int) -> Generation:
        ledger = Ledger(self.state, self.pipeline, number)
        start, name = _identity(ledger.folder)
        done, broken = _records(ledger.closed)
        begun, _ = _records(ledger.intents)
        last = max([*done, *broken], default=-1)
        batches: list[Batch] = []
        unknown: list[int] = []
        before: Fates | None = Fates()
        for batch_id in range(min([*done, *broken, *begun], default=0), last + 1):
            outcome, doubts = _outcome(done.pop(batch_id, None), broken.get(batch_id))
            batch = self._batch((number, batch_id), _intent(begun.get(batch_id)), outcome, doubts, name)
            if outcome is not None and batch is not None:
                batch = replace(batch, doubts=(*batch.doubts, *doubts_of(outcome, before if batch_id else Fates())))
            before = outcome.totals if outcome else None
            unknown += [batch_id] if batch is None else []
            batches += [batch] if batch is not None else []
        intents = (_intent(begun[batch_id]) for batch_id in sorted(begun) if batch_id > last)
        flying = [self._batch((number, intent.batch_id), intent, None, [], name) for intent in intents if intent]
        return Generation(number, start, tuple(batches), tuple(filter(None, flying)), tuple(unknown), name)

    def _batch(
        self, key: Key, intent: Intent | None, outcome: Outcome | None, doubts: list[str], ledger: str
    ) -> Batch | None:
        """The batch by its outcome and its intent. Where they disagree, the ranges are the intent's: it came first."""
        said = intent or outcome
        if said is None:
            return Batch(*key, "", (), None, tuple(doubts)) if doubts else None
        if outcome is not None and outcome.batch_id != key[1]:
            doubts.append(f"its outcome says that it is of batch {outcome.batch_id}")
        if outcome is not None and (said.digest, said.ranges) != (outcome.digest, outcome.ranges):
            doubts.append("its outcome names other ranges than its intent")
        if digest_of(self.pipeline, *key, said.ranges, intent.ledger if intent else ledger) != said.digest:
            doubts.append("its digest is not that of its ranges")
        told = None if outcome is None else told_by(outcome)
        return Batch(*key, said.digest, said.ranges, told, tuple(doubts), intent.origin.topics if intent else None)


def _identity(folder: Place) -> tuple[Positions | None, str]:
    try:
        body = files.read_json(folder / "generation.json") or {}
        start = body.get("start")
        return None if start is None else positions_from_spark(start), str(body.get("id", ""))
    except (Refused, *BROKEN):
        return None, ""


def _records(shelf: Shelf) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
    """Every record by its number; and why those that cannot be read cannot."""
    found: dict[int, dict[str, Any]] = {}
    broken: dict[int, str] = {}
    numbers = files.numbered(shelf.folder / shelf.kind, ".json")  # first: what is folded meanwhile is in an archive
    for archive in shelf.archives():
        try:
            lines = gzip.decompress(files.read(archive.path) or b"").decode().splitlines()
            found |= {record["batch_id"]: record for record in map(json.loads, lines)}
        except (OSError, EOFError, *BROKEN) as error:
            broken |= dict.fromkeys(range(archive.first, archive.last + 1), f"{archive.path.name}: {error}")
    for number in numbers:
        try:
            record = shelf.get(number)
            found |= {} if record is None else {number: record}
        except (Refused, *BROKEN) as error:
            broken[number] = str(error).splitlines()[0]
    return found, {number: why for number, why in broken.items() if number not in found}


def _outcome(record: dict[str, Any] | None, broken: str | None) -> tuple[Outcome | None, list[str]]:
    if record is None:
        return None, [] if broken is None else [f"its outcome cannot be read ({broken})"]
    try:
        return Outcome.from_json(record), []
    except BROKEN as error:
        return None, [f"its outcome cannot be read ({type(error).__name__}: {error})"]


def _intent(record: dict[str, Any] | None) -> Intent | None:
    try:
        return None if record is None else Intent.from_json(record)
    except BROKEN:
        return None
