"""Now: how a pipeline is at this moment, left by the process that runs it, for any other process to read.

`<state>/progress/now.json` is written anew, whole, at every poll and when something changes, at most once a second. It
stays when the process ends or dies: `at` says how old it is, and `lease` beside it whether anybody runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock import files
from penstock.observe.lag import Lag

if TYPE_CHECKING:
    from penstock.observe.events import BatchCommitted

VERSION = 1


@dataclass(frozen=True)
class InHand:
    """The batch that is being done."""

    batch_id: int
    since: float
    phase: str
    """The numbered step of a batch: `intent`, `pass`, `conserve`, `freeze`, `tables`, `topics`, `outcome`."""
    phase_since: float
    offsets: int | None = None
    """How many offsets it reads, once that is known."""


@dataclass(frozen=True)
class LastBatch:
    """The newest batch that is committed."""

    batch_id: int
    at: float
    rows: int
    """Records that were read."""
    written: int
    rejected: dict[str, int]
    dropped: dict[str, int]
    seconds: float
    phases: dict[str, float]
    sinks: dict[str, dict[str, Any]]
    files: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, event: BatchCommitted, at: float) -> LastBatch:
        return cls(
            batch_id=event.batch_id,
            at=at,
            rows=event.read,
            written=event.written,
            rejected=event.rejected,
            dropped=event.dropped,
            seconds=event.seconds,
            phases=event.phases,
            sinks=event.sinks,
            files=event.files,
            bytes=event.bytes,
        )


@dataclass(frozen=True)
class Shown:
    """What the pipeline's Kafka group was last told."""

    group: str
    at: float | None = None
    batch_id: int | None = None
    in_transaction: bool = False
    """Whether it was told in the transaction that wrote the batch."""
    trouble: str = ""
    """Why the newest progress is not there yet."""


@dataclass(frozen=True)
class Now:
    """Everything that the running process tells. Times are seconds since 1970."""

    pipeline: str
    run: str = ""
    pid: int = 0
    started_at: float = 0.0
    at: float = 0.0
    poll_seconds: float = 10.0
    generation: int | None = None
    tries: int = 0
    """How often the query was started in this run: more than 1 means that something was waited for."""
    batches: int = 0
    """Batches that this run committed."""
    in_hand: InHand | None = None
    last_batch: LastBatch | None = None
    rows_per_second: float = 0.0
    read_limit: int | None = None
    """Most rows of the next batch, as the governor says."""
    pace: str = ""
    """Why that many, in its words."""
    every_seconds: float = 0.0
    """The trigger's interval; 0 where batches follow one another."""
    lag: Lag | None = None
    waiting: str = ""
    """What is waited for; empty while things work."""
    waiting_since: float | None = None
    shown: Shown | None = None
    alerts: tuple[dict[str, Any], ...] = ()
    """Alerts that are raised: `alert`, `text`, `since`, `cause`, `next_step`."""
    ended: str = ""
    """`done`, `stopped` or `failed`; empty while it runs."""
    error: str = ""
    """What ended it."""

    def age(self, now: float | None = None) -> float:
        """Seconds since it was written."""
        return (time.time() if now is None else now) - self.at

    def to_json(self) -> dict[str, Any]:
        lag, total = self.lag, self.lag.total if self.lag else None
        return {
            "v": VERSION,
            **{each.name: _plain(getattr(self, each.name)) for each in fields(self)},
            "lag": lag.to_json() if lag else None,
            "lag_rows": total.rows if total else None,
            "lag_seconds": total.seconds if total else None,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Now:
        own = {each.name: body[each.name] for each in fields(cls) if each.name in body}
        made = {"in_hand": InHand, "last_batch": LastBatch, "shown": Shown}
        nested = {key: kind(**own[key]) for key, kind in made.items() if own.get(key) is not None}
        more = {"lag": Lag.from_json(own["lag"]) if own.get("lag") else None, "alerts": tuple(own.get("alerts") or ())}
        return cls(**{**own, **nested, **more})


def path_of(state: Path) -> Path:
    """Where it stands; `state` is `Pipeline.workplace`."""
    return state / "progress" / "now.json"


def write(state: Path, now: Now) -> Now:
    """Leave it for others; gives it with the time in it. A reader sees the old one or the new one, whole."""
    stamped = replace(now, at=time.time())
    files.replace(path_of(state), msgspec.json.encode(stamped.to_json()))
    return stamped


def read(state: Path) -> Now | None:
    """What the process that runs, or ran, last told; None if there is nothing that can be read."""
    body = files.read(path_of(state))
    try:
        found = msgspec.json.decode(body) if body else None
        return Now.from_json(found) if isinstance(found, dict) and found.get("v") == VERSION else None
    except (msgspec.DecodeError, TypeError, KeyError, ValueError):
        return None  # of another version, or damaged: the next one replaces it


@dataclass
class Board:
    """Keeps the present value, and writes it when it has changed, not too often."""

    state: Path
    now: Now
    least_seconds: float = 1.0
    _changed: bool = field(default=False)
    _written: float = field(default=-float("inf"))

    def update(self, **changes: Any) -> None:
        self.now = replace(self.now, **changes)
        self._changed = True

    def due(self) -> float | None:
        """Seconds until it is to be written; None if nothing has changed."""
        return max(0.0, self._written + self.least_seconds - time.monotonic()) if self._changed else None

    def write(self, *, force: bool = False) -> None:
        due = self.due()
        if force or due == 0.0:
            self._written, self._changed = time.monotonic(), False
            self.now = write(self.state, self.now)


def _plain(value: Any) -> Any:
    return dict(value.__dict__) if isinstance(value, InHand | LastBatch | Shown) else value
