"""A run in one line: what stays on the screen as its last word."""

from __future__ import annotations

from penstock.observe.live.state import State
from penstock.observe.live.words import seconds


def summary(state: State, now: float) -> str:
    """Reason, batches, rows, rejects, seconds; the rest stands above it."""
    totals, end = state.totals, state.end
    reason, lasted = (end.reason, end.at - state.began) if end else ("so far", now - state.began)
    batches = f"{totals.batches:,} batch{'' if totals.batches == 1 else 'es'}"
    rejected = sum(totals.rejected.values())
    return f"{reason}: {batches}, {totals.read:,} rows, {rejected:,} rejected, {seconds(lasted)}"
