"""sink kafka: rows into topics. Tasks freeze them, the driver sends every row of a batch in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, PositiveInt

from penstock.brokers import Brokers, TopicName
from penstock.options import Duration, Field, Options, Wrong
from penstock.registry import sinks
from penstock.sql.fields import RuleText

OWN_HEADERS = "penstock."
"""Names of headers that begin so are penstock's: where a row came from, why a record was rejected."""


def _header(name: str) -> str:
    if not name:
        raise Wrong("a header needs a name.")
    if name.startswith(OWN_HEADERS):
        raise Wrong(f"headers that begin with `{OWN_HEADERS}` are penstock's own.", "Name it otherwise.")
    return name


def _shards(value: int) -> int:
    if value > 1:
        raise Wrong(
            "only 1 is possible: all that a batch sends to a cluster is one transaction, visible whole or not at all.",
            "Leave `shards` out.",
        )
    return value


def _linger(value: Duration) -> Duration:
    if value.seconds > 60:
        raise Wrong("is at most 1 minute: a batch would wait for it.", "Write it like  5 milliseconds")
    return value


def _timeout(value: Duration) -> Duration:
    if value.seconds < 1:
        raise Wrong("is at least 1 second: all of a batch must be sent within it.", "Write it like  60 seconds")
    return value


HeaderName = Annotated[str, AfterValidator(_header)]


@sinks.register("kafka")
class Topic(Options):
    """A topic, or one for each row: every batch is one transaction that holds the mark that it was done."""

    topic: TopicName | None = Field(None, description="Write to this topic. It must exist: penstock creates none.")
    topic_from: RuleText | None = Field(
        None, description="The topic of each row. A row whose topic does not exist is rejected (`unknown_topic`)."
    )
    key: RuleText | None = Field(
        None, description="The record's key: BINARY as it is, anything else as its text. Partitions as Java's murmur2."
    )
    value: Literal["json", "raw", "avro", "protobuf", "json_schema"] = Field(
        "json",
        description="`json`: the columns after the last step as one object. `raw`: the bytes that came in. The others: "
        "the columns as a record by the subject's schema, in Confluent's frame.",
    )
    subject: str | None = Field(
        None, min_length=1, description="Where the registry keeps the schema of the values. Default: `<topic>-value`."
    )
    register_: Literal["never", "if_compatible"] = Field(
        "never",
        alias="register",
        description="May penstock add a schema to the subject, where it has none or lacks a column? `if_compatible`: "
        "if the subject's own policy allows it.",
    )
    headers: dict[HeaderName, RuleText] = Field(
        default_factory=dict,
        description="Headers of each record, beside `penstock.topic`, `.partition`, `.offset`, `.pipeline`.",
    )
    brokers: Brokers | None = Field(None, description="Broker addresses; the source's, if left out.")
    delivery: Literal["exactly_once", "at_least_once"] = Field(
        "exactly_once",
        description="`exactly_once`: consumers must read committed. `at_least_once`: no transaction; a crash may "
        "leave rows there twice.",
    )
    shards: Annotated[PositiveInt, AfterValidator(_shards)] = Field(1, description="Transactions per batch.")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(
        "zstd", description="How records are packed. The sinks of one cluster share one producer: they must agree."
    )
    linger: Annotated[Duration, AfterValidator(_linger)] = Field(
        Duration("5 milliseconds"), description="How long a record may wait for others to be sent with it."
    )
    timeout: Annotated[Duration, AfterValidator(_timeout)] = Field(
        Duration("60 seconds"), description="Of the transaction; the broker must allow it."
    )

    exactly_one: ClassVar = ("topic", "topic_from")

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        found = [f"`{way}`" for way in cls.exactly_one if given.get(way) is not None]
        if len(found) != 1:
            remedy = "Found both." if found else "Found neither. Try  topic: big-orders"
            yield Wrong("needs exactly one of `topic`, `topic_from`.", remedy)
        if given.get("value", "json") in ("json", "raw"):
            for key in ("subject", "register"):
                if given.get(key) is not None:
                    why = f"`{key}` is for values with a schema, and this sink writes `{given.get('value', 'json')}`."
                    yield Wrong(why, "Write  value: avro  or take it out.")
        elif given.get("topic_from") is not None and given.get("subject") is None:
            yield Wrong("`topic_from` with a schema needs its subject.", "Write  subject: orders-value")

    def expressions(self) -> dict[tuple[str, ...], str]:
        """Every SQL expression of this sink, by its path below the sink."""
        single = {"key": self.key, "topic_from": self.topic_from}
        return {
            **{("kafka", name): text for name, text in single.items() if text is not None},
            **{("kafka", "headers", name): text for name, text in self.headers.items()},
        }

    @property
    def has_schema(self) -> bool:
        """Do its values need a schema registry?"""
        return self.value not in ("json", "raw")

    @property
    def exact(self) -> bool:
        return self.delivery == "exactly_once"


def shares_topics(sink: str, sinks: Mapping[str, Topic]) -> bool:
    """May another of these sinks of one cluster write to a topic of this one? Then records say which of them it was."""
    mine = sinks[sink].topic
    others = (other.topic for name, other in sinks.items() if name != sink)
    return any(mine is None or other is None or other == mine for other in others)
