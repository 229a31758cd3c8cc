"""The preflight: before the first batch, compare ledger, checkpoint and sinks, and refuse where they disagree.

Going on with a checkpoint that is older than its tables would skip every write without a word; going on without
one would write everything twice. Nothing here writes anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.errors import Refused
from penstock.files import Place
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.damage import check_whole
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Outcome
from penstock.ledger.standing import (
    NOTHING,
    closed,
    label,
    newest_generation,
    not_behind,
    not_undone,
    noun,
    ours,
)
from penstock.origin import Origin, same_origin
from penstock.sinks.contract import CLOSED, Watermarked, Witness, app_id


class Preflight:
    """The comparison for one pipeline. `file` is what the user types after `penstock run`."""

    def __init__(self, pipeline: str, state: Place, sinks: Mapping[str, Watermarked], file: str) -> None:
        self.pipeline, self.state, self.sinks, self.file = pipeline, state, list(sinks.values()), file
        self.checkpoint = Checkpoint(state / "spark")
        self.warnings: list[str] = []

    def check(self, run: str = "") -> Ledger:
        """The ledger to go on with; Refused if going on could lose or double data."""
        for sink in self.sinks:
            if isinstance(sink, Witness):
                self.warnings += sink.ready()
        ledger = Ledger.find(self.state, self.pipeline, run)
        if ledger is None:
            return self._first_run(run)
        last = ledger.last_outcome()
        self._not_closed(ledger)
        self._checkpoint_agrees(ledger, last)
        self._sinks_agree(ledger, last)
        return ledger

    def source(self, ledger: Ledger, now: Origin, there: Collection[str], *, must_be_there: bool) -> None:
        """Refuse topics that are not those that the batches so far were read from. `there` are all of the cluster."""
        was = ledger.origin
        same_origin(self.pipeline, was, now, self._afresh)
        gone = [topic for topic in was.topics if topic not in there]
        if gone and must_be_there:
            last = ledger.last_intent()
            told = ", ".join(f"{topic} (id {was.topics[topic]})" for topic in gone)
            raise Refused(
                f"{self.pipeline}, source kafka: batch {last.batch_id if last else 0} read the topic {told}, which "
                "is gone from the brokers.",
                data=f"What was not yet read of it would be lost without a word. {NOTHING}",
                remedy="Bring the topic back; or, if it is gone for good, go on without it (a topic made anew under "
                f"the same name is read from its first record):  {self._afresh}",
            )

    def _first_run(self, run: str) -> Ledger:
        if self.checkpoint.exists:
            raise Refused(
                f"{self.pipeline}: {self.checkpoint.folder} holds a checkpoint, but there is no ledger beside it.",
                data=f"The ledger was deleted, or the checkpoint is not penstock's. {NOTHING}",
                remedy=f"Restore {self.state} from a backup, use another folder (state: ./state/...), or go on from "
                f"what the sinks hold:  {self._rebuild}",
            )
        for sink in self.sinks:
            found = newest_generation(self.pipeline, sink)
            if found is not None:
                generation, batch_id = found
                held = "was closed" if batch_id == CLOSED else f"left batches up to {batch_id}"
                raise Refused(
                    f"{self.pipeline}, {label(sink)}: generation {generation} of this pipeline {held} in "
                    f"{noun(sink)}, but the state folder {self.state} is empty.",
                    data="The state was deleted or moved, or another pipeline of this name runs elsewhere; starting "
                    f"at batch 0 would lose or double rows. {NOTHING}",
                    remedy=f"Restore the state folder; or go on where the sinks end:  {self._rebuild}\n"
                    "  Or read the source again from its start, into the same tables (rows already there will be "
                    f"there twice):  {self._afresh} --from source",
                )
        return Ledger(self.state, self.pipeline, 1, run)

    def _not_closed(self, ledger: Ledger) -> None:
        for sink in self.sinks:
            if sink.watermark(self._app(ledger, sink)) == CLOSED:
                raise closed(self.pipeline, sink, ledger.generation, self._afresh)

    def _checkpoint_agrees(self, ledger: Ledger, last: Outcome | None) -> None:
        check_whole(self.pipeline, self.checkpoint, ledger.intents.last, self._rebuild)
        planned, committed = self.checkpoint.planned, self.checkpoint.committed
        done = last.batch_id if last else None
        again = f"Restore {self.state} whole, from one moment; or go on from what the sinks hold:  {self._rebuild}"
        if done is not None and (planned is None or planned < done):
            raise Refused(
                f"{self.pipeline}: the ledger says that batch {done} is done, but the checkpoint {self._ends()}.",
                data=f"It was deleted or restored from a backup; going on would lose or double rows. {NOTHING}",
                remedy=again,
            )
        if committed is not None and (done is None or done < committed):
            raise Refused(
                f"{self.pipeline}: the checkpoint has batch {committed} committed, but the ledger "
                f"{'knows of none' if done is None else f'ends at batch {done}'}.",
                data=f"The ledger in {ledger.folder} was deleted or restored from a backup. {NOTHING}",
                remedy=again,
            )

    def _ends(self) -> str:
        planned = self.checkpoint.planned
        if planned is not None:
            return f"ends at batch {planned}"
        kept = self.checkpoint.folder / "metadata"
        return f"is gone but for {kept}" if kept.exists() else "is gone"

    def _sinks_agree(self, ledger: Ledger, last: Outcome | None) -> None:
        planned = self.checkpoint.planned
        for sink in self.sinks:
            app = self._app(ledger, sink)
            ours(self.pipeline, sink, app, ledger.id, str(self.state), self._rebuild)
            watermark = sink.watermark(app)
            if watermark is not None and (planned is None or watermark > planned):
                raise Refused(
                    f"{self.pipeline}, {label(sink)}: {noun(sink)} holds batch {watermark}, but the checkpoint "
                    f"{'is empty' if planned is None else f'ends at batch {planned}'}.",
                    data=f"The sink is ahead: its next batches would be taken for done and skipped. {NOTHING}",
                    remedy=f"Restore the newest state, or go on from what the sinks hold:  {self._rebuild}",
                )
            not_behind(self.pipeline, sink, app, last, self._afresh)
            not_undone(self.pipeline, sink, app, last, self._afresh)

    def _app(self, ledger: Ledger, sink: Watermarked) -> str:
        return app_id(self.pipeline, ledger.generation, sink.name)

    @property
    def _afresh(self) -> str:
        return f"penstock new-generation {self.file}"

    @property
    def _rebuild(self) -> str:
        return f"penstock checkpoint rebuild {self.file}"
