"""A run in one line: what stays on the screen as its last word."""

from __future__ import annotations

from penstock.observe.live.state import State
from penstock.observe.live.words import seconds


def summary(state: State) -> str:
    """Reason, batches, rows, rejects, seconds. For a state that has ended."""
    totals, end = state.totals, state.end
    reason, lasted = (end.reason, end.at - state.began) if end else ("running", 0.0)
    rejected, dropped = sum(totals.rejected.values()), sum(totals.dropped.values())
    parts = [
        f"{totals.batches:,} batch{'' if totals.batches == 1 else 'es'}",
        f"{totals.read:,} rows read",
        f"{totals.written:,} written",
        f"{rejected:,} rejected",
        *([f"{dropped:,} dropped"] if dropped else []),
    ]
    return f"{reason}: {', '.join(parts)} in {seconds(lasted)}"
