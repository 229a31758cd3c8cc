"""Does what the ledger says of a batch agree with itself? An outcome that does not was edited or damaged."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ledger.records import Outcome
from penstock.operate.audit.told import is_letters
from penstock.ranges import Range
from penstock.tally import Fates


def doubts_of(outcome: Outcome, before: Fates | None) -> Iterator[str]:
    """Every reason to doubt it. `before` are the totals that it carries on, if they are known."""
    total = outcome.tally.total()
    if outcome.read != total.seen:
        yield f"it read {outcome.read:,} records, and its partitions saw {total.seen:,}"
    yield from _partitions(outcome)
    for sink, receipt in outcome.receipts.items():
        rows = sum(total.by_code().values()) if is_letters(sink) else total.rows[sink]
        if receipt.rows != rows:
            yield f"its receipt of {sink} says {receipt.rows:,} rows, its counts say {rows:,}"
    if before is not None and _numbers(_sum(before, total)) != _numbers(outcome.totals):
        yield "its totals are not those of the batch before it and its own"


def _partitions(outcome: Outcome) -> Iterator[str]:
    ranges = {(part.topic, part.partition): part for part in outcome.ranges}
    for (topic, partition), fates in sorted(outcome.tally.partitions.items()):
        name, part = f"{topic}-{partition}", ranges.get((topic, partition))
        if part is None:
            yield f"it counts records of {name}, which it did not read"
        elif fates.seen > len(part) - _gone(outcome, part):
            yield f"it counts {fates.seen:,} records of {name}, where there are {len(part):,} offsets"
        for sink in outcome.receipts:
            if not is_letters(sink) and fates.accounted(sink) != fates.seen:
                yield f"{name}, sink {sink}: {fates.seen:,} records read, {fates.accounted(sink):,} accounted for"


def _gone(outcome: Outcome, part: Range) -> int:
    """Offsets of this range that the source had deleted before they were read."""
    same = (gap for gap in outcome.gaps if (gap.topic, gap.partition) == (part.topic, part.partition))
    return sum(len(gap) for gap in same)


def _sum(one: Fates, other: Fates) -> Fates:
    whole = Fates()
    whole.add(one)
    whole.add(other)
    return whole


def _numbers(fates: Fates) -> dict[str, object]:
    """The counts, without those that are zero: a Counter keeps them, or not."""
    body = fates.to_json()
    plain = {name: {key: n for key, n in value.items() if n} for name, value in body.items() if isinstance(value, dict)}
    return {**plain, "seen": body["seen"]}
