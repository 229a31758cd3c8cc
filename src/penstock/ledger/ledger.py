"""The ledger: create-once files that say what each batch meant to do, froze and did.

<state>/ledger/g<gen>/generation.json    who this is
<state>/ledger/g<gen>/intents/N.json     before any side effect
<state>/stage/g<gen>/N/manifest-K.json   after the pass; the highest K rules
<state>/ledger/g<gen>/markers/C.json     before the first transaction on cluster C
<state>/ledger/g<gen>/outcomes/N.json    after every sink has batch N

Intents and outcomes older than some thousand batches are folded into archives beside them: see shelf.py. A state on
another file system has the frozen rows of a batch there as well, before its manifest: see carry.py.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock import files
from penstock.errors import Refused
from penstock.files import Place
from penstock.ledger import carry
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.ledger.shelf import BLOCK, Shelf
from penstock.origin import Origin, same_origin
from penstock.ranges import Positions, Range, digest_of, positions_from_spark, positions_to_spark
from penstock.sinks.contract import TopicsCommitter, WriteKey
from penstock.version import __version__

NOWHERE = Origin()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Ledger:
    """One generation of one pipeline's ledger."""

    def __init__(self, state: Place, pipeline: str, generation: int, run: str = "") -> None:
        self.pipeline, self.generation, self.run = pipeline, generation, run
        self.folder = state / "ledger" / f"g{generation}"
        self.stage = state / "stage" / f"g{generation}"
        self.intents, self.closed = Shelf(self.folder, "intents"), Shelf(self.folder, "outcomes")
        self._id = ""
        self._origin: Origin | None = None

    @classmethod
    def find(cls, state: Place, pipeline: str, run: str = "") -> Ledger | None:
        """The newest generation in this state folder, or None if there is none yet."""
        known = generations(state)
        return cls(state, pipeline, known[-1], run) if known else None

    def open(self, start: Positions | None = None, about: Mapping[str, Any] | None = None) -> Positions | None:
        """Write down who this is, or read it: where this generation starts, if not where the pipeline file says.

        `about` tells people what it reads and writes. Another pipeline's state is refused.
        """
        identity = {
            "pipeline": self.pipeline,
            "generation": self.generation,
            "id": str(uuid.uuid4()),
            "created_at": now(),
            "version": __version__,
            "start": None if start is None else positions_to_spark(start),
            **(about or {}),
        }
        path = self.folder / "generation.json"
        stands = files.parse(path, files.create_once(path, files.to_json(identity)))
        if stands["pipeline"] != self.pipeline:
            raise Refused(
                f"{self.pipeline}: this state folder belongs to the pipeline `{stands['pipeline']}`.",
                data="Nothing was written.",
                remedy="Give each pipeline a state of its own:  state: ./state/" + self.pipeline,
            )
        self.fold()
        return None if stands["start"] is None else positions_from_spark(stands["start"])

    @property
    def id(self) -> str:
        """What tells this ledger from that of another pipeline of the same name; empty before it was opened."""
        if not self._id:
            self._id = (files.read_json(self.folder / "generation.json") or {}).get("id", "")
        return self._id

    # 1 intent
    def intend(self, batch_id: int, ranges: tuple[Range, ...], fingerprint: str, origin: Origin = NOWHERE) -> Intent:
        """What batch `batch_id` reads, as it was first written down. Halts if it would now read other records."""
        same_origin(self.pipeline, self.origin, origin, "penstock new-generation")
        digest = digest_of(self.pipeline, self.generation, batch_id, ranges, self.id)
        mine = Intent(
            pipeline=self.pipeline,
            generation=self.generation,
            batch_id=batch_id,
            ranges=ranges,
            digest=digest,
            fingerprint=fingerprint,
            run=self.run,
            created_at=now(),
            origin=origin,
            ledger=self.id,
        )
        stands = Intent.from_json(self.intents.put(batch_id, mine.to_json()))
        if stands.ranges != ranges:
            raise Refused(
                f"{self.pipeline}, batch {batch_id}: it was to read {_say(stands.ranges)}, "
                f"but the checkpoint now says {_say(ranges)}.",
                data="Nothing of this batch was written.",
                remedy="The state folder was changed or restored from a backup. Restore all of it from one moment.",
            )
        same_origin(self.pipeline, stands.origin, origin, "penstock new-generation")
        self._origin = stands.origin
        return stands

    @property
    def origin(self) -> Origin:
        """The topics that the newest batch reads or read; before the first, those that the start was meant for."""
        if self._origin is None:
            newest = self.last_intent()
            self._origin = newest.origin if newest else self._meant_for()
        return self._origin

    def _meant_for(self) -> Origin:
        body = files.read_json(self.folder / "generation.json") or {}
        return Origin.from_json(body.get("source")) if body.get("start") is not None else NOWHERE

    def last_intent(self) -> Intent | None:
        last = self.intents.last
        return None if last is None else self.intent(last)

    def intent(self, batch_id: int) -> Intent | None:
        body = self.intents.get(batch_id)
        return None if body is None else Intent.from_json(body)

    # 4 freeze
    def manifest(self, intent: Intent) -> Manifest | None:
        """What an earlier try froze for this batch, if it got so far."""
        folder = self._stage(intent.batch_id)
        for number in reversed(self._manifests(intent.batch_id)):
            body = files.read_json(folder / f"manifest-{number}.json")
            if body is not None and body["digest"] == intent.digest:
                return carry.back(Manifest.from_json(body), folder)
        return None

    def stage_of(self, batch_id: int) -> Path:
        """The batch's own folder on this machine, for rows that are frozen outside of a table."""
        return files.here(self._stage(batch_id))

    def _stage(self, batch_id: int) -> Place:
        return self.stage / str(batch_id)

    def free_number(self, batch_id: int) -> int:
        """The number that the next manifest of this batch has. To be asked before looking for one that is there."""
        return max(self._manifests(batch_id), default=-1) + 1

    def freeze(self, intent: Intent, manifest: Manifest, number: int) -> Manifest:
        """Make this manifest the one that counts; of two writers at once the first wins, for both.

        `number` was free when the writer looked. Asked for only now, it would be the next one, and both would win.
        """
        folder = self._stage(intent.batch_id)
        path, ours = folder / f"manifest-{number}.json", carry.away(manifest, folder)
        stands = Manifest.from_json(files.parse(path, files.create_once(path, files.to_json(ours.to_json()))))
        return carry.back(stands, folder)

    def _manifests(self, batch_id: int) -> list[int]:
        names = (path.name for path in files.listed(self._stage(batch_id)))
        found = (re.fullmatch(r"manifest-(\d+)\.json", name) for name in names)
        return sorted(int(match[1]) for match in found if match)

    # 6 topics
    def known(self, cluster: TopicsCommitter, key: WriteKey, last: Outcome | None) -> int:
        """The last batch that the cluster must hold; -1 before its first.

        Then its marker is set before anything is sent, and that is written down: so a marker that was lost between a
        first batch and its outcome is missed, and not taken for one that never was.
        """
        written = last.last_written.get(cluster.name) if last else None
        if written is not None:
            return written
        if not self.has_begun(cluster.name):
            cluster.begin(key)
            files.create_once(self._marker(cluster.name), files.to_json({"marker": key.app, "begun_at": now()}))
        return -1

    def has_begun(self, cluster: str) -> bool:
        """Was the marker of this cluster set?"""
        return self._marker(cluster).exists()

    def _marker(self, cluster: str) -> Place:
        return self.folder / "markers" / f"{cluster}.json"

    # 7 outcome
    def close(self, outcome: Outcome) -> Outcome:
        """Write down what the batch came to, then tidy up what only this batch needed."""
        stands = Outcome.from_json(self.closed.put(outcome.batch_id, outcome.to_json()))
        self._tidy(outcome.batch_id)
        if outcome.batch_id % BLOCK == BLOCK - 1:
            self.fold()
        return stands

    def last_outcome(self) -> Outcome | None:
        last = self.closed.last
        return None if last is None else self.outcome(last)

    def outcome(self, batch_id: int) -> Outcome | None:
        body = self.closed.get(batch_id)
        return None if body is None else Outcome.from_json(body)

    def outcomes(self, since: int = 0) -> Iterator[Outcome]:
        """Every outcome from this batch on, in order; folded ones too."""
        return (Outcome.from_json(body) for body in self.closed.records(since))

    def fold(self) -> None:
        """Fold old intents and outcomes into archives, so that a long life does not fill the folder with files."""
        for shelf in (self.intents, self.closed):
            shelf.fold()

    def _tidy(self, batch_id: int) -> None:
        """Stages of batches before the last one are not needed again: Spark replays at most the newest."""
        for stage in dict.fromkeys((self.stage, files.here(self.stage))):
            for number in files.numbered(stage):
                if number < batch_id:
                    files.remove_tree(stage / str(number))


def generations(state: Place) -> list[int]:
    """The generations of this state folder, ascending."""
    names = (path.name for path in files.listed(state / "ledger"))
    numbers = sorted(int(name[1:]) for name in names if re.fullmatch(r"g\d+", name))
    return [number for number in numbers if (state / "ledger" / f"g{number}" / "generation.json").exists()]


def age_of(manifest: Manifest) -> float:
    """Seconds since the files were written; vacuum takes files that nobody committed after seven days."""
    return time.time() - manifest.created_at


def _say(ranges: tuple[Range, ...]) -> str:
    return ", ".join(f"{part.topic}-{part.partition} {part.start} to {part.end}" for part in ranges) or "nothing"
