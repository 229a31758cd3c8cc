"""Status: how a pipeline stands, read from its state folder by any process, without Spark.

What is counted comes from the last outcome of the ledger, so it is exact through any crash. Rate and lag come from
the running process, which leaves them in `<state>/progress/now.json`; where the state is on another file system, in
the folder that stands for it on the machine that runs.
"""

from __future__ import annotations

from typing import Any

from penstock import files
from penstock.files import Place
from penstock.ledger.lease import holder
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Outcome
from penstock.observe import now as present
from penstock.observe.now import Now


def status(pipeline: str, state: Place) -> dict[str, Any]:
    """The pipeline's status in the names that other tools rely on."""
    ledger = Ledger.find(state, pipeline)
    last = ledger.last_outcome() if ledger else None
    told = present.read(files.here(state))
    generation = ledger.generation if ledger else None
    return {"pipeline": pipeline, "state": str(state), **status_of(generation, last, holder(state / "lease"), told)}


def status_of(
    generation: int | None, last: Outcome | None, running: dict[str, Any] | None, told: Now | None
) -> dict[str, Any]:
    """The same of what was read already: the last outcome, who holds the lease, what the process told."""
    lag = told.lag.total if told and told.lag else None
    return {
        "generation": generation,
        "batch_id": last.batch_id if last else None,
        "running": running,
        "rows_per_second": (told.rows_per_second if told else None) if running else 0.0,
        "lag_rows": lag.rows if lag else None,
        "lag_seconds": lag.seconds if lag else None,
        "read": last.totals.seen if last else 0,
        "last_batch": {"rows": last.read, "seconds": last.seconds, "phases": last.phases, "at": last.committed_at}
        if last
        else None,
        "rejected": last.totals.by_code() if last else {},
        "dropped": dict(last.totals.dropped) if last else {},
        "sinks": {
            name: {"version": receipt.version, "rows": last.totals.written[name]}
            for name, receipt in last.receipts.items()
            if name in last.totals.written
        }
        if last
        else {},
    }
