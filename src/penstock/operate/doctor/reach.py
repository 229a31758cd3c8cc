"""Is there a broker, and does it let us in? Asked by a client of its own, for some seconds at most."""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from penstock.sources.cluster import Cluster

REACH_SECONDS = 5.0
"""How long a broker may take to answer before it counts as away."""
ANSWER_SECONDS = 5.0
CLOSED_AT_ONCE = "connections are taken and closed at once: something before the brokers answers, and they do not"
MOST_BROKERS, CONNECT_SECONDS = 5, 2.0
"""So many brokers are tried, each for so long."""
Trouble = Literal["", "away", "login", "tls", "advertised"]


@dataclass(frozen=True)
class Reach:
    """What came of knocking."""

    bootstrap: str
    trouble: Trouble = ""
    said: str = ""
    """What the client said of it."""
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Topic -> its partitions, as far as we may see them."""
    lost: tuple[str, ...] = ()
    """Addresses that the brokers tell their clients, and that cannot be reached from here."""


def knock(bootstrap: str) -> Reach:
    """Ask for the topics. Never raises because of the broker."""
    from confluent_kafka import Consumer, KafkaException

    heard: list[Any] = []
    log = _Log()
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "penstock-look",
        "socket.connection.setup.timeout.ms": int(REACH_SECONDS * 1000),
        "log_level": 6,
        "error_cb": heard.append,
    }
    try:
        consumer = Consumer(settings, logger=log.logger)
    except KafkaException as error:
        return Reach(bootstrap, "away", error.args[0].str())
    try:
        found = _ask(consumer, heard)
    finally:
        consumer.close()
    if found is None:
        return _refused(
            bootstrap, [*((error.name(), error.str()) for error in heard), *(("", text) for text in log.said)]
        )
    topics = {name: tuple(sorted(topic.partitions)) for name, topic in found.topics.items()}
    told = [(broker.host, broker.port) for broker in found.brokers.values()][:MOST_BROKERS]
    lost = tuple(f"{host}:{port}" for host, port in told if not _opens(host, port))
    said = f"it tells its clients to go to {', '.join(lost)}, and nobody answers there" if lost else ""
    return Reach(bootstrap, "advertised" if told and len(lost) == len(told) else "", said, topics, lost)


def _opens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return True
    except OSError:
        return False


def _ask(consumer: Any, heard: list[Any]) -> Any:
    """The topics; or nothing, once it is clear that no broker lets us in, or time is up. `heard` says why."""
    from confluent_kafka import KafkaError, KafkaException

    deadline = time.monotonic() + REACH_SECONDS
    while True:
        try:
            return consumer.list_topics(timeout=1.0)
        except KafkaException as error:
            heard.append(error.args[0])
        consumer.poll(0.1)  # what the client has to say is said only while it is asked for records
        down = any(error.code() == KafkaError._ALL_BROKERS_DOWN for error in heard)
        if down or time.monotonic() > deadline:
            return None


class _Log(logging.Handler):
    """What the client says of itself: why a connection was closed is told nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.logger = logging.Logger("penstock.doctor")  # of its own: nobody else hears it
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage().rpartition("]: ")[2])


def _refused(bootstrap: str, told: Sequence[tuple[str, str]]) -> Reach:
    """Why it did not work, in one word; of several reasons the one that tells most."""
    lost = _sent_to(text for _, text in told)
    if lost and not any("/bootstrap: Connect" in text for _, text in told):
        return Reach(bootstrap, "advertised", f"nobody answers at {', '.join(lost)}", lost=lost)
    for name, text in told:
        if _login(name, text):
            return Reach(bootstrap, "login", text)
        if _tls(name, text):
            tls = _speaks_tls(bootstrap)
            return Reach(bootstrap, "tls", text) if tls else Reach(bootstrap, "away", CLOSED_AT_ONCE)
    return Reach(bootstrap, "away", max((text for _, text in told), key=len, default="no answer"))


def _sent_to(texts: Iterable[str]) -> tuple[str, ...]:
    """Addresses that the brokers told the client, and that it could not connect to: they have a number behind them."""
    found = (re.match(r"(?:\w+://)?(\S+)/\d+: Connect to .* failed", text) for text in texts)
    return tuple(dict.fromkeys(match[1] for match in found if match))


