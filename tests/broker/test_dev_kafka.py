"""The embedded broker: it starts, keeps its data, is found by others, and never outlives what it belongs to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from penstock.dev import kafka as dev
from penstock.errors import PenstockError, SetupFailed
from penstock.testing.kafka import (
    DevKafka,
    delete_records,
    end_offsets,
    ensure_topic,
    produce,
    read_all,
    start_offsets,
)

Topics = Callable[..., str]


def test_records_come_back_as_they_were_written(kafka: DevKafka, topic: Topics) -> None:
    name = topic("records", partitions=2)
    large = b"x" * 10 * 1024 * 1024
    assert produce(kafka.bootstrap, name, [b"a", None, b"\xff", large], keys=["k", None, b"", "k"], partition=1) == 4
    assert produce(kafka.bootstrap, name, ["h"], headers=[("trace", b"1"), ("none", None)], partition=0) == 1
    found = read_all(kafka.bootstrap, name)
    assert [(r.partition, r.offset, r.key, r.value) for r in found] == [
        (0, 0, None, b"h"),
        (1, 0, b"k", b"a"),
        (1, 1, None, None),
        (1, 2, b"", b"\xff"),
        (1, 3, b"k", large),
    ]
    assert found[0].headers == (("trace", b"1"), ("none", None))


def test_deleted_records_move_the_start_of_their_partition(kafka: DevKafka, topic: Topics) -> None:
    name = topic("gaps", partitions=2)
    produce(kafka.bootstrap, name, [str(n) for n in range(10)], partition=0)
    delete_records(kafka.bootstrap, name, {0: 7})
    assert start_offsets(kafka.bootstrap, name) == {0: 7, 1: 0}
    assert end_offsets(kafka.bootstrap, name) == {0: 10, 1: 0}
    assert [record.offset for record in read_all(kafka.bootstrap, name)] == [7, 8, 9]


def test_a_topic_is_created_once_and_left_alone_after(kafka: DevKafka) -> None:
    assert ensure_topic(kafka.bootstrap, "once", partitions=3)
    assert not ensure_topic(kafka.bootstrap, "once", partitions=5)
    assert len(end_offsets(kafka.bootstrap, "once")) == 3


def test_what_the_broker_refuses_is_told_in_words(kafka: DevKafka, topic: Topics) -> None:
    with pytest.raises(PenstockError, match="topic no such name! cannot be created"):
        ensure_topic(kafka.bootstrap, "no such name!")
    name = topic("small", partitions=1, **{"max.message.bytes": "2000"})
    with pytest.raises(PenstockError, match=f"1 of 1 records for {name} were not written"):
        produce(kafka.bootstrap, name, [b"x" * 5000])
    with pytest.raises(PenstockError, match=f"record 2 for topic {name} was refused(.|\n)*1 were written"):
        produce(kafka.bootstrap, name, [b"fits", b"x" * 20 * 1024 * 1024])


def test_data_survive_a_crash_and_a_change_of_ports(folder: Path) -> None:
    first = dev.up(folder, child=True)
    ensure_topic(first.bootstrap, "kept", partitions=1)
    produce(first.bootstrap, "kept", ["one", "two"])
    first.kill()
    assert dev.running(folder) is None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first.port))
        taken.listen()
        second = dev.up(folder, child=True)
        assert second.port != first.port
        assert [record.value for record in read_all(second.bootstrap, "kept")] == [b"one", b"two"]
    second.stop()
    assert dev.up(folder, child=True).port == second.port


def test_two_that_start_one_at_once_share_it(folder: Path) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda _: dev.up(folder), range(2))
    assert first == second == dev.running(folder)
    assert len(processes_of(folder)) == 1


def test_a_child_ends_with_its_parent_even_after_kill_9(folder: Path) -> None:
    start = f"import time; from penstock.dev import kafka; kafka.up({str(folder)!r}, child=True)"
    code = f"{start}; print('up', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=with_sources()) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        assert len(processes_of(folder)) == 2  # launcher and broker
        parent.kill()
        wait_for(lambda: not processes_of(folder))
    assert dev.running(folder) is None


def test_a_child_started_by_a_thread_outlives_that_thread(folder: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        broker = pool.submit(lambda: dev.up(folder, child=True)).result()
    assert ensure_topic(broker.bootstrap, "still-there")


def test_a_child_dies_with_its_launcher(folder: Path) -> None:
    broker = dev.up(folder, child=True)
    assert broker.pid is not None
    os.kill(broker.pid, signal.SIGKILL)
    wait_for(lambda: not processes_of(folder))


def test_a_broker_that_cannot_start_shows_the_end_of_its_log(folder: Path) -> None:
    with pytest.raises(SetupFailed) as failure:
        dev.up(folder, child=True, extra={"num.io.threads": "none"})
    assert str(dev.home_of(folder) / "format.log") in str(failure.value)
    assert "num.io.threads" in str(failure.value)
    assert not processes_of(folder)


def test_a_broker_that_fails_after_formatting_names_its_log(folder: Path) -> None:
    dev.up(folder, child=True).stop()
    with pytest.raises(SetupFailed) as failure:
        dev.up(folder, child=True, extra={"num.io.threads": "none"})
    assert str(dev.home_of(folder) / "broker.log") in str(failure.value)
    assert "num.io.threads" in str(failure.value)
    assert not processes_of(folder)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Launcher and broker of a folder: they run in its data folder."""
    found = [p for p in psutil.process_iter(["cwd", "status"]) if p.info["cwd"] == str(dev.home_of(folder))]
    return [p for p in found if p.info["status"] != psutil.STATUS_ZOMBIE]


def with_sources() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def wait_for(done: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)
