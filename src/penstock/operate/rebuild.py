"""checkpoint rebuild: go on from what the sinks hold, when the state is lost, damaged or older than they are.

Spark's own files are not forged. The old generation is closed in every sink, and a new one starts where the newest
batch that is there ended: its batches have numbers and keys of their own, so that nothing left over from the old state
can be mistaken for it. See docs/design/rebuild.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from penstock.batch import publish_tables, publish_topics
from penstock.clock import Clock
from penstock.errors import Refused, TableChanged
from penstock.files import Place
from penstock.ledger.lease import lease
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.ledger.standing import not_behind
from penstock.operate.evidence import Evidence, look
from penstock.operate.generation import (
    Going,
    Ids,
    Sinks,
    close_all,
    make_ready,
    newest,
    no_marker_lost,
    open_next,
    without_recreated,
)
from penstock.origin import Origin
from penstock.ranges import Positions
from penstock.report import outcome_of
from penstock.sinks.contract import Committer, TopicsCommitter, app_id

Half = Literal["skip", "again"]


@dataclass
class Rebuild:
    """The verb for one pipeline."""

    pipeline: str
    state: Place
    tables: dict[str, Committer]
    topics: list[TopicsCommitter]
    run: str
    ids: Ids | None = None
    half: Half | None = None
    """What to do with a batch that only some sinks have and that cannot be finished: leave it, or read it again."""

    @property
    def sinks(self) -> Sinks:
        return {sink.name: sink for sink in (*self.tables.values(), *self.topics)}

    def look(self) -> Found:
        """What there is, and what would be done. Changes nothing; Refused where nothing safe can be done."""
        make_ready(self.sinks)
        ledger = Ledger.find(self.state, self.pipeline, self.run)
        old = newest(self.pipeline, ledger, self.sinks)
        if old == 0:
            raise Refused(
                f"{self.pipeline}: neither the state folder nor any sink knows of a batch of this pipeline.",
                data="There is nothing to rebuild. Nothing was changed.",
                remedy="Start it:  penstock run",
            )
        evidence = look(self.pipeline, self.sinks, range(old, 0, -1))
        if evidence.newest is None and ledger is not None and ledger.generation == old:
            return self._nothing_there(ledger, evidence, old)
        mine = Ledger(self.state, self.pipeline, evidence.generation, self.run)
        return self._found(mine, evidence, old)

    def do(self) -> Found:
        """Finish what can be finished, close the old generation everywhere, open the next one."""
        with lease(self.state / "lease", self.pipeline, self.run):
            found = self.look()
            if found.to_finish is not None:
                found = self._finished(found, *found.to_finish)
            close_all(self.pipeline, self.sinks, found.old)
            self._unmoved(found)
            open_next(self.pipeline, self.state, found.old, found.going, self.run)
        return found

    def _nothing_there(self, ledger: Ledger, evidence: Evidence, old: int) -> Found:
        """No sink has a batch: go on after the ledger's last, which left nothing anywhere, or where it started."""
        last = ledger.last_outcome()
        no_marker_lost(self.pipeline, ledger, last, self.sinks)
        for sink in self.sinks.values():
            app = app_id(self.pipeline, ledger.generation, sink.name)
            not_behind(self.pipeline, sink, app, last, "penstock new-generation")
        start = last.end if last else ledger.open()
        return Found(old, evidence, self._at(start, ledger.origin), "no sink holds a batch; the ledger says where")

    def _found(self, ledger: Ledger, evidence: Evidence, old: int) -> Found:
        newest_there = evidence.newest
        assert newest_there is not None
        digest = evidence.digest()
        last, intent = ledger.last_outcome(), ledger.intent(newest_there)
        if last is not None and last.batch_id >= newest_there:
            return self._as_the_ledger_says(ledger, last, evidence, old)
        if intent is not None and digest in ("", intent.digest):
            manifest = ledger.manifest(intent)
            if manifest is not None and not evidence.closed:
                start = self._at(_end(intent), intent.origin)
                how = f"batch {newest_there} is finished from its manifest, then goes on after it"
                return Found(old, evidence, start, how, (ledger, intent, manifest))
        return self._from_the_sinks(evidence, intent, old)

    def _as_the_ledger_says(self, ledger: Ledger, last: Outcome, evidence: Evidence, old: int) -> Found:
        for sight in evidence.sights:
            app = app_id(self.pipeline, evidence.generation, sight.sink.name)
            if not sight.closed:
                not_behind(self.pipeline, sight.sink, app, last, "penstock new-generation")
        start = self._at(last.end, ledger.origin)
        return Found(old, evidence, start, f"the ledger is whole: goes on after its last batch, {last.batch_id}")

    def _from_the_sinks(self, evidence: Evidence, intent: Intent | None, old: int) -> Found:
        batch_id = evidence.newest
        lacking = evidence.lacking()
        end = _end(intent) if intent else evidence.end()
        origin = intent.origin if intent else evidence.origin()
        if end is None:
            raise _unknown_end(self.pipeline, evidence)
        if lacking is None or lacking:
            begin = {(part.topic, part.partition): part.start for part in intent.ranges} if intent else evidence.start()
            return self._half_published(evidence, lacking, begin, end, origin, old)
        how = f"every sink has what it was to get of batch {batch_id}: goes on after it"
        return Found(old, evidence, self._at(end, origin), how)

    def _half_published(
        self,
        evidence: Evidence,
        lacking: list[str] | None,
        begin: Positions | None,
        end: Positions,
        origin: Origin,
        old: int,
    ) -> Found:
        batch_id = evidence.newest
        who = ", ".join(lacking) if lacking else "some sinks (which ones, nothing tells)"
        have = ", ".join(str(sight.sink.name) for sight in evidence.holders)
        if self.half == "skip":
            how = f"batch {batch_id} is left as it is: {who} will never have its rows"
            return Found(old, evidence, self._at(end, origin), how)
        if self.half == "again" and begin is not None:
            how = f"batch {batch_id} is read again: {have} will have its rows twice"
            return Found(old, evidence, self._at(begin, origin), how)
        raise Refused(
            f"{self.pipeline}: batch {batch_id} is half published: {have} has it, {who} has not, and what was frozen "
            "of it is gone (or its generation is closed).",
            data="It can be neither finished nor taken back by itself. Nothing was changed.",
            remedy="Restore the state folder, if you can. Else choose:  --half skip  (its rows are lost where they "
            "are missing), or  --half again  (they are there twice where they are).",
        )

    def _finished(self, found: Found, ledger: Ledger, intent: Intent, manifest: Manifest) -> Found:
        """Finish the batch from its manifest. Where its tables or topics no longer take it, `half` says what then."""
        try:
            self._finish(ledger, intent, manifest)
            return found
        except TableChanged as error:
            if self.half is None:
                raise _cannot_be_finished(self.pipeline, intent, error) from error
        evidence = look(self.pipeline, self.sinks, [found.evidence.generation])
        return self._from_the_sinks(evidence, intent, found.old)

    def _finish(self, ledger: Ledger, intent: Intent, manifest: Manifest) -> None:
        """Publish the frozen batch where it is not yet, as a replay would, without Spark."""
        clock, last = Clock(), ledger.last_outcome()
        receipts = publish_tables(self, manifest, intent)
        receipts |= publish_topics(self, manifest, intent, last, ledger)
        clusters = [cluster.name for cluster in self.topics]
        ledger.close(outcome_of(intent, manifest, receipts, last, clock, replayed=True, clusters=clusters))

    def _unmoved(self, found: Found) -> None:
        """Between the look and the closing, a process left over could still commit; then the look was too early."""
        again = look(self.pipeline, self.sinks, [found.evidence.generation])
        before = {sight.sink.name: sight.batch_id for sight in found.evidence.sights}
        if found.to_finish is None and {sight.sink.name: sight.batch_id for sight in again.sights} != before:
            raise Refused(
                f"{self.pipeline}: while the old generation was being closed, another process committed a batch.",
                data="The old generation is closed now; no new one was opened.",
                remedy="End that process, and do the same again:  penstock checkpoint rebuild",
            )

    def _at(self, start: Positions | None, origin: Origin) -> Going:
        return Going(None) if start is None else without_recreated(start, origin, self.ids)


