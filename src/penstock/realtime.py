"""What a pipeline may hold to run in real time: Spark takes no Python there, no tables, and gives no exactly-once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.options import Wrong
from penstock.registry import formats, sinks
from penstock.stages import Check, Step

FORMATS = ("json", "raw")
FATES = ("reject", "drop")


def misfits(made: Mapping[str, Any]) -> Iterator[Wrong]:
    """What of these sections does not go together with `trigger: {real_time: ...}`."""
    yield from _decode(made.get("decode"))
    if getattr(made.get("source"), "task_rows", None) is not None:
        yield _wrong("a partition has one task, always: `task_rows` does not go with it.")
    yield from _checks(made.get("checks", ()))
    yield from _steps(made.get("steps", ()))
    yield from _sinks({name: sink.to for name, sink in made.get("sinks", {}).items()}, made.get("source"))
    letters = made.get("dead_letters")
    if letters is not None and (letters.kafka is None or letters.delta):
        why = "rejected records go to a topic alone: a table cannot be written record by record."
        yield _wrong(why, "dead_letters: {kafka: {topic: orders-dead}}")


def _decode(decode: Any) -> Iterator[Wrong]:
    if decode is None:
        return
    name = formats.name_of(decode)
    if name not in FORMATS:
        yield _wrong(f"`decode: {name}` runs in Python, and real time takes none.", "decode: {json: {schema: ...}}")
    elif getattr(decode, "unknown_fields", "ignore") != "ignore":
        yield _wrong("Spark's JSON parser does not tell of fields that it does not know.", "unknown_fields: ignore")


def _checks(checks: Iterable[Check]) -> Iterator[Wrong]:
    for check in checks:
        if check.on_fail not in FATES:
            why = f"check `{check.name}` says `{check.on_fail}`, and there is no batch to hold back or to count in."
            yield _wrong(why, "on_fail: reject")


def _steps(steps: Sequence[Step]) -> Iterator[Wrong]:
    for step in steps:
        if step.kind != "select":
            yield _wrong(f"step `{step.name}` is `{step.kind}`: only `select` steps run record by record.")
        elif step.tasks is not None:
            yield _wrong(f"step `{step.name}` has `tasks`: rows cannot be spread while they pass.")


def _sinks(parts: Mapping[str, Any], source: Any) -> Iterator[Wrong]:
    for name, part in parts.items():
        if sinks.name_of(part) != "kafka":
            yield _wrong(f"sink `{name}` is no topic, and only topics can be written record by record.")
            continue
        if part.delivery != "at_least_once":
            why = f"sink `{name}` promises `exactly_once`: in real time a crash sends records again."
            yield _wrong(why, "delivery: at_least_once")
        if part.brokers is not None and source is not None and part.brokers != source.brokers:
            yield _wrong(f"sink `{name}` is on other brokers: in real time everything goes through one producer.")
        if part.value not in FORMATS:
            yield _wrong(f"sink `{name}` writes `{part.value}`, which is encoded in Python.", "value: json")
    if len({part.compression for part in parts.values() if hasattr(part, "compression")}) > 1:
        yield _wrong("everything goes through one producer: let the sinks' `compression` agree.")


def _wrong(why: str, instead: str = "") -> Wrong:
    remedy = "Write  trigger: as_fast_as_possible  for batches"
    return Wrong(why, f"{remedy}, or  {instead}" if instead else f"{remedy}.", at=("real_time", "[key]"))
