"""When a batch starts: the choices that a pipeline has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from penstock.choice import did_you_mean
from penstock.options import Duration, Field, Options, Wrong, all_of, detail

WORDS = ("as_fast_as_possible", "available_now")
LEAST_SECONDS = 5.0
"""Of a batch in real time."""


class Every(Options):
    """A batch starts at this interval."""

    every: Duration = Field(description="How far apart batches start.")


def _not_too_short(value: Duration) -> Duration:
    if value.seconds < LEAST_SECONDS:
        raise Wrong("is at least 5 seconds: Spark takes no shorter batch.", "Write it like  5 minutes")
    return value


class RealTime(Options):
    """Records pass one by one, from topic to topic, at least once; offsets are written down at this interval."""

    real_time: Annotated[Duration, AfterValidator(_not_too_short)] = Field(
        description="How often offsets are written down. A crash sends again what came since. Take minutes."
    )


def _trigger(value: object) -> object:
    """`available_now`, `as_fast_as_possible`, `{every: 10 seconds}` or `{real_time: 5 minutes}`."""
    if isinstance(value, Every | RealTime) or (isinstance(value, str) and value in WORDS):
        return value
    if isinstance(value, dict) and list(value) in (["every"], ["real_time"]):
        return (Every if "every" in value else RealTime).model_validate(value)
    words = ("every", "real_time", *WORDS)
    if isinstance(value, dict):
        strange = [word for word in value if word not in words]
        wrongs = [detail(Wrong(f"no such option.{did_you_mean(word, words)}"), (word, "[key]")) for word in strange]
        alone = Wrong("needs one word, or `every` alone.", "Write it like  available_now  or  {every: 10 seconds}")
        raise all_of("trigger", wrongs or [detail(alone)])
    if isinstance(value, str) and value not in words and not value[:1].isdigit():
        raise Wrong(f"no such trigger.{did_you_mean(value, words)}")
    raise Wrong("needs one word, or `every` with a duration.", "Write it like  available_now  or  {every: 10 seconds}")


Trigger = Annotated[Literal["as_fast_as_possible", "available_now"] | Every | RealTime, BeforeValidator(_trigger)]


def seconds_between(trigger: object) -> float:
    """From the start of one batch to that of the next, at least; 0 where they follow one another."""
    return trigger.every.seconds if isinstance(trigger, Every) else 0.0