@dataclass(frozen=True)
class Found:
    """What there is, and what follows from it."""

    old: int
    evidence: Evidence
    going: Going
    how: str
    to_finish: tuple[Ledger, Intent, Manifest] | None = field(default=None, repr=False)

    @property
    def new(self) -> int:
        return self.old + 1

    @property
    def start(self) -> Positions | None:
        """Where the new generation starts; None: where the pipeline file says."""
        return self.going.start

    def lines(self) -> Sequence[str]:
        """What was found in each sink, in words."""
        return [f"generation {self.evidence.generation}, {sight}" for sight in self.evidence.sights]

    def to_json(self) -> Mapping[str, object]:
        start = None if self.start is None else {f"{topic}-{part}": at for (topic, part), at in self.start.items()}
        sinks = {sight.sink.name: sight.batch_id for sight in self.evidence.sights}
        return {"old": self.old, "new": self.new, "how": self.how, "start": start, "sinks": sinks}


def _cannot_be_finished(pipeline: str, intent: Intent, error: TableChanged) -> Refused:
    return Refused(
        f"{pipeline}: batch {intent.batch_id} is half published, and what was frozen of it can no longer be committed: "
        f"{error.what}",
        data="It can be neither finished nor taken back by itself. No generation was closed or opened.",
        remedy="Undo the change, if you can. Else choose:  --half skip  (its rows are lost where they are missing), "
        "or  --half again  (it is read again, and they are there twice where they are).",
    )


def _end(intent: Intent) -> Positions:
    return {(part.topic, part.partition): part.end for part in intent.ranges}


def _unknown_end(pipeline: str, evidence: Evidence) -> Refused:
    return Refused(
        f"{pipeline}: no sink says which offsets batch {evidence.newest} read.",
        data="A marker has no room for so many partitions, or the table's log no longer reaches back to that commit. "
        "Nothing was changed.",
        remedy="Find the newest offset of each partition (in tables: max(_offset) by _topic and _partition; in topics: "
        "the headers penstock.partition and penstock.offset), set `start` to the next ones, and:  "
        "penstock new-generation --from source",
    )
