"""The accounts of the sinks, by what the ledger says; what was found wrong is entered afterwards."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.operate.audit.books import Batch
from penstock.operate.audit.told import Fate, is_letters
from penstock.operate.audit.verdict import Account, PartitionAccount


def account_of(sink: str, batches: Iterable[Batch]) -> Account:
    """What the outcomes of these batches say of one sink, dead letters included."""
    account = Account(sink)
    for batch in batches:
        if batch.told is None or sink not in batch.told.versions:
            continue
        for part in batch.ranges:
            place = part.topic, part.partition
            known = account.partitions.setdefault(place, PartitionAccount(*place, part.start, part.end))
            known.start, known.end = min(known.start, part.start), max(known.end, part.end)
            _enter(account, known, batch.told.fate(place))
    return account


def _enter(account: Account, place: PartitionAccount, fate: Fate) -> None:
    share = fate.of(account.name)
    rejected, written = fate.rejected + share.refused, share.written
    if is_letters(account.name):
        rejected = written = fate.letters
    account.read += fate.seen
    account.written += written
    account.rejected += rejected
    account.dropped += fate.dropped
    account.not_routed += share.not_routed
    place.read += fate.seen
    place.written += written


def totals(batches: Iterable[Batch]) -> Account:
    """What the ledger says was read, rejected and dropped, whatever the sinks."""
    whole = Account("")
    for fate in (fate for batch in batches if batch.told for fate in batch.told.places.values()):
        whole.read += fate.seen
        whole.rejected += fate.letters
        whole.dropped += fate.dropped
    return whole


def in_any_sink(batches: Iterable[Batch]) -> int:
    """Records in at least one sink, by the counts of the ledger: exact where one sink takes all, else at least."""
    return sum(
        max((share.written for _, share in fate.shares), default=0)
        for batch in batches
        if batch.told
        for fate in batch.told.places.values()
    )