def _login(name: str, text: str) -> bool:
    """A refused login; or a broker that answers, and closes the connection at the first request it has to allow."""
    closed = "closed by peer" in text and "in state UP" in text
    return closed or "AUTHENTICATION" in name or "SASL" in text


def _tls(name: str, text: str) -> bool:
    return name == "_SSL" or "SSL" in text or "in state APIVERSION_QUERY" in text


def _speaks_tls(bootstrap: str) -> bool:
    """Does anybody there begin TLS? A tunnel or a proxy before a broker that is away only closes the connection."""
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # who it is, is not the question
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            with socket.create_connection((host, int(port)), CONNECT_SECONDS) as made, context.wrap_socket(made):
                return True
        except ssl.SSLError as error:
            if "ALERT" in (error.reason or ""):
                return True
        except (OSError, ValueError):
            continue
    return False


@dataclass(frozen=True)
class Settings:
    """Settings of topics and brokers; None where they may not be read."""

    topics: Mapping[str, Mapping[str, str | None] | None] = field(default_factory=dict)
    broker: Mapping[str, str | None] | None = None


def settings_of(cluster: Cluster, topics: Iterable[str]) -> Settings:
    """What topics and a broker say of themselves."""
    from confluent_kafka.admin import ConfigResource, ResourceType

    brokers = sorted(cluster.admin.list_topics(timeout=ANSWER_SECONDS).brokers)
    names = sorted(set(topics))
    asked = {("topic", name): ConfigResource(ResourceType.TOPIC, name) for name in names}
    asked |= {("broker", str(brokers[0])): ConfigResource(ResourceType.BROKER, str(brokers[0]))} if brokers else {}
    answers = cluster.admin.describe_configs(list(asked.values()), request_timeout=ANSWER_SECONDS) if asked else {}
    found = {key: _answer(answers[resource]) for key, resource in asked.items()}
    broker = next((said for (kind, _), said in found.items() if kind == "broker"), None)
    return Settings({name: said for (kind, name), said in found.items() if kind == "topic"}, broker)


def _answer(future: Any) -> dict[str, str | None] | None:
    from confluent_kafka import KafkaException

    try:
        return {key: entry.value for key, entry in future.result(ANSWER_SECONDS).items()}
    except (KafkaException, TimeoutError):
        return None


def allowed(cluster: Cluster, topics: Iterable[str]) -> dict[str, set[str]]:
    """What we may do with these topics, by the names of the operations; those that do not say it are left out."""
    from confluent_kafka import KafkaException, TopicCollection

    names, found = sorted(set(topics)), {}
    if not names:
        return {}
    answers = cluster.admin.describe_topics(
        TopicCollection(names), include_authorized_operations=True, request_timeout=ANSWER_SECONDS
    )
    for name, future in answers.items():
        try:
            operations = future.result(ANSWER_SECONDS).authorized_operations
        except (KafkaException, TimeoutError) as error:
            if "AUTHORIZATION" not in str(error):
                continue
            operations = []
        if operations is not None:
            found[name] = {operation.name for operation in operations}
    return found


@dataclass(frozen=True)
class Newest:
    """The newest record of a partition."""

    topic: str
    partition: int
    timestamp: float
    by_broker: bool
    """Whether the broker's clock set it (LogAppendTime); else the producer's did."""


def newest_records(cluster: Cluster, ends: Mapping[tuple[str, int], int], seconds: float = 3.0) -> list[Newest]:
    """The newest record of each of these partitions, as far as it is found in time. The last few are looked at."""
    from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, TopicPartition

    from penstock.sources.looking import looker, messages

    places = [TopicPartition(topic, part, max(0, end - 4)) for (topic, part), end in ends.items() if end > 0]
    if not places:
        return []
    found: dict[tuple[str, int], Newest] = {}
    left, deadline = {(each.topic, each.partition) for each in places}, time.monotonic() + seconds
    consumer = looker(cluster)
    try:
        consumer.assign(places)
        while left and time.monotonic() < deadline:
            for part, message in messages(consumer):
                if message is None:
                    left.discard(part)
                    continue
                kind, at = message.timestamp()
                if kind:
                    known = found.get(part)
                    latest = max(at / 1000, known.timestamp if known else 0.0)
                    found[part] = Newest(*part, latest, kind == TIMESTAMP_LOG_APPEND_TIME)
    finally:
        consumer.close()
    return list(found.values())
