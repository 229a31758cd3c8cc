"""Batches made by hand: real ledger, real tables, real commits, and no Spark. For tests that look at what is left.

A batch is a text with one letter an offset: `w` written, `2`..`9` written as so many rows, `r` rejected, `d` dropped,
`n` not routed to the first sink, `x` refused by the first sink alone, `.` no record at this offset.

    case.write("wwr")            # three records of partition 0
    case.write({0: "ww", 1: "d3"})
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock import Delta, Json, Kafka, Pipeline, Sink
from penstock.clock import Clock
from penstock.engine.tables import committers
from penstock.files import here
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.origin import Origin
from penstock.ranges import Positions, Range
from penstock.report import outcome_of, story_of
from penstock.rows import DEAD_LETTER, LINEAGE, SOURCE, Verdict
from penstock.sinks.contract import Committer, Frozen, FrozenFile
from penstock.tally import Fates, Tally
from penstock.worker.desk import DEAD_LETTERS
from penstock.worker.letters import Sender, dead_letters

DATA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string())])
AT = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass
class HandMade:
    """A pipeline `p` on a folder. Its positions move on with every batch."""

    folder: Path
    sinks: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"lake": {}})
    """Name -> settings of its table."""
    columns: pa.Schema = DATA
    generation: int = 1
    topic_id: str = "first-life"
    at: Positions = field(default_factory=dict)
    batch_id: int = 0

    def __post_init__(self) -> None:
        self.ledger.open()

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline(
            name="p",
            folder=self.folder,
            source=Kafka(brokers=("localhost:9092",), topics=("t",)),
            decode=Json(schema="id BIGINT, name STRING"),
            sinks={name: Sink(to=Delta(table=f"./lake/{name}", **more)) for name, more in self.sinks.items()},
        )

    @property
    def state(self) -> Path:
        return self.folder / "state" / "p"

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.state, "p", self.generation)

    def table(self, sink: str = "lake") -> str:
        return str(self.state / DEAD_LETTERS if sink == DEAD_LETTERS else self.folder / "lake" / sink)

    def outcome_file(self, batch_id: int) -> Path:
        return here(self.ledger.folder) / "outcomes" / f"{batch_id}.json"

    def write(self, records: str | Mapping[int, str]) -> Outcome:
        """One batch, from its intent to its outcome."""
        intent, manifest = self.freeze(records)
        return self.publish(intent, manifest)

    def freeze(self, records: str | Mapping[int, str]) -> tuple[Intent, Manifest]:
        """A batch up to its manifest: nothing of it is visible."""
        parts = {0: records} if isinstance(records, str) else records
        starts = {partition: self.at.get(("t", partition), 0) for partition in parts}
        ranges = tuple(Range("t", part, starts[part], starts[part] + len(text)) for part, text in parts.items())
        intent = self.ledger.intend(self.batch_id, ranges, "code", Origin("cluster", {"t": self.topic_id}))
        tally, frozen = Tally(), {}
        for name, table in self.tables().items():
            target = table.prepare(DEAD_LETTER if name == DEAD_LETTERS else self.columns, here(self.ledger.stage))
            writer = target.writer(f"{self.batch_id:08d}-{name}")
            for partition, text in parts.items():
                rows = self._rows(name, text, partition, starts[partition])
                if rows.num_rows:
                    writer.write(rows)
            frozen[name] = Frozen(target.to_json(), tuple(_files(writer.close())))
        for partition, text in parts.items():
            tally.partitions["t", partition] = self._fates(text, starts[partition])
            self.at["t", partition] = starts[partition] + len(text)
        self.batch_id += 1
        read = tally.total().seen
        return intent, self.ledger.freeze(intent, Manifest(intent.digest, time.time(), read, tally, frozen), 0)

    def publish(self, intent: Intent, manifest: Manifest) -> Outcome:
        """The rest of the batch: commits and outcome."""
        receipts = {
            name: table.commit(
                manifest.sinks[name],
                intent.key(name),
                {**story_of(manifest, intent), "rows": manifest.sinks[name].rows},
            )
            for name, table in self.tables().items()
        }
        earlier = self.ledger.last_outcome()
        return self.ledger.close(outcome_of(intent, manifest, receipts, earlier, Clock(), replayed=False))

    def tables(self) -> dict[str, Committer]:
        return committers(self.pipeline)

    def _rows(self, sink: str, text: str, partition: int, start: int) -> pa.RecordBatch:
        if sink == DEAD_LETTERS:
            return self._letters(text, partition, start)
        first = sink == next(iter(self.sinks))
        left_out = ".rd" + ("nx" if first else "")
        numbers = [n for n, letter in enumerate(text) for _ in range(_times(letter)) if letter not in left_out]
        offsets = pa.array([start + n for n in numbers], pa.int64())
        count = len(numbers)
        columns = {"id": offsets, "name": pa.array([f"n{n % 3}" for n in numbers], pa.string())}
        data = [columns.get(each.name, pa.nulls(count, each.type)) for each in self.columns]
        lineage = [pa.array([value] * count, each.type) for value, each in zip(("t", partition), LINEAGE, strict=False)]
        arrays = [*data, *lineage, offsets, pa.array([AT] * count, LINEAGE.field("_timestamp").type)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*self.columns, *LINEAGE]))

    def _letters(self, text: str, partition: int, start: int) -> pa.RecordBatch:
        count = len(text)
        source = {
            "topic": ["t"] * count,
            "partition": [partition] * count,
            "offset": list(range(start, start + count)),
            "timestamp": [AT] * count,
        }
        whole = pa.RecordBatch.from_arrays(
            [pa.array(source.get(each.name, [None] * count), each.type) for each in SOURCE], schema=SOURCE
        )
        first = next(iter(self.sinks))
        stages = {"r": "decode", "x": f"sink:{first}"}
        verdicts = [Verdict(n, "bad", stage=stages[letter]) for n, letter in enumerate(text) if letter in stages]
        return dead_letters(Sender("p", self.generation, self.batch_id), whole, verdicts)

    def _fates(self, text: str, start: int) -> Fates:
        fates = Fates(seen=len(text) - text.count("."))
        fates.cover(start, start + len(text) - 1)
        fates.rejected, fates.dropped = Counter(bad=text.count("r")), Counter(old=text.count("d"))
        for number, sink in enumerate(self.sinks):
            out = text.count("n") if number == 0 else 0
            refused = text.count("x") if number == 0 else 0
            fates.not_routed[sink] = out
            fates.written[sink] = fates.seen - text.count("r") - text.count("d") - out - refused
            fates.rows[sink] = fates.written[sink] + sum(_times(letter) - 1 for letter in text)
            fates.refused[sink] = Counter(bad=refused) if refused else Counter()
        return fates


def _times(letter: str) -> int:
    return int(letter) if letter.isdigit() else 1


def _files(written: list[FrozenFile]) -> list[FrozenFile]:
    return [FrozenFile(**file.__dict__) for file in written]
