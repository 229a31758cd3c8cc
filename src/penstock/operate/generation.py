"""A new generation: start afresh under new idempotence keys, and keep the tables.

The old generation is closed first, in every table, so that a driver left over from it can commit nothing. A crash in
between leaves a state that `run` refuses and that the same verb finishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from penstock.errors import Refused
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.lease import lease
from penstock.ledger.ledger import Ledger
from penstock.ledger.preflight import CLOSED, newest_generation
from penstock.ledger.records import Outcome
from penstock.ranges import Positions
from penstock.sinks.contract import Committer, WriteKey, app_id


class Closing(Committer, Protocol):
    """A committer that can close a generation."""

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more."""
        ...


@dataclass(frozen=True)
class Opened:
    """What the verb did."""

    old: int
    new: int
    start: Positions | None
    """Where the new generation goes on, or None: where the pipeline file says."""


def new_generation(
    pipeline: str, state: Path, tables: Mapping[str, Closing], begin: Literal["last", "source"], run: str
) -> Opened:
    """Close the newest generation in every table and open the next one."""
    with lease(state / "lease", pipeline, run):
        ledger = Ledger.find(state, pipeline, run)
        found = [newest_generation(pipeline, name, table) for name, table in tables.items()]
        old = max([ledger.generation if ledger else 0, *(generation for generation, _ in filter(None, found))])
        start = _goes_on_at(pipeline, ledger, tables) if begin == "last" else None
        for name, table in tables.items():
            for generation in range(1, old + 1):
                table.close(WriteKey(pipeline, generation, name, CLOSED, ""))
        _set_aside(state / "spark", state / f"spark.g{old}")
        Ledger(state, pipeline, old + 1, run).open(start)
    return Opened(old, old + 1, start)


def _goes_on_at(pipeline: str, ledger: Ledger | None, tables: Mapping[str, Closing]) -> Positions:
    """The end of the last batch that every sink has."""
    last = ledger.last_outcome() if ledger else None
    if ledger is None or last is None:
        raise Refused(
            f"{pipeline}: the ledger knows of no finished batch, so where to go on cannot be known.",
            data="Nothing was changed.",
            remedy="Start where the pipeline file says; rows that are read again will be in the tables twice:  "
            "--from source",
        )
    _nothing_half_published(pipeline, ledger, last, tables)
    return {(part.topic, part.partition): part.end for part in last.ranges}


def _nothing_half_published(pipeline: str, ledger: Ledger, last: Outcome, tables: Mapping[str, Closing]) -> None:
    for name, table in tables.items():
        watermark = table.watermark(app_id(pipeline, ledger.generation, name))
        if watermark is not None and last.batch_id < watermark < CLOSED:
            raise Refused(
                f"{pipeline}, sink {name}: the table holds batch {watermark}, the ledger ends at batch "
                f"{last.batch_id}: a batch is half published.",
                data="Going on after the ledger's last batch would write its rows twice. Nothing was changed.",
                remedy="Let it finish first:  penstock run --once",
            )


def _set_aside(checkpoint: Path, aside: Path) -> None:
    if Checkpoint(checkpoint).exists:
        number = 0
        while aside.exists():
            number += 1
            aside = aside.with_name(f"{aside.name.split('~')[0]}~{number}")
        checkpoint.rename(aside)
