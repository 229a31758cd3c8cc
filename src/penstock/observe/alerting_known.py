"""The alerts that every pipeline has: what each looks for, why that happens as a rule, and what to do next.

They are made to be silent in healthy noise. Lag rises and falls with every batch, a burst may fit into the next one,
some records are always bad: none of that is told.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.observe.alerting import Finding, Rule, Test, duration, number
from penstock.observe.metrics import Readings

OVERDUE = 3.0
REJECT_SHARE = 0.05
DANGER_SECONDS, DANGER_SHARE, FILLS_SECONDS = 86_400.0, 0.5, 3600.0
MANY_FILES, SMALL_BYTES = 5000, 1e6
QUIET_SHARE, QUIET_SECONDS = 5.0, 900.0
CALM_SECONDS = 60.0


def _one(readings: Readings, name: str) -> float | None:
    return readings.get(name, {}).get(())


def _of(readings: Readings, name: str, topic: str) -> float:
    return readings.get(name, {}).get((topic,), 0.0)


def _topics(test: Callable[[Readings, str], Finding | None]) -> Test:
    """The finding of the topic that is farthest behind, among those for which the test holds."""

    def worst(readings: Readings) -> Finding | None:
        found = [(_of(readings, "lag_rows", topic), test(readings, topic)) for (topic,) in readings.get("lag_rows", {})]
        held = [(rows, finding) for rows, finding in found if finding is not None]
        return max(held, key=lambda each: each[0])[1] if held else None

    return worst


def _behind(readings: Readings, topic: str) -> str:
    rows, seconds = _of(readings, "lag_rows", topic), _of(readings, "lag_seconds", topic)
    return f"{topic} is {number(rows)} rows behind, the oldest waits {duration(seconds)}"


def _more_than_a_batch(readings: Readings) -> bool:
    """Does more wait than the next batch will take?"""
    limit = _one(readings, "batch_limit")
    return limit is not None and 0 < limit < sum(readings.get("lag_rows", {}).values())


def growing(readings: Readings, topic: str) -> Finding | None:
    if not _of(readings, "lag_growing", topic):
        return None
    comes, read = _of(readings, "arrival_per_second", topic), _of(readings, "read_per_second", topic)
    text = f"{_behind(readings, topic)}, and it grows: {number(comes)} come a second, {number(read)} are read"
    return Finding(text, _of(readings, "lag_rows", topic), topic)


def burst(readings: Readings, topic: str) -> Finding | None:
    if not _of(readings, "lag_spike", topic) or not _more_than_a_batch(readings):
        return None
    text = f"much came at once: {_behind(readings, topic)}; a batch takes {number(_one(readings, 'batch_limit') or 0)}"
    return Finding(text, _of(readings, "lag_rows", topic), topic)


def hot(readings: Readings, topic: str) -> Finding | None:
    count = _of(readings, "hot_partitions", topic)
    if not count or not (_more_than_a_batch(readings) or _of(readings, "lag_growing", topic)):
        return None
    text = f"{number(count)} of the partitions carry far more than the others: {_behind(readings, topic)}"
    return Finding(text, count, topic)


def stuck(readings: Readings) -> Finding | None:
    overdue = _one(readings, "batch_overdue")
    if overdue is None or overdue <= OVERDUE:
        return None
    hand = _one(readings, "batch_in_hand_seconds") or 0.0
    what = f"the batch in hand takes {duration(hand)} already" if hand else "records wait, and no batch begins"
    return Finding(f"{what}, {number(overdue)} times what is usual", overdue)


def waits(readings: Readings) -> Finding | None:
    seconds = _one(readings, "waiting_seconds")
    return Finding(f"something outside has been away for {duration(seconds)}", seconds) if seconds else None


def rejects(readings: Readings) -> Finding | None:
    share = _one(readings, "reject_share") or 0.0
    if share <= REJECT_SHARE:
        return None
    codes = readings.get("rows_rejected", {})
    most = max(codes.items(), key=lambda each: each[1])[0][0] if codes else ""
    text = f"{share:.0%} of the records of the last five minutes were rejected"
    return Finding(f"{text}, most in this run as {most}" if most else text, share, most)


def runway(readings: Readings, topic: str) -> Finding | None:
    seconds = readings.get("runway_seconds", {}).get((topic,))
    if seconds is None:
        return None
    share = readings.get("runway_share", {}).get((topic,))
    danger = seconds < FILLS_SECONDS if share is None else share < DANGER_SHARE and seconds < DANGER_SECONDS
    if not danger:
        return None
    text = f"in {duration(seconds)} the broker deletes records that were not read: {_behind(readings, topic)}"
    return Finding(text, seconds, topic)


def gone(readings: Readings, topic: str) -> Finding | None:
    lost = _of(readings, "rows_gone", topic)
    return Finding(f"{number(lost)} offsets of {topic} are deleted and were never read", lost, topic) if lost else None


def small(readings: Readings) -> Finding | None:
    files, size = _one(readings, "files_last_hour") or 0.0, _one(readings, "file_bytes")
    if files <= MANY_FILES or size is None or size >= SMALL_BYTES:
        return None
    return Finding(f"{number(files)} files in the last hour, of {size / 1000:.0f} KB on average", files)


def quiet(readings: Readings) -> Finding | None:
    share, seconds = _one(readings, "quiet_share"), _one(readings, "quiet_seconds") or 0.0
    if share is None or share <= QUIET_SHARE or seconds <= QUIET_SECONDS:
        return None
    return Finding(f"no record has come for {duration(seconds)}, {number(share)} times the longest pause", seconds)


def failed(readings: Readings) -> Finding | None:
    return Finding("the run has failed", 1.0) if readings.get("state", {}).get(("failed",)) else None


KNOWN: tuple[Rule, ...] = (
    Rule(
        "lag_growing", _topics(growing), "more comes than is read, batch after batch",
        "More comes than this pipeline can read: too few cores, a slow sink or step, or a hot partition.",
        "Have the cause named:  penstock doctor FILE  (the figures:  penstock lag FILE)",
        looks=2, over_seconds=CALM_SECONDS,
    ),
    Rule(
        "burst", _topics(burst), "much came at once, more than the next batch takes",
        "A producer sent far more than usual, or sent old records again.",
        "It is being worked off. How long that takes:  penstock lag FILE --watch",
        looks=2, over_seconds=CALM_SECONDS,
    ),
    Rule(
        "hot_partition", _topics(hot), "a partition carries more than three times what others do, and it is behind",
        "Most records have the same key, or a producer writes to one partition.",
        "Choose a key that spreads, or split the partition over tasks:  penstock describe source.kafka.task_rows",
        looks=2, over_seconds=CALM_SECONDS,
    ),
    Rule(
        "stuck_batch", stuck, "a batch takes three times what is usual: offsets are ahead of commits",
        "A sink or a step does not answer, or a task hangs.",
        "See the phase that it hangs in:  <state>/progress/now.json  and  <state>/logs/spark.log",
    ),
    Rule(
        "waiting", waits, "something outside is away, at two polls in a row",
        "A broker, a sink, a registry or the state does not answer, or a disk is full.",
        "Nothing is lost; the run goes on when it is back. What is waited for:  <state>/progress/now.json",
        looks=2,
    ),
    Rule(
        "reject_rate", rejects, "more than 5 % of the records of five minutes are rejected",
        "A producer has changed what it sends, or the schema or a check is wrong.",
        "See the codes and samples in the dead letters, and  penstock status FILE",
        over_seconds=CALM_SECONDS,
    ),
    Rule(
        "retention", _topics(runway), "unread records are about to be deleted by the broker",
        "The pipeline is behind by more than half of what the topic keeps, and does not catch up in time.",
        "Let the topic keep more for now (retention.ms, retention.bytes), then make the pipeline faster:  "
        "penstock lag FILE",
        over_seconds=CALM_SECONDS,
    ),
    Rule(
        "records_gone", _topics(gone), "records were deleted before they were read",
        "The topic kept them for a shorter time than the pipeline needed.",
        "The next batch stops and names the ranges, or goes on if on_data_loss says so:  penstock lag FILE",
    ),
    Rule(
        "small_files", small, "more than 5,000 files an hour of less than 1 MB on average",
        "Batches are too frequent for what comes, or rows are spread over too many partitions of the table.",
        "Lengthen  trigger: {every: ...}  or partition the table by less, and compact it.",
        over_seconds=CALM_SECONDS,
    ),
    Rule(
        "no_data", quiet, "nothing came for five times the longest pause, and for 15 minutes",
        "The producers have stopped, or write somewhere else.",
        "Look at the producers, and whether the topic's end moves:  penstock lag FILE --watch",
    ),
    Rule(
        "run_failed", failed, "the run ended with an error",
        "The error says why.",
        "Read the error (penstock doctor FILE  says what mends it), run again: it resumes where it was.",
    ),
)  # fmt: skip
