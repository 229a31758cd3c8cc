"""The preflight: before the first batch, compare ledger, checkpoint and sinks, and refuse where they disagree.

Going on with a checkpoint that is older than its tables would skip every write without a word; going on without
one would write everything twice. Nothing here writes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.errors import Refused
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Outcome
from penstock.sinks.contract import Committer, app_id

NOTHING = "Nothing was written."
CLOSED = 2**63 - 1
"""The watermark of a closed generation: no batch can be newer."""


class Preflight:
    """The comparison for one pipeline. `file` is what the user types after `penstock run`."""

    def __init__(self, pipeline: str, state: Path, tables: Mapping[str, Committer], file: str) -> None:
        self.pipeline, self.state, self.tables, self.file = pipeline, state, tables, file
        self.checkpoint = Checkpoint(state / "spark")

    def check(self, run: str = "") -> Ledger:
        """The ledger to go on with; Refused if going on could lose or double data."""
        ledger = Ledger.find(self.state, self.pipeline, run)
        if ledger is None:
            return self._first_run(run)
        last = ledger.last_outcome()
        self._checkpoint_is_whole(ledger, last)
        self._sinks_agree(ledger, last)
        return ledger

    def _first_run(self, run: str) -> Ledger:
        if self.checkpoint.exists:
            raise Refused(
                f"{self.pipeline}: {self.checkpoint.folder} holds a checkpoint, but there is no ledger beside it.",
                data=f"The ledger was deleted, or the checkpoint is not penstock's. {NOTHING}",
                remedy=f"Restore {self.state} from a backup, or use another folder:  state: ./state/...",
            )
        for name, table in self.tables.items():
            found = newest_generation(self.pipeline, name, table)
            if found is not None:
                generation, batch_id = found
                held = "was closed" if batch_id == CLOSED else f"left batches up to {batch_id}"
                raise Refused(
                    f"{self.pipeline}, sink {name}: generation {generation} of this pipeline {held} in the table, but "
                    f"the state folder {self.state} is empty.",
                    data=f"The state was deleted or moved; starting at batch 0 would lose or double rows. {NOTHING}",
                    remedy="Restore the state folder, or read the source again from its start, into the same tables "
                    f"(rows already there will be there twice):  {self._afresh} --from source",
                )
        return Ledger(self.state, self.pipeline, 1, run)

    def _checkpoint_is_whole(self, ledger: Ledger, last: Outcome | None) -> None:
        planned, committed = self.checkpoint.planned, self.checkpoint.committed
        done = last.batch_id if last else None
        if done is not None and (planned is None or planned < done):
            what = "is gone" if planned is None else f"ends at batch {planned}"
            raise Refused(
                f"{self.pipeline}: the ledger says that batch {done} is done, but the checkpoint {what}.",
                data=f"It was deleted or restored from a backup; going on would lose or double rows. {NOTHING}",
                remedy=f"Restore {self.state} whole, from one moment, or start afresh and keep the tables:  "
                f"{self._afresh}",
            )
        if committed is not None and (done is None or done < committed):
            raise Refused(
                f"{self.pipeline}: the checkpoint has batch {committed} committed, but the ledger "
                f"{'knows of none' if done is None else f'ends at batch {done}'}.",
                data=f"The ledger in {ledger.folder} was deleted or restored from a backup. {NOTHING}",
                remedy=f"Restore {self.state} whole, from one moment, or start afresh and keep the tables:  "
                f"{self._afresh}",
            )

    def _sinks_agree(self, ledger: Ledger, last: Outcome | None) -> None:
        planned = self.checkpoint.planned
        for name, table in self.tables.items():
            watermark = table.watermark(app_id(self.pipeline, ledger.generation, name))
            if watermark is not None and (planned is None or watermark > planned):
                raise Refused(
                    f"{self.pipeline}, sink {name}: the table holds batch {watermark}, but the checkpoint "
                    f"{'is empty' if planned is None else f'ends at batch {planned}'}.",
                    data=f"The sink is ahead: its next batches would be taken for done and skipped. {NOTHING}",
                    remedy=f"Restore the newest state, or start afresh and keep the tables:  {self._afresh}",
                )
            not_behind(self.pipeline, name, watermark, last, self._afresh)

    @property
    def _afresh(self) -> str:
        return f"penstock new-generation {self.file}"


def newest_generation(pipeline: str, name: str, table: Committer) -> tuple[int, int] | None:
    """The newest generation of the pipeline that left anything in the table, and its last batch."""
    generation, found = 1, None
    while (batch_id := table.watermark(app_id(pipeline, generation, name))) is not None:
        generation, found = generation + 1, (generation, batch_id)
    return found


def not_behind(pipeline: str, name: str, watermark: int | None, last: Outcome | None, afresh: str) -> None:
    """Refuse a sink that has less than the ledger says it was given: before the first batch, and before each one."""
    written = last.last_written.get(name) if last else None
    if written is not None and (watermark is None or watermark < written):
        raise Refused(
            f"{pipeline}, sink {name}: the ledger says that it holds batch {written}, but the table "
            f"{'has none of this pipeline' if watermark is None else f'ends at batch {watermark}'}.",
            data=f"The table was dropped, replaced or restored; going on would leave a hole. {NOTHING}",
            remedy=f"Bring the table back, or start afresh and keep what is there:  {afresh}",
        )
