"""The ledger's records: what a batch means to do (intent), what it froze (manifest), what it did (outcome)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.origin import Origin
from penstock.ranges import Positions, Range
from penstock.sinks.contract import Frozen, Receipt, WriteKey
from penstock.tally import Fates, Tally


@dataclass(frozen=True)
class Intent:
    """What batch `batch_id` reads. Written before any side effect; the first writer wins."""

    pipeline: str
    generation: int
    batch_id: int
    ranges: tuple[Range, ...]
    digest: str
    fingerprint: str
    """Of the pipeline and of penstock's version: tells whether a replay runs other code."""
    run: str
    created_at: str
    origin: Origin = field(default_factory=Origin)
    """Which topics those of the ranges are."""
    ledger: str = ""
    """The id of the generation's ledger: another pipeline of the same name has another."""

    @property
    def only_topic(self) -> str | None:
        """The topic of all its ranges, where there is but one."""
        topics = {part.topic for part in self.ranges}
        return topics.pop() if len(topics) == 1 else None

    def key(self, sink: str) -> WriteKey:
        return WriteKey(self.pipeline, self.generation, sink, self.batch_id, self.digest)

    def to_json(self) -> dict[str, Any]:
        ranges = [part.to_json() for part in self.ranges]
        return {**self.__dict__, "ranges": ranges, "origin": self.origin.to_json()}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Intent:
        ranges = tuple(Range(**part) for part in body["ranges"])
        return cls(**{**body, "ranges": ranges, "origin": Origin.from_json(body.get("origin"))})


@dataclass(frozen=True)
class Manifest:
    """What the one complete pass over a batch wrote. From here on a replay publishes this and nothing else."""

    digest: str
    created_at: float
    read: int
    tally: Tally
    sinks: dict[str, Frozen]
    gaps: tuple[Range, ...] = ()
    """Ranges that were gone from the source before they were read, and that the user said to skip."""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "tally": self.tally.to_json(),
            "sinks": {name: frozen.to_json() for name, frozen in self.sinks.items()},
            "gaps": [part.to_json() for part in self.gaps],
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Manifest:
        return cls(
            **{
                **body,
                "tally": Tally.from_json(body["tally"]),
                "sinks": {name: Frozen.from_json(frozen) for name, frozen in body["sinks"].items()},
                "gaps": tuple(Range(**part) for part in body["gaps"]),
            }
        )


@dataclass(frozen=True)
class Outcome:
    """What a batch came to, per sink. Spark may now forget it."""

    batch_id: int
    digest: str
    ranges: tuple[Range, ...]
    gaps: tuple[Range, ...]
    read: int
    tally: Tally
    receipts: dict[str, Receipt]
    last_written: dict[str, int]
    """Table or cluster -> the newest batch that left anything in it: what its watermark must not be below."""
    totals: Fates
    """Of all batches of this generation up to this one."""
    committed_at: str
    seconds: float
    phases: dict[str, float]
    replayed: bool
    """Published from the manifest of an earlier try."""
    targets: dict[str, str] = field(default_factory=dict)
    """Table -> the id of the table that holds its batches."""

    @property
    def end(self) -> Positions:
        """Where the next batch starts, per partition."""
        return {(part.topic, part.partition): part.end for part in self.ranges}

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "ranges": [part.to_json() for part in self.ranges],
            "gaps": [part.to_json() for part in self.gaps],
            "tally": self.tally.to_json(),
            "totals": self.totals.to_json(),
            "receipts": {name: receipt.__dict__ for name, receipt in self.receipts.items()},
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Outcome:
        return cls(
            **{
                **body,
                "ranges": tuple(Range(**part) for part in body["ranges"]),
                "gaps": tuple(Range(**part) for part in body["gaps"]),
                "tally": Tally.from_json(body["tally"]),
                "totals": Fates.from_json(body["totals"]),
                "receipts": {name: Receipt.from_json(receipt) for name, receipt in body["receipts"].items()},
            }
        )
