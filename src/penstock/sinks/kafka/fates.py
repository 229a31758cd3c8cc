"""What an error of Kafka's client means for the batch in hand: every one of them has a fate, and words for it.

fenced      another attempt took over: what it did with the batch decides
changed     a topic is gone, or takes less than when the rows were frozen: the batch is computed again
forbidden   a permission is missing: time can cure it, once somebody grants it
again       the broker is away or busy: the same call again, while there is time
broken      anything else: this attempt is dropped, the next one starts by asking the broker
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, TableChanged, Unavailable
from penstock.sinks.kafka.names import MARKERS, transactional_id

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from penstock.sinks.contract import WriteKey

INVISIBLE = "Nothing of this batch is visible in the topics; its rows are kept and will be sent again."
UNDECIDED = (
    "Whether its records are visible is for the broker to decide: the next try asks it before it writes anything."
)


class Fate(StrEnum):
    FENCED = "fenced"
    CHANGED = "changed"
    FORBIDDEN = "forbidden"
    AGAIN = "again"
    BROKEN = "broken"


_FATES = {
    Fate.FENCED: ("_FENCED", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"),
    Fate.CHANGED: ("MSG_SIZE_TOO_LARGE", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"),
    Fate.FORBIDDEN: (
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    ),
    Fate.AGAIN: ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "UNSTABLE_OFFSET_COMMIT"),
}
_OF = {name: fate for fate, names in _FATES.items() for name in names}


def fate_of(cause: KafkaError) -> Fate:
    """`_TIMED_OUT` says of itself that trying again is of no use, and is wrong."""
    known = _OF.get(cause.name())
    if known is not None:
        return known
    useful = cause.retriable() and not cause.fatal() and not cause.txn_requires_abort()
    return Fate.AGAIN if useful else Fate.BROKEN


def failure(key: WriteKey, doing: str, cause: KafkaError, topic: str | None, data: str) -> PenstockError:
    """The error that ends an attempt. The run tries again, or has the batch computed again."""
    fate = fate_of(cause)
    what = f"{key.pipeline}, topics of cluster {key.sink}, batch {key.batch_id}: could not {doing}"
    why = f"{what}{f' topic {topic}' if topic else ''}: {cause.str()}."
    if fate is Fate.CHANGED and topic is not None:
        return TableChanged(
            f"{what} topic {topic}, which is no longer what the batch was written for: {cause.str()}.",
            data="Nothing of this batch is visible in the topics; its rows are left aside.",
            remedy="The batch is computed again, for the topics as they are now.",
        )
    if fate is Fate.FORBIDDEN:
        return Unavailable(why, data=data, remedy=f"Grant what is missing:  {permission(cause, key.app, topic)}")
    if cause.name() == "INVALID_TRANSACTION_TIMEOUT":
        remedy = "Lower `timeout` of the sink, or raise  transaction.max.timeout.ms  of the brokers."
        return Unavailable(why, data=data, remedy=remedy)
    return Unavailable(why, data=data)


def permission(cause: KafkaError, app: str, topic: str | None) -> str:
    """The access control entry whose lack this error tells of."""
    generations = app.rpartition(".g")[0] + ".g"
    return {
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": f"Write and Describe on transactional id {transactional_id(app)} "
        f"(or on the prefix {generations})",
        "GROUP_AUTHORIZATION_FAILED": f"Read on group {app} (or on the prefix {generations})",
        "TOPIC_AUTHORIZATION_FAILED": f"Write and Describe on topic {topic}"
        if topic and topic != MARKERS
        else f"Read and Describe on topic {MARKERS}",
    }.get(cause.name(), "IdempotentWrite on the cluster")
