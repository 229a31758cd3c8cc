"""What the marker says of a batch: it is there, or it is the next one, or nothing may be written."""

from __future__ import annotations

from penstock.errors import Refused
from penstock.sinks.contract import WriteKey
from penstock.sinks.kafka.marker import Marker


def recognised(marker: Marker | None, key: WriteKey, known: int | None) -> bool:
    """Is the batch there already? False: it is the next one. Refused: it is neither, and writing would be wrong.

    `known` is the last batch that the ledger says is there, -1 if it says that the marker was begun before the first
    one, None if it knows of neither.
    """
    if marker is None:
        if known is not None:
            raise _lost(key, known)
        return False  # the first batch of this generation on this cluster
    if marker.offset == key.batch_id + 1 and not marker.closed:
        if marker.story.get("digest") != key.digest:
            raise _other(marker, key)
        return True
    if marker.offset > key.batch_id:
        raise _stale(marker, key)
    if marker.offset < key.batch_id and marker.batch_id != known:
        raise _gap(marker, key)
    return False  # the next one: batches in between had no share here, and the ledger knows it


def _where(key: WriteKey) -> str:
    return f"{key.pipeline}, topics of cluster {key.sink}, batch {key.batch_id}"


_AFRESH = "Restore the state that belongs to the topics, or start afresh, keeping them:  penstock new-generation"


def _lost(key: WriteKey, known: int) -> Refused:
    said = f"batch {known} is there" if known >= 0 else "the marker was begun"
    return Refused(
        f"{_where(key)}: the ledger says that {said}, but group {key.app} has no marker.",
        data="It was deleted, or it expired; whether this batch was sent cannot be known. Nothing was written.",
        remedy="Start afresh, keeping the topics:  penstock new-generation",
    )


def _other(marker: Marker, key: WriteKey) -> Refused:
    return Refused(
        f"{_where(key)}: the marker of {key.app} says that this batch is there, with the digest "
        f"{marker.story.get('digest')}; this one has {key.digest}.",
        data="The same batch id with other content: sending could double rows, skipping could lose them. "
        "Nothing was written.",
        remedy=_AFRESH,
    )


def _stale(marker: Marker, key: WriteKey) -> Refused:
    found = "this generation is closed" if marker.closed else f"batch {marker.batch_id} is there already"
    return Refused(
        f"{_where(key)}: this attempt is stale: {found}.",
        data="Another process runs this pipeline, or the state is older than the topics. Nothing was written.",
        remedy=_AFRESH,
    )


def _gap(marker: Marker, key: WriteKey) -> Refused:
    return Refused(
        f"{_where(key)}: the marker of {key.app} ends at batch {marker.batch_id}: batches "
        f"{marker.batch_id + 1} to {key.batch_id - 1} are unaccounted for.",
        data="Every batch moves the marker, empty ones too; going on would leave a hole. Nothing was written.",
        remedy=_AFRESH,
    )
