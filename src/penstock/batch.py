"""One micro-batch: compute once, freeze, commit. The order below is the design; see docs/design/batch.md.

    1 intent     what the batch reads, before any side effect
    2 pass       one read of the source: decode and write files; nothing is visible
    3 conserve   every record that was read has a fate, for every sink
    4 freeze     the manifest: from here on a replay publishes these files and nothing else
    5 tables     dead letters, then each table: one commit each, that recognises itself
    6 topics     (with the Kafka sink: one transaction per cluster)
    7 outcome    what the batch came to
    8 return     Spark commits its offsets

Kill the process between any two lines, or run two processes at once: nothing is lost, nothing doubled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock import failpoints
from penstock.conserve import Reading
from penstock.errors import NotConserved, TableChanged
from penstock.ledger.ledger import Ledger, age_of, now
from penstock.ledger.preflight import not_behind
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.observe.events import BatchCommitted, BatchStarted, Emit, RecordsLost, UnknownFields
from penstock.pipeline import Pipeline
from penstock.ranges import Positions, Range
from penstock.rows import DEAD_LETTER
from penstock.sinks.contract import Committer, Frozen, Receipt
from penstock.sources.losses import Losses
from penstock.tally import Fates, Tally
from penstock.task import DEAD_LETTERS, REPORT, Work, merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STALE_SECONDS = 86_400
"""A manifest older than this is computed again: vacuum takes files that nobody committed after seven days."""


@dataclass
class Plan:
    """What stays the same from batch to batch."""

    pipeline: Pipeline
    ledger: Ledger
    losses: Losses
    tables: dict[str, Committer]
    """Every table in the order of the commits: dead letters first."""
    fingerprint: str
    emit: Emit
    start: Positions | None = None
    """Where the first batch starts, if not where the pipeline file says."""
    known_unknown: set[str] = field(default_factory=set)
    """Unknown fields that were reported already."""

    @property
    def sinks(self) -> list[str]:
        return [name for name in self.tables if name != DEAD_LETTERS]


class Clock:
    """Seconds per numbered step; each step has a failpoint before and after it."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self.started = time.monotonic()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        with failpoints.around(name):
            yield
        self.phases[name] = round(self.phases.get(name, 0.0) + time.monotonic() - began, 4)

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self.started, 4)


def write_batch(plan: Plan, rows: DataFrame, batch_id: int, ranges: tuple[Range, ...]) -> None:
    """Publish one micro-batch. Spark commits its offsets only if this returns; if not, it comes again."""
    clock = Clock()
    with clock.step("intent"):  # 1
        plan.losses.check(ranges)
        intent = plan.ledger.intend(batch_id, ranges, plan.fingerprint)
        last = plan.ledger.last_outcome()
        for name, table in plan.tables.items():
            not_behind(intent.pipeline, name, table.watermark(intent.key(name).app), last, "penstock new-generation")
    plan.emit(BatchStarted(pipeline=plan.pipeline.name, batch_id=batch_id, offsets=sum(map(len, ranges))))
    found = _usable(plan, intent)
    manifest = found or freeze(plan, rows, intent, clock)  # 2-4
    with clock.step("tables"):  # 5
        receipts = publish(plan, manifest, intent)
    # 6 topics: one transaction per Kafka cluster, with the Kafka sink
    with clock.step("outcome"):  # 7
        outcome = plan.ledger.close(_outcome(intent, manifest, receipts, last, clock, replayed=found is not None))
    _tell(plan, outcome)
    failpoints.reach("before:return")  # 8


def freeze(plan: Plan, rows: DataFrame, intent: Intent, clock: Clock) -> Manifest:
    """One pass over the batch, closed and written down. What it wrote is invisible until `publish`."""
    reading = Reading(intent.ranges)
    with clock.step("pass"):  # 2
        work = _work(plan, intent)
        reports = [row[0] for row in reading.over(rows).mapInArrow(work, REPORT).collect()]
    with clock.step("conserve"):  # 3
        files, tally = merged(reports)
        read = reading.close(tally, plan.sinks)
        targets = {**work.targets, DEAD_LETTERS: work.dead_letters}
        frozen = {name: Frozen(target.to_json(), files.get(name, ())) for name, target in targets.items()}
        _files_agree(frozen, tally)
        gaps = plan.losses.found(intent.ranges, tally)
    with clock.step("freeze"):  # 4
        return plan.ledger.freeze(intent, Manifest(intent.digest, time.time(), read, tally, frozen, gaps))


