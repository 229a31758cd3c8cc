"""How large a batch may be: the settings, and the goal that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import PositiveInt

from penstock.options import Duration, Field, Options, Wrong
from penstock.triggers import RealTime, seconds_between


class Pace(Options):
    """How large a batch may be. The governor chooses its size between batches, and never exceeds `max_rows`."""

    max_rows: PositiveInt = Field(1_000_000, description="Most rows of one batch, over all partitions.")
    batch_target: Duration = Field(
        Duration("20 seconds"),
        description="How long a batch should take; the governor chooses its size for it. "
        "Default `20 seconds`, in profile latency `1 second`.",
    )
    freshness: Duration | None = Field(
        None, description="How old the newest visible row may be, while records come. In place of `batch_target`."
    )

    fair: Literal["by_backlog", "by_topic"] = Field(
        "by_backlog",
        description="How a batch is shared out where more waits than it takes: by what waits in each partition, or "
        "evenly over topics, so that a flooded one does not hold up the others. Fixed for a generation.",
    )

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        if given.get("batch_target") is not None and given.get("freshness") is not None:
            why = "`batch_target` and `freshness` are two goals, and one read limit cannot hold both."
            yield Wrong(why, "Keep one of them.", at=("freshness", "[key]"))


def disagreements(trigger: object, pace: Pace, source: Any = None) -> Iterator[Wrong]:
    """A goal that the trigger cannot reach, or a way of sharing that the source does not have."""
    if pace.fair == "by_topic" and getattr(source, "pattern", None) is not None:
        why = "a pattern may match new topics at any time, and here each topic is a source of its own from the start."
        yield Wrong(why, "List the topics:  topics: [orders, payments]", at=("fair",))
    every = seconds_between(trigger)
    if isinstance(trigger, RealTime) and pace.model_fields_set:
        why = "in real time records are read as they come: there is no batch whose size could be chosen."
        yield Wrong(why, "Leave `pace` out.", at=(sorted(pace.model_fields_set)[0], "[key]"))
    if pace.freshness is not None and every >= pace.freshness.seconds:
        why = f"a batch starts only every {every:g} s: a row can wait longer than that before it is even read."
        yield Wrong(why, "Write  trigger: as_fast_as_possible,  or allow more time.", at=("freshness",))


def seconds_of(trigger: object, pace: Pace) -> float:
    """How long a batch may take.

    A record that just missed a batch waits for that batch, and then for its own: with batches in a row, two of them
    must fit into the freshness that is asked for.
    """
    if pace.freshness is None:
        return pace.batch_target.seconds
    every = seconds_between(trigger)
    return min(pace.freshness.seconds / 2, pace.freshness.seconds - every) if every else pace.freshness.seconds / 2
