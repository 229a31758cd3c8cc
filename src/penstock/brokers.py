"""What source and sink share of a Kafka cluster: addresses of brokers and names of topics as people write them, and
where its clients log to."""

from __future__ import annotations

import logging
import re
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Strict, TypeAdapter

from penstock.options import Noun, Wrong

Item = TypeVar("Item")


def _broker(value: str) -> str:
    """host:port, as Kafka's clients take it."""
    match = re.fullmatch(r"([^\s:,/@\[\]]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})", value)
    if not match:
        raise Wrong("needs a host and a port.", "Write it like  localhost:9092")
    if not 0 < int(match[2]) < 65536:
        raise Wrong("a port is 1 to 65535.")
    return value


def is_topic(value: str) -> bool:
    """Can a topic be named so?"""
    return bool(re.fullmatch(r"[A-Za-z0-9._-]{1,249}", value)) and value not in (".", "..")


def _topic(value: str) -> str:
    if not is_topic(value):
        raise Wrong("is not a topic's name: 1 to 249 of `a-z A-Z 0-9 . _ -`.")
    return value


def some(values: tuple[Item, ...]) -> tuple[Item, ...]:
    """At least one, and none twice."""
    if not values:
        raise Wrong("is an empty list.")
    twice = [value for place, value in enumerate(values) if value in values[:place]]
    if twice:
        raise Wrong(f"lists `{twice[0]}` twice.")
    return values


Broker = Annotated[str, AfterValidator(_broker), Noun("host:port")]
TopicName = Annotated[str, AfterValidator(_topic), Noun("topic")]

_LIST = TypeAdapter[tuple[str, ...]](Annotated[tuple[Broker, ...], Strict(False), AfterValidator(some)])


def _brokers(value: object) -> object:
    """The word `dev`, or a list of addresses."""
    if value == "dev":
        return value
    if not isinstance(value, list | tuple):
        raise Wrong("needs a list of addresses, or the word `dev`.", "Write it like  [localhost:9092]")
    return _LIST.validate_python(value)


Brokers = Annotated[Literal["dev"] | tuple[Annotated[str, Noun("host:port")], ...], BeforeValidator(_brokers)]


def quiet_log() -> logging.Logger:
    """For Kafka's clients: what they say of themselves is not for the user's terminal."""
    log = logging.getLogger("penstock.kafka")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
        log.propagate = False
    return log
