"""What an error of Kafka's client means for the batch in hand: every one of them has a fate, and words for it.

fenced      another attempt took over, or the broker ended the transaction: what the marker says decides
forbidden   a permission is missing: time can cure it, once somebody grants it
again       the broker is away or busy: the same call again, while there is time
broken      anything else: this attempt is dropped, the next one starts by asking the broker
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, Unavailable
from penstock.sinks.kafka.names import MARKERS, transactional_id

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from penstock.sinks.contract import WriteKey

INVISIBLE = "Nothing of this batch is visible in the topics; its rows are kept and will be sent again."
UNDECIDED = (
    "Whether its records are visible is for the broker to decide: the next try asks it before it writes anything."
)


class Undecided(Unavailable):
    """The transaction was about to be committed: the broker alone knows whether it was."""


class Fate(StrEnum):
    FENCED = "fenced"
    FORBIDDEN = "forbidden"
    AGAIN = "again"
    BROKEN = "broken"


_FATES = {
    Fate.FENCED: ("_FENCED", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"),
    Fate.FORBIDDEN: (
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    ),
    Fate.AGAIN: ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "UNSTABLE_OFFSET_COMMIT", "NOT_COORDINATOR"),
}
_OF = {name: fate for fate, names in _FATES.items() for name in names}

_HINTS = {
    "INVALID_TRANSACTION_TIMEOUT": "Lower `timeout` of the sink, or raise  transaction.max.timeout.ms  of the brokers.",
    "MSG_SIZE_TOO_LARGE": "Grant  DescribeConfigs  on the topic, so that its limit is known before rows are frozen.",
}


def fate_of(cause: KafkaError) -> Fate:
    """`_TIMED_OUT` says of itself that trying again is of no use, and is wrong."""
    known = _OF.get(cause.name())
    if known is not None:
        return known
    useful = cause.retriable() and not cause.fatal() and not cause.txn_requires_abort()
    return Fate.AGAIN if useful else Fate.BROKEN


def failure(key: WriteKey, doing: str, cause: KafkaError, data: str, topic: str = "") -> PenstockError:
    """The error that ends an attempt; the run tries again. `data` says what became of the rows."""
    what = f"{key.pipeline}, topics of cluster {key.sink}, batch {key.batch_id}: could not {doing}"
    remedy = _HINTS.get(cause.name(), "")
    if fate_of(cause) is Fate.FORBIDDEN:
        remedy = f"Grant what is missing:  {permission(cause, key.app)}"
    kind = Undecided if data == UNDECIDED else Unavailable
    return kind(f"{what}{f' for topic {topic}' if topic else ''}: {cause.str()}.", data=data, remedy=remedy)


def permission(cause: KafkaError, app: str) -> str:
    """The access control entries whose lack this error tells of."""
    generations = app.rpartition(".g")[0] + ".g"
    return {
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": f"Write and Describe on transactional id {transactional_id(app)} "
        f"(or on the prefix {generations})",
        "GROUP_AUTHORIZATION_FAILED": f"Read on group {app} (or on the prefix {generations})",
        "TOPIC_AUTHORIZATION_FAILED": f"Write and Describe on the sinks' topics, Read and Describe on {MARKERS}",
    }.get(cause.name(), "IdempotentWrite on the cluster")
