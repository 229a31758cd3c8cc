"""Three brokers, each killed in turn while a pipeline writes tables and topics: it stalls, goes on, counts right."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from penstock.testing.cluster import cluster
from penstock.testing.shop import Shop, watching


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_each_broker_killed_in_turn_costs_nothing_but_time(tmp_path: Path) -> None:
    with cluster(tmp_path / "kafka") as kafka:
        for topic in ("shop-in", "shop-feed", "shop-alarm", "shop-dead"):
            kafka.create_topic(topic, 4)  # with three replicas, which Shop would not ask for
        case = Shop(tmp_path / "shop", kafka.bootstrap, "shop", pace={"max_rows": 2000})
        case.produce(4000)
        process = case.start()
        process.wait_for("batch_committed")
        with watching(case) as watched:
            for number in (1, 2, 3):
                done = len(process.events("batch_committed"))
                kafka.kill(number)
                case.produce(3000)
                process.wait_for("batch_committed", done + 1)
                kafka.restart(number)
                kafka.wait_in_sync(case.source)
                kafka.wait_in_sync(case.topics["feed"])
            process.signal(signal.SIGTERM)
            assert process.end() == 0, process.text
            assert case.run().popen.returncode == 0
        verdict = case.judged()
    print(f"three brokers killed: {verdict}")
    assert verdict.exact, str(verdict)
    assert verdict.read == 13_000
    assert watched.tables == []
