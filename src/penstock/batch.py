"""One micro-batch: compute once, freeze, commit. The order below is the design; see docs/design/batch.md.

    1 intent     what the batch reads, before any side effect
    2 pass       one read of the source: decode, check, step, write files; nothing is visible
    3 conserve   every record that was read has a fate, for every sink
    4 freeze     the manifest: from here on a replay publishes these files and nothing else
    5 tables     dead letters, then each table: one commit each, that recognises itself
    6 topics     per Kafka cluster one transaction with everything the batch sends there, and its marker
    7 outcome    what the batch came to
    8 return     Spark commits its offsets

Kill the process between any two lines, or run two processes at once: nothing is lost, nothing doubled.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock import failpoints
from penstock.clock import Clock
from penstock.conserve import Reading, files_agree, none_stops
from penstock.errors import TableChanged
from penstock.ledger.ledger import Ledger, age_of
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.ledger.standing import not_behind
from penstock.observe.events import BatchStarted, PhaseStarted
from penstock.plan import Outlets, Plan
from penstock.ranges import Range
from penstock.report import outcome_of, say_other_code, story_of, tell, way_out
from penstock.rows import DEAD_LETTER
from penstock.sinks.contract import Frozen, Receipt, TopicsCommitter, Watermarked
from penstock.steps.flow import Flow
from penstock.steps.legs import Pass
from penstock.steps.weighing import still_weighed
from penstock.worker.letters import Sender
from penstock.worker.task import ToSinks, merged, strange_in

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame

STALE_SECONDS = 86_400
"""A manifest older than this is computed again: vacuum takes files that nobody committed after seven days."""


def write_batch(plan: Plan, rows: DataFrame, batch_id: int, ranges: tuple[Range, ...]) -> None:
    """Publish one micro-batch. Spark commits its offsets only if this returns; if not, it comes again."""
    clock = Clock(lambda phase: plan.emit(PhaseStarted(pipeline=plan.pipeline.name, batch_id=batch_id, phase=phase)))
    with clock.step("intent"):  # 1
        plan.losses.check(ranges)
        intent = plan.ledger.intend(batch_id, ranges, plan.fingerprint, plan.origin(part.topic for part in ranges))
        last = _whole_so_far(plan, intent)
    plan.emit(BatchStarted(pipeline=plan.pipeline.name, batch_id=batch_id, offsets=sum(map(len, ranges))))
    number = plan.ledger.free_number(batch_id)
    with way_out(intent):
        found = _usable(plan, intent)
    manifest = found or freeze(plan, rows, intent, clock, number)  # 2-4
    with clock.step("tables"), way_out(intent):  # 5
        receipts = publish_tables(plan, manifest, intent)
    with clock.step("topics"), way_out(intent):  # 6
        receipts |= publish_topics(plan, manifest, intent, last, plan.ledger)
    with clock.step("outcome"):  # 7
        clusters = [cluster.name for cluster in plan.topics]
        done = outcome_of(intent, manifest, receipts, last, clock, replayed=found is not None, clusters=clusters)
        outcome = plan.ledger.close(done)
    tell(plan, outcome, manifest)
    failpoints.reach("before:return")  # 8


def freeze(plan: Plan, rows: DataFrame, intent: Intent, clock: Clock, number: int) -> Manifest:
    """One pass over the batch, closed and written down. What it wrote is invisible until `publish`."""
    with clock.step("pass"):  # 2
        reading, end, reports = _whole_pass(plan, rows, intent)
    with clock.step("conserve"):  # 3
        files, tally = merged(reports)
        none_stops(intent, tally)
        read = reading.close(tally, plan.sinks)
        plan.weighed = still_weighed(tally.large, read, before=plan.weighed)
        targets = {**end.targets, **end.letters}
        frozen = {name: Frozen(target.to_json(), files.get(name, ())) for name, target in targets.items()}
        files_agree(frozen, tally, list(end.letters))
        gaps = plan.losses.found(intent.ranges, tally)
    with clock.step("freeze"):  # 4
        done = Manifest(intent.digest, time.time(), read, tally, frozen, gaps)
        return plan.ledger.freeze(intent, done, number)


def _whole_pass(plan: Plan, rows: DataFrame, intent: Intent) -> tuple[Reading, ToSinks, list[str]]:
    """A pass that nothing makes void: no schema that nobody knows, and no large record whose bytes stayed behind."""
    flow, asked = plan.flow, False
    while True:
        reading, end, reports = _pass(plan, flow, rows, intent)
        tally = merged(reports)[1]
        if not plan.weighed and tally.large:
            plan.weighed = True
        elif not asked and (learned := plan.met(strange_in(reports), intent.batch_id)):
            flow, asked = learned, True
        else:
            return reading, end, reports


def _pass(plan: Plan, flow: Flow, rows: DataFrame, intent: Intent) -> tuple[Reading, ToSinks, list[str]]:
    """One read of the batch: how much was read, where it went, and every task's report."""
    reading, stage = Reading(intent.ranges), plan.ledger.stage_of(intent.batch_id)
    end = _end(plan, intent, stage)
    source = plan.as_source(reading.over(plan.gathered(rows, intent.ranges)))
    one = Pass(flow, intent.batch_id, end, stage, intent.only_topic, weighed=plan.weighed)
    return reading, end, one.over(source)


