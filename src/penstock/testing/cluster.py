"""Three real brokers on this machine, for what one broker cannot show: leaders that die, coordinators that move.

    with cluster(folder) as kafka:
        kafka.create_topic("orders")
        kafka.kill(2)                  # as a crash would: -9
        kafka.restart(2)
        kafka.wait_in_sync("orders")

Each node is broker and controller, some 300 MB; all of them end with this process, however it ends. With
`proxied=True` there is a proxy before each of them (`kafka.proxies`), which clients of `kafka.through` have to pass:
so any of them, or all, can be cut off from the clients while they still reach one another.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import ClusterMetadata
from confluent_kafka.cimpl import NewTopic

from penstock.dev import broker, keeper
from penstock.dev.ports import free_port, is_free
from penstock.dev.topics import admin
from penstock.errors import SetupFailed
from penstock.testing.harness import wait_until
from penstock.testing.proxy import Proxy

READY_SECONDS = 120.0


@dataclass(frozen=True)
class Node:
    """One of the brokers."""

    number: int
    home: Path
    port: int
    controller: int
    directory: str
    """The id of its data folder: controllers know one another by it."""
    door: int = 0
    """Where its proxy, if it has one, connects to."""

    @property
    def voter(self) -> str:
        return f"{self.number}@127.0.0.1:{self.controller}:{self.directory}"

    @property
    def alive(self) -> bool:
        return keeper.alive(self.home)


class Cluster:
    """Brokers 1 to `size`, not yet running. `proxies`: one for each, or none."""

    def __init__(self, folder: Path, size: int = 3, proxies: Sequence[Proxy] = ()) -> None:
        new_id = broker.new_id
        self.nodes = [
            Node(number, folder / f"node-{number}", free_port(), free_port(), new_id(), free_port() if proxies else 0)
            for number in range(1, size + 1)
        ]
        self.proxies = list(proxies)
        for node, proxy in zip(self.nodes, self.proxies, strict=False):
            proxy.target = node.door
        self.id = broker.new_id()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    @property
    def through(self) -> str:
        """Where clients come in that are to pass the proxies."""
        return ",".join(proxy.bootstrap for proxy in self.proxies)

    def start(self) -> None:
        """Start all of them, and wait until each knows the others."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self._launch, self.nodes))
        self.wait_ready()

    def kill(self, number: int) -> None:
        """End a node as a crash would, and wait until the others have noticed."""
        keeper.end(self._node(number).home, signal.SIGKILL)
        self.wait_ready()

    def restart(self, number: int) -> None:
        """Start a node that ended, with the data it had, and wait until the others know it."""
        self._launch(self._node(number))
        self.wait_ready()

    def stop(self) -> None:
        """End all of them at once. Asked politely, the last would wait for a quorum that has gone: so, not politely."""
        for node in self.nodes:
            if node.home.exists():
                keeper.end(node.home, signal.SIGKILL)

    def wait_ready(self) -> None:
        """Until the brokers that live, and only they, are in the cluster's metadata."""

        def ready() -> bool:
            living = {node.number for node in self.nodes if node.alive}
            return living == set(found.brokers) if (found := self._metadata()) else False

        wait_until(ready, "the cluster knows which of its brokers live", READY_SECONDS)

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """A topic with a replica on every node, of which all but one must have a record before it is acknowledged."""
        client = admin(self.bootstrap)
        config = {"min.insync.replicas": str(max(len(self.nodes) - 1, 1))}
        client.create_topics([NewTopic(topic, partitions, len(self.nodes), config=config)])[topic].result(30)
        self.wait_in_sync(topic)

    def wait_in_sync(self, topic: str) -> None:
        """Until every node has all of the topic."""

        def in_sync() -> bool:
            found = self._metadata()
            parts = found.topics[topic].partitions.values() if found and topic in found.topics else ()
            return bool(parts) and all(len(part.isrs) == len(self.nodes) for part in parts)

        wait_until(in_sync, f"every node has all of {topic}", READY_SECONDS)

    def leader(self, topic: str, partition: int = 0) -> int:
        """The number of the node that leads a partition."""

        def found() -> int:
            metadata = self._metadata()
            return int(metadata.topics[topic].partitions[partition].leader) if metadata else 0

        return int(wait_until(lambda: max(found(), 0), f"{topic}-{partition} has a leader", READY_SECONDS))

    def _node(self, number: int) -> Node:
        return self.nodes[number - 1]

    def _metadata(self) -> ClusterMetadata | None:
        try:
            return admin(self.bootstrap).list_topics(timeout=5)
        except KafkaException:
            return None  # not now; who waits asks again

    def _launch(self, node: Node) -> None:
        node.home.mkdir(parents=True, exist_ok=True)
        voters = ",".join(each.voter for each in self.nodes)
        broker.prepare(
            node.home,
            node.port,
            node.controller,
            self._settings(node),
            cluster=self.id,
            quorum=f"--initial-controllers={voters}",
        )
        keeper.launch(node.home, child=True)
        if not keeper.wait(lambda: not node.alive or not is_free(node.port), READY_SECONDS) or not node.alive:
            told = broker.last_lines(node.home / "broker.log")
            raise SetupFailed(f"Broker {node.number} of the cluster did not start. The end of its log:", data=told)

    def _settings(self, node: Node) -> dict[str, str]:
        replicas, in_sync = str(len(self.nodes)), str(max(len(self.nodes) - 1, 1))
        port = self.proxies[node.number - 1].port if self.proxies else 0
        return {
            **(broker.with_door(node.port, node.controller, node.door, port) if port else {}),
            "node.id": str(node.number),
            "controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{each.controller}" for each in self.nodes),
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
        }


@contextmanager
def cluster(folder: Path, size: int = 3, *, proxied: bool = False) -> Iterator[Cluster]:
    """A running cluster; nothing of it runs after the block."""
    with ExitStack() as stack:
        brokers = Cluster(folder, size, [stack.enter_context(Proxy()) for _ in range(size)] if proxied else ())
        stack.callback(brokers.stop)
        brokers.start()
        yield brokers
