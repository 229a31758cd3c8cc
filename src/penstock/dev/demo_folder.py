"""The demo's folder: a pipeline file that the user can keep, and a mark by which a later demo knows its own."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.dev import kafka
from penstock.dev.demo_commands import penstock, typed
from penstock.dev.payments import SCHEMA
from penstock.errors import PenstockError
from penstock.ledger.lease import holder

TOPIC = "payments"
_MARK = ".penstock-demo"
_MADE = {_MARK, "payments.yaml", "lake", "state", ".penstock", "spark-warehouse"}
_PIPELINE = """\
# Written by `penstock demo`. It is a pipeline file like any other: edit it, run it, copy it for a topic of your own.

pipeline: payments          # its identity: another name is another pipeline, which reads from the start

source:
  kafka:
    brokers: dev            # the Kafka that penstock brings along; for your own:  [broker-1:9092, broker-2:9092]
    topics: [payments]
    start: earliest         # for the first run; after that it goes on where it stopped

decode:
  json:                     # strict: an event that is not exactly this goes to the dead letters, with the reason
    schema: |
{schema}
sinks:
  lake:
    delta: {{table: ./lake/payments}}        # created with the first batch; paths start at this file

dead_letters: {{delta: ./lake/payments_dead}}  # every rejected event as it came, with code, field and detail

trigger: {{every: 2 seconds}} # how often a batch starts
"""


@dataclass(frozen=True)
class DemoFolder:
    """Where everything of a demo lies."""

    path: Path

    @property
    def file(self) -> Path:
        return self.path / "payments.yaml"

    @property
    def table(self) -> Path:
        return self.path / "lake" / "payments"

    @property
    def dead_letters(self) -> Path:
        return self.path / "lake" / "payments_dead"

    def make_fresh(self) -> None:
        """Make the folder, or clear what an earlier demo made in it. Raises before it touches anything else."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            self._check()
            for made in (self.file, self.table, self.dead_letters, self.path / "state" / "payments"):
                _remove(made)
            _remove(kafka.home_of(self.path))
        self.path.mkdir(parents=True, exist_ok=True)
        text = pipeline_text()
        (self.path / _MARK).write_text(json.dumps({"made_by": "penstock demo", "payments.yaml": _digest(text)}))
        self.file.write_text(text, encoding="utf-8")

    def _check(self) -> None:
        """Raise unless all that lies here was made by a demo, and nothing runs."""
        if not (self.path / _MARK).is_file():
            raise self._refusal("it is not empty, and no demo made it.")
        if kafka.running(self.path):
            raise PenstockError(
                f"{self.path}: an embedded Kafka runs here, perhaps for you. Nothing was touched.",
                remedy=f"Stop it first:  {penstock()} dev down --folder {typed(self.path)}",
            )
        if (who := holder(self.path / "state" / "payments" / "lease")) is not None:
            raise self._refusal(f"process {who.get('pid', '?')} runs the pipeline that lies here.")
        if own := ", ".join(self._not_made_by_us()):
            raise self._refusal(f"beside an earlier demo it holds what the demo did not make: {own}.")

    def _not_made_by_us(self) -> Iterator[str]:
        mark = json.loads((self.path / _MARK).read_text())
        if self.file.exists() and _digest(self.file.read_text(encoding="utf-8")) != mark["payments.yaml"]:
            yield "changes of payments.yaml"
        yield from sorted(each.name for each in self.path.iterdir() if each.name not in _MADE)
        for folder, made in (("lake", {"payments", "payments_dead"}), ("state", {"payments"})):
            there = self.path / folder
            yield from sorted(f"{folder}/{each.name}" for each in _inside(there) if each.name not in made)
        logs = [each.name.rpartition("-")[0] for each in _inside(kafka.home_of(self.path) / "data") if each.is_dir()]
        yield from sorted({f"topic {topic}" for topic in logs if topic and topic[:2] != "__" and topic != TOPIC})

    def _refusal(self, found: str) -> PenstockError:
        other = f"{penstock()} demo --folder {typed(self._another())}"
        return PenstockError(f"{self.path}: {found} Nothing was touched.", remedy=f"Choose another folder:  {other}")

    def _another(self) -> Path:
        number = 2
        while (other := self.path.with_name(f"{self.path.name}-{number}")).exists():
            number += 1
        return other


def pipeline_text() -> str:
    """The pipeline file, with its comments."""
    lines = "".join(f"      {line}\n" for line in SCHEMA.strip().splitlines())
    return _PIPELINE.format(schema=lines)


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _remove(made: Path) -> None:
    if made.is_dir() and not made.is_symlink():
        shutil.rmtree(made)
    else:
        made.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