def publish(plan: Plan, manifest: Manifest, intent: Intent) -> dict[str, Receipt]:
    """Commit every table of the batch, in order. A table that has the batch already recognises it."""
    story = _story(manifest, intent)
    receipts = {}
    for name, table in plan.tables.items():
        frozen = manifest.sinks[name]
        receipts[name] = table.commit(frozen, intent.key(name), {**story, "rows": frozen.rows})
        failpoints.reach(f"after:tables:{name}")
    return receipts


def _usable(plan: Plan, intent: Intent) -> Manifest | None:
    """The manifest of an earlier try, if its files can still be committed; else the batch is computed again.

    Computing again is allowed only while no table has the batch: what is half published must be finished as it is.
    """
    manifest = plan.ledger.manifest(intent)
    if manifest is None:
        return None
    published = any(_has(table, intent, name) for name, table in plan.tables.items())
    if age_of(manifest) > STALE_SECONDS and not published:
        return None
    try:
        for name, table in plan.tables.items():
            table.verify(manifest.sinks[name], intent.key(name))
    except TableChanged:
        if published:
            raise
        return None
    return manifest


def _has(table: Committer, intent: Intent, name: str) -> bool:
    watermark = table.watermark(intent.key(name).app)
    return watermark is not None and watermark >= intent.batch_id


def _work(plan: Plan, intent: Intent) -> Work:
    columns = plan.pipeline.decode.columns()
    return Work(
        pipeline=plan.pipeline.name,
        generation=intent.generation,
        batch_id=intent.batch_id,
        decode=plan.pipeline.decode,
        targets={name: plan.tables[name].prepare(columns) for name in plan.sinks},
        dead_letters=plan.tables[DEAD_LETTERS].prepare(DEAD_LETTER),
    )


def _files_agree(frozen: dict[str, Frozen], tally: Tally) -> None:
    """The rows in the files are the rows that were counted."""
    total = tally.total()
    buried = sum(total.rejected.values()) + sum(sum(codes.values()) for codes in total.refused.values())
    expected = {DEAD_LETTERS: buried, **{name: total.written[name] for name in frozen if name != DEAD_LETTERS}}
    for name, share in frozen.items():
        if share.rows != expected[name]:
            raise NotConserved(
                f"sink {name}: its files hold {share.rows} rows, but {expected[name]} were counted.",
                data="Nothing of this batch is visible.",
                remedy="Run again; if it stays so, report it with the state folder's ledger.",
            )


def _story(manifest: Manifest, intent: Intent) -> dict[str, Any]:
    """What a table's commit says of the batch, for people and for the audit."""
    total = manifest.tally.total()
    return {
        "pipeline": intent.pipeline,
        "generation": intent.generation,
        "batch_id": intent.batch_id,
        "digest": intent.digest,
        "read": manifest.read,
        "rejected": dict(total.rejected),
        "ranges": [[part.topic, part.partition, part.start, part.end] for part in intent.ranges],
    }


def _outcome(
    intent: Intent,
    manifest: Manifest,
    receipts: dict[str, Receipt],
    earlier: Outcome | None,
    clock: Clock,
    *,
    replayed: bool,
) -> Outcome:
    last_written = dict(earlier.last_written) if earlier else {}
    last_written |= {name: intent.batch_id for name in receipts if manifest.sinks[name].rows}
    totals = earlier.totals if earlier else Fates()
    totals.add(manifest.tally.total())
    return Outcome(
        batch_id=intent.batch_id,
        digest=intent.digest,
        ranges=intent.ranges,
        gaps=manifest.gaps,
        read=manifest.read,
        tally=manifest.tally,
        receipts=receipts,
        last_written=last_written,
        totals=totals,
        committed_at=now(),
        seconds=clock.seconds,
        phases=clock.phases,
        replayed=replayed,
    )


def _tell(plan: Plan, outcome: Outcome) -> None:
    name, total = plan.pipeline.name, outcome.tally.total()
    if outcome.gaps:
        gaps = tuple(part.to_json() for part in outcome.gaps)
        plan.emit(RecordsLost(pipeline=name, batch_id=outcome.batch_id, gaps=gaps))
    news = {key: count for key, count in outcome.tally.unknown.items() if key not in plan.known_unknown}
    if news:
        plan.known_unknown.update(news)
        plan.emit(UnknownFields(pipeline=name, batch_id=outcome.batch_id, fields=news))
    plan.emit(
        BatchCommitted(
            pipeline=name,
            batch_id=outcome.batch_id,
            read=outcome.read,
            written=max(total.written.values(), default=0),
            rejected=total.by_code(),
            dropped=dict(total.dropped),
            seconds=outcome.seconds,
            phases=outcome.phases,
            sinks={
                key: {"version": receipt.version, "rows": receipt.rows} for key, receipt in outcome.receipts.items()
            },
            replayed=outcome.replayed,
        )
    )
