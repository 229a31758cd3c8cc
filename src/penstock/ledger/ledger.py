"""The ledger: create-once files that say what each batch meant to do, froze and did.

<state>/ledger/g<gen>/generation.json    who this is
<state>/ledger/g<gen>/intents/N.json     before any side effect
<state>/stage/g<gen>/N/manifest-K.json   after the pass; the highest K rules
<state>/ledger/g<gen>/outcomes/N.json    after every sink has batch N
"""

from __future__ import annotations

import json
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

from penstock import files
from penstock.errors import Refused
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.ranges import Positions, Range, digest_of, positions_from_spark, positions_to_spark
from penstock.version import __version__


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Ledger:
    """One generation of one pipeline's ledger."""

    def __init__(self, state: Path, pipeline: str, generation: int, run: str = "") -> None:
        self.pipeline, self.generation, self.run = pipeline, generation, run
        self.folder = state / "ledger" / f"g{generation}"
        self.stage = state / "stage" / f"g{generation}"

    @classmethod
    def find(cls, state: Path, pipeline: str, run: str = "") -> Ledger | None:
        """The newest generation in this state folder, or None if there is none yet."""
        names = (path.parent.name.removeprefix("g") for path in (state / "ledger").glob("g*/generation.json"))
        generations = [int(name) for name in names if name.isdecimal()]
        return cls(state, pipeline, max(generations), run) if generations else None

    def open(self, start: Positions | None = None) -> Positions | None:
        """Write down who this is, or read it: where this generation starts, if not where the pipeline file says.

        Another pipeline's state is refused.
        """
        identity = {
            "pipeline": self.pipeline,
            "generation": self.generation,
            "id": str(uuid.uuid4()),
            "created_at": now(),
            "version": __version__,
            "start": None if start is None else positions_to_spark(start),
        }
        stands = json.loads(files.create_once(self.folder / "generation.json", files.to_json(identity)))
        if stands["pipeline"] != self.pipeline:
            raise Refused(
                f"{self.pipeline}: this state folder belongs to the pipeline `{stands['pipeline']}`.",
                data="Nothing was written.",
                remedy="Give each pipeline a state of its own:  state: ./state/" + self.pipeline,
            )
        return None if stands["start"] is None else positions_from_spark(stands["start"])

    # 1 intent
    def intend(self, batch_id: int, ranges: tuple[Range, ...], fingerprint: str) -> Intent:
        """What batch `batch_id` reads, as it was first written down. Halts if it would now read other ranges."""
        digest = digest_of(self.pipeline, self.generation, batch_id, ranges)
        mine = Intent(self.pipeline, self.generation, batch_id, ranges, digest, fingerprint, self.run, now())
        path = self.folder / "intents" / f"{batch_id}.json"
        stands = Intent.from_json(json.loads(files.create_once(path, files.to_json(mine.to_json()))))
        if stands.digest != digest:
            raise Refused(
                f"{self.pipeline}, batch {batch_id}: it was to read {_say(stands.ranges)}, "
                f"but the checkpoint now says {_say(ranges)}.",
                data="Nothing of this batch was written.",
                remedy="The state folder was changed or restored from a backup. Restore all of it from one moment.",
            )
        return stands

    # 4 freeze
    def manifest(self, intent: Intent) -> Manifest | None:
        """What an earlier try froze for this batch, if it got so far."""
        folder = self.stage / str(intent.batch_id)
        for number in reversed(self._manifests(intent.batch_id)):
            body = files.read_json(folder / f"manifest-{number}.json")
            if body is not None and body["digest"] == intent.digest:
                return Manifest.from_json(body)
        return None

    def freeze(self, intent: Intent, manifest: Manifest) -> Manifest:
        """Make this manifest the one that counts; of two writers at once the first wins, for both."""
        number = max(self._manifests(intent.batch_id), default=-1) + 1
        path = self.stage / str(intent.batch_id) / f"manifest-{number}.json"
        return Manifest.from_json(json.loads(files.create_once(path, files.to_json(manifest.to_json()))))

    def _manifests(self, batch_id: int) -> list[int]:
        names = (path.stem.removeprefix("manifest-") for path in (self.stage / str(batch_id)).glob("manifest-*.json"))
        return sorted(int(name) for name in names if name.isdecimal())

    # 7 outcome
    def close(self, outcome: Outcome) -> Outcome:
        """Write down what the batch came to, then tidy up what only this batch needed."""
        path = self.folder / "outcomes" / f"{outcome.batch_id}.json"
        stands = Outcome.from_json(json.loads(files.create_once(path, files.to_json(outcome.to_json()))))
        self._tidy(outcome.batch_id)
        return stands

    def last_outcome(self) -> Outcome | None:
        numbers = files.numbered(self.folder / "outcomes", ".json")
        return self.outcome(numbers[-1]) if numbers else None

    def outcome(self, batch_id: int) -> Outcome | None:
        body = files.read_json(self.folder / "outcomes" / f"{batch_id}.json")
        return None if body is None else Outcome.from_json(body)

    def _tidy(self, batch_id: int) -> None:
        """Stages of batches before the last one are not needed again: Spark replays at most the newest."""
        for number in files.numbered(self.stage):
            if number < batch_id:
                files.remove_tree(self.stage / str(number))


def age_of(manifest: Manifest) -> float:
    """Seconds since the files were written; vacuum takes files that nobody committed after seven days."""
    return time.time() - manifest.created_at


def _say(ranges: tuple[Range, ...]) -> str:
    return ", ".join(f"{part.topic}-{part.partition} {part.start} to {part.end}" for part in ranges) or "nothing"
