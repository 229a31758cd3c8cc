"""Before the first batch: may the table be written to, and does it keep what penstock relies on?"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import SinkRefused
from penstock.sinks.delta.log import LOG
from penstock.sinks.delta.state import TableState

FORGETS = "delta.setTransactionRetentionDuration"


def check(name: str, table: str, state: TableState | None) -> None:
    """Refuse a table that forgets which batches it has, or that this process may not write to."""
    if state is not None and FORGETS in state.configuration:
        raise SinkRefused(
            f"sink {name}: table {table} has the property {FORGETS} = {state.configuration[FORGETS]}.",
            data="With it the table forgets which batches it holds, and a batch that comes again would be there "
            "twice. Nothing was written.",
            remedy=f"Take it off:  ALTER TABLE delta.`{table}` UNSET TBLPROPERTIES ('{FORGETS}')",
        )
    for folder in _written(table, exists=state is not None):
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            raise SinkRefused(
                f"sink {name}: this process (user {os.geteuid()}) may not write to {folder}.",
                data="Nothing was written.",
                remedy=f"Give it the permission, or run as a user that has it:  chown {os.geteuid()} {folder}",
            )


def _written(table: str, *, exists: bool) -> list[Path]:
    """The folders that a commit writes to; of a table to come, the nearest that is there."""
    folder = Path(table)
    if exists:
        return [folder, folder / LOG]
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return [folder]