def publish_tables(plan: Outlets, manifest: Manifest, intent: Intent) -> dict[str, Receipt]:
    """Commit every table of the batch, in order. A table that has the batch already recognises it."""
    story = story_of(manifest, intent)
    receipts = {}
    for name, table in plan.tables.items():
        if name not in manifest.sinks:
            continue  # a sink that joined since the batch was frozen: it begins with the next one
        frozen = manifest.sinks[name]
        began = time.monotonic()
        done = table.commit(frozen, intent.key(name), {**story, "rows": frozen.rows})
        receipts[name] = replace(done, seconds=_since(began))
        failpoints.reach(f"after:tables:{name}")
    return receipts


def publish_topics(
    plan: Outlets, manifest: Manifest, intent: Intent, last: Outcome | None, ledger: Ledger
) -> dict[str, Receipt]:
    """Commit every cluster's transaction. One that has the batch already recognises it by its marker."""
    story = story_of(manifest, intent)
    receipts: dict[str, Receipt] = {}
    for cluster in plan.topics:
        frozen, key = _share(manifest, cluster), intent.key(cluster.name)
        began = time.monotonic()
        done = cluster.commit(frozen, key, story, ledger.known(cluster, key, last))
        receipts |= {name: replace(receipt, seconds=_since(began)) for name, receipt in done.items()}
        failpoints.reach(f"after:topics:{cluster.name}")
    return receipts


def _since(began: float) -> float:
    return round(time.monotonic() - began, 4)


def _whole_so_far(plan: Plan, intent: Intent) -> Outcome | None:
    """The last outcome, if every sink still has what it was given: else this batch would hide a hole."""
    last = plan.ledger.last_outcome()
    for each in plan.committers():
        not_behind(intent.pipeline, each, intent.key(each.name).app, last, "penstock new-generation")
    return last


def _usable(plan: Plan, intent: Intent) -> Manifest | None:
    """The manifest of an earlier try, if its files can still be committed; else the batch is computed again.

    Computing again is allowed only while no sink has the batch: what is half published must be finished as it is.
    Its tables are not asked beforehand: a commit finds another way into a table that was altered, or halts.
    """
    manifest = plan.ledger.manifest(intent)
    published = [each for each in plan.committers() if _has(each, intent)]
    say_other_code(plan, intent, manifest, published)
    if manifest is None:
        return None
    if age_of(manifest) > STALE_SECONDS and not published:
        return None
    try:
        for name, table in plan.tables.items():
            if name in manifest.sinks and not published:
                table.verify(manifest.sinks[name], intent.key(name))
        for cluster in plan.topics:
            cluster.verify(_share(manifest, cluster), intent.key(cluster.name))
    except TableChanged:
        if published:
            raise
        return None
    return manifest


def _share(manifest: Manifest, cluster: TopicsCommitter) -> dict[str, Frozen]:
    """What the batch sends to this cluster; a sink that joined since the freeze begins with the next batch."""
    return {name: manifest.sinks[name] for name in cluster.sinks if name in manifest.sinks}


def _has(sink: Watermarked, intent: Intent) -> bool:
    watermark = sink.watermark(intent.key(sink.name).app)
    return watermark is not None and watermark >= intent.batch_id


def _end(plan: Plan, intent: Intent, stage: Path) -> ToSinks:
    """Where the rows of this batch go. Targets are made or checked here, before anything is written."""
    targets = {name: table.prepare(_columns(plan, name), stage) for name, table in plan.tables.items()}
    for cluster in plan.topics:
        targets |= {name: cluster.prepare(name, _columns(plan, name), stage) for name in cluster.sinks}
    return ToSinks(
        sender=Sender(intent.pipeline, intent.generation, intent.batch_id),
        targets={name: target for name, target in targets.items() if name in plan.sinks},
        letters={name: target for name, target in targets.items() if name not in plan.sinks},
    )


def _columns(plan: Plan, sink: str) -> pa.Schema:
    return plan.flow.columns if sink in plan.sinks else DEAD_LETTER
