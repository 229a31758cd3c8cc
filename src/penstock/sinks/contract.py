"""What a sink must give: a writer in the task, a committer in the driver, and the values between them.

The writer turns the rows of its route into files nobody can see yet. What it wrote is frozen into the batch's
manifest, and the committer makes exactly that visible, once, under a key that it recognises when it comes again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def app_id(pipeline: str, generation: int, sink: str) -> str:
    """Under which a generation of a pipeline commits to a sink."""
    return f"{pipeline}.g{generation}.{sink}"


CLOSED = 2**63 - 1
"""The watermark of a closed generation: no batch can be newer."""


def told_in(text: Any) -> dict[str, Any]:
    """The story that a commit or a marker carries as JSON text; nothing, where somebody else wrote it."""
    try:
        story = json.loads(text or "{}")
    except (ValueError, TypeError):
        return {}
    return story if isinstance(story, dict) else {}


@dataclass(frozen=True)
class WriteKey:
    """Which write this is. The same key never becomes visible twice."""

    pipeline: str
    generation: int
    sink: str
    batch_id: int
    digest: str
    """Of the source ranges: the same batch id with another digest is another batch, and halts."""

    @property
    def app(self) -> str:
        """The idempotence key of this sink: the application id in the table's log."""
        return app_id(self.pipeline, self.generation, self.sink)


@dataclass(frozen=True)
class FrozenFile:
    """One file a task wrote, as the commit needs it."""

    path: str
    """Relative to the table."""
    size: int
    rows: int
    stats: str = ""
    """Delta's statistics, as JSON."""
    partition_values: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Frozen:
    """A sink's share of the manifest: its files, and the target as it was when they were written."""

    target: dict[str, Any]
    files: tuple[FrozenFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Frozen:
        return cls(target=body["target"], files=tuple(FrozenFile(**file) for file in body["files"]))


@dataclass(frozen=True)
class Receipt:
    """What a commit came to."""

    sink: str
    how: str
    """`committed`, or `recognised` when an earlier try had done it."""
    version: int
    """The target's version that holds the write."""
    rows: int
    added: tuple[str, ...] = ()
    """Columns that the target gained just before."""
    seconds: float = 0.0
    """How long the commit took. Sinks of one Kafka cluster are one transaction: each of them has its whole length."""
    notice: str = ""
    """What somebody should know of the target; the write is not affected."""

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Receipt:
        return cls(**{**body, "added": tuple(body["added"])})


class Misfit(NamedTuple):
    """A row that the target cannot take; the writer left it out."""

    row: int
    field: str | None
    detail: str
    code: str = "does_not_fit"


RecordNumbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]] | None"
"""For each row the number of the source record it came from, ascending; None where each row is a record of its own."""


class Writer(Protocol):
    """In the task. Made per task and attempt; files of a failed attempt are orphans, never rows."""

    def write(self, rows: pa.RecordBatch, records: RecordNumbers = None) -> list[Misfit]:
        """Take these rows, but for those that do not fit, and for the other rows of their records (see `fitting`).

        `rows` holds the data columns, the lineage columns of `rows.LINEAGE`, and the `EXTRAS` that the target asks for.
        """
        ...

    def close(self) -> list[FrozenFile]:
        """Finish: every file complete and on disk."""
        ...


EXTRAS = ("__value", "__key", "__topic", "__headers")
"""Columns that a target may ask for beside data and lineage: the incoming bytes (BINARY), and what the sink's own
expressions gave: the key (BINARY), the topic (STRING), headers (as `rows.HEADERS`)."""


class Target(Protocol):
    """A sink's target as it is now: small, picklable; goes to the tasks and into the manifest."""

    @property
    def extras(self) -> tuple[str, ...]:
        """Which of `EXTRAS` its writer needs."""
        ...

    def writer(self, tag: str) -> Writer:
        """A writer for one task. `tag` names batch, task and attempt; it goes into file names."""
        ...

    def to_json(self) -> dict[str, Any]: ...


class Watermarked(Protocol):
    """What every committer can say and do, whatever it commits to: a table, or the topics of a cluster."""

    name: str
    """Its part of the idempotence key: the sink's name for a table, the cluster's id for topics."""

    def watermark(self, app: str) -> int | None:
        """The last batch committed under this application id, or None. Never creates anything."""
        ...

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more: its watermark becomes the key's batch id."""
        ...


class Undone(NamedTuple):
    """Something that was done to a target after our last commit, and that took our rows away."""

    operation: str
    """`RESTORE`, or whatever replaced the content."""
    words: str


@runtime_checkable
class Witness(Protocol):
    """What a committer can tell of itself and of its past: the preflight and a rebuild ask for it."""

    def identity(self) -> dict[str, Any]:
        """What it commits to, for the ledger: `committer`, `target`, `id` (None while there is no target yet)."""
        ...

    def story(self, app: str) -> dict[str, Any] | None:
        """What the newest batch committed under this application id says of itself; None if there is none.

        At least `batch_id` and `digest`; `ledger`, `ranges` and `sinks` (rows by sink) as far as there was room.
        The commit that closes a generation is no batch.
        """
        ...

    def undone(self, app: str) -> list[Undone]:
        """What took our rows away after the newest commit under this application id."""
        ...

    def ready(self) -> list[str]:
        """Check all that can be checked before the first batch. Gives warnings; raises Refused."""
        ...


class Committer(Watermarked, Protocol):
    """In the driver, one per table; kept for the whole run."""

    def prepare(self, columns: pa.Schema, stage: Path) -> Target:
        """Create the target or check that it can take these columns; say how to write to it.

        `columns` are the data columns; the sink adds lineage. `stage` is the batch's own folder, for files that are
        not the target's own. Raises SinkRefused where writing would be wrong.
        """
        ...

    def verify(self, frozen: Frozen, key: WriteKey) -> None:
        """Is the target still what the batch was frozen for, and is every file there? Raises TableChanged.

        Says nothing if the batch is committed already.
        """
        ...

    def commit(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """Make the frozen files visible, once. `story` is kept in the commit for people and for the audit."""
        ...


class TopicsCommitter(Watermarked, Protocol):
    """In the driver, one per Kafka cluster: every topic of a batch on that cluster in one transaction."""

    sinks: tuple[str, ...]
    """The sinks it commits, `dead_letters` among them where their topic is on this cluster."""

    def prepare(self, sink: str, columns: pa.Schema, stage: Path) -> Target:
        """Check that the sink's topics can take these columns; say how to freeze its rows. As `Committer.prepare`."""
        ...

    def verify(self, frozen: Mapping[str, Frozen], key: WriteKey) -> None:
        """Are the frozen rows of all its sinks still there? As `Committer.verify`."""
        ...

    def begin(self, key: WriteKey) -> None:
        """Leave a mark before the first batch, unless there is one: a missing one is then known to be lost."""
        ...

    def commit(
        self, frozen: Mapping[str, Frozen], key: WriteKey, story: dict[str, Any], known: int | None
    ) -> dict[str, Receipt]:
        """Fence, check, transact: the rows of every sink and the marker of this batch, once. A receipt by sink.

        `known` is the last batch that the ledger says is there, -1 if it says that the marker was begun, None if it
        knows of neither for this committer's name: only then may the marker be missing. Every batch moves the marker,
        one without rows too.
        """
        ...
