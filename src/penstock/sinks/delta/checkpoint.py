"""`python -m penstock.sinks.delta.checkpoint TABLE`: write a checkpoint of the table's log, and tidy the log.

It is started by upkeep.py and can be stopped at any moment: delta-rs puts a finished file into place, and what is
tidied away is needed by nobody.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from penstock.sinks.delta.folder import DRAFT
from penstock.sinks.delta.log import LOG
from penstock.sinks.delta.snapshots import listing

CLEANS = "delta.enableExpiredLogCleanup"
KEEPS = "delta.logRetentionDuration"
DAYS_KEPT = "interval 30 days"
DRAFT_SECONDS = 86_400
"""Drafts of commits are gone within milliseconds; one that is a day old was left by a process that died."""
UNITS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_DURATION = re.compile(r"(?:interval\s+)?(\d+)\s+([a-z]+?)s?", re.IGNORECASE)
_OF_A_VERSION = re.compile(r"\.?(\d{20})\.(?:json|crc|checkpoint\.(?:\d+\.\d+\.)?parquet)(?:\.crc)?")
"""Commits, checkpoints, and the sums that Spark and Hadoop keep of them."""


def main(table: str) -> None:
    """Write the checkpoint at the newest version, then tidy."""
    from deltalake import DeltaTable

    handle = DeltaTable(table)
    handle.create_checkpoint()
    tidy(Path(table) / LOG, dict(handle.metadata().configuration), time.time())


def tidy(log: Path, configuration: dict[str, str], now: float) -> None:
    """Remove what is expired: drafts that were left behind, and commits that the table need not keep any longer."""
    names = [path.name for path in log.iterdir()]
    gone = [name for name in names if name.endswith(DRAFT) and _older(log / name, now - DRAFT_SECONDS)]
    kept = retention(configuration)
    if kept is not None:
        first = first_kept(log, names, now - kept)
        gone += [name for name in names if (match := _OF_A_VERSION.fullmatch(name)) and int(match[1]) < first]
    for name in sorted(gone):
        (log / name).unlink(missing_ok=True)


def first_kept(log: Path, names: Iterable[str], before: float) -> int:
    """The oldest version that must stay: the newest checkpoint that was there before this moment.

    Every version that was the newest one at any time since then can still be read: it is this one, or built on it.
    """
    old = [
        one.version
        for one in listing(names, choice=None).snapshots
        if all(_older(log / name, before) for name in one.names)
    ]
    return max(old, default=-1)


def retention(configuration: dict[str, str]) -> float | None:
    """How many seconds the log is kept; None if it is kept for good, or says so in a way that we do not know."""
    if configuration.get(CLEANS, "true").strip().lower() != "true":
        return None
    match = _DURATION.fullmatch(configuration.get(KEEPS, DAYS_KEPT).strip())
    unit = UNITS.get(match[2].lower()) if match else None
    return int(match[1]) * unit if match and unit else None


def _older(path: Path, moment: float) -> bool:
    try:
        return path.stat().st_mtime < moment
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    os.nice(10)
    main(sys.argv[1])
