"""F5 to F7 by a network that is cut, not by kills: brokers reach one another, the pipeline does not reach them.

Each case prints what was lost and doubled, and how long after the network was whole the next batch was committed.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.testing.cluster import Cluster, cluster
from penstock.testing.harness import Process
from penstock.testing.shop import Shop

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DARK_SECONDS = 60.0
"""Longer than a client waits for an answer, and as long as a transaction may take."""
Makes = Callable[[str], Shop]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), proxied=True) as brokers:
        yield brokers


@pytest.fixture
def shop(kafka: Cluster, tmp_path: Path) -> Makes:
    """A shop whose pipeline goes through the proxies; the oracle goes round them."""

    def make(name: str) -> Shop:
        for topic in ("in", "feed", "alarm", "dead"):
            kafka.create_topic(f"{name}-{topic}", 4)
        case = Shop(tmp_path, kafka.bootstrap, name, pace={"max_rows": 1000})
        case.spec["source"]["kafka"]["brokers"] = kafka.through.split(",")
        for sink in ("feed", "alarm"):
            case.spec["sinks"][sink]["kafka"]["timeout"] = "30 seconds"
        case.write()
        return case

    return make


def _cut(kafka: Cluster, case: Shop, process: Process, numbers: list[int], seconds: float = DARK_SECONDS) -> float:
    """Cut these brokers off from the pipeline while batches run; seconds from the end of it to the next commit."""
    case.produce(3000)
    done = len(process.events("batch_committed"))
    process.wait_for("batch_committed", done + 1)
    with ExitStack() as stack:
        for number in numbers:
            stack.enter_context(kafka.proxies[number - 1].dark())
        time.sleep(seconds)  # the length of the cut is the fault
        before = len(process.events("batch_committed"))
    began = time.monotonic()
    case.produce(1000)
    process.wait_for("batch_committed", before + 1)
    return time.monotonic() - began


def _judged(case: Shop, process: Process, what: str, recovered: list[float], read: int) -> None:
    process.signal(signal.SIGTERM)
    assert process.end() == 0, process.text
    assert case.run().popen.returncode == 0
    verdict = case.judged()
    print(
        f"{what}: {verdict}; next batch {', '.join(f'{each:.1f} s' for each in recovered)} after the network was whole"
    )
    assert verdict.exact, str(verdict)
    assert verdict.read == read


def test_cut_from_all_brokers_for_a_minute_it_waits_and_goes_on_by_itself(kafka: Cluster, shop: Makes) -> None:
    case = shop("all")
    process = case.start()
    recovered = [_cut(kafka, case, process, [1, 2, 3])]
    _judged(case, process, "F7, all brokers cut off for a minute", recovered, 4000)


def test_cut_from_the_leader_and_then_from_the_coordinators_it_goes_on_by_itself(kafka: Cluster, shop: Makes) -> None:
    case = shop("some")
    case.produce(500)
    process = case.start()
    process.wait_for("batch_committed")  # from now on there are coordinators
    leader = kafka.leader(case.topics["feed"])
    coordinators = {kafka.leader("__transaction_state", part) for part in range(5)} - {leader}
    recovered = [_cut(kafka, case, process, [number]) for number in (leader, *sorted(coordinators))]
    _judged(
        case, process, f"F5, {len(recovered)} brokers cut off, one at a time", recovered, 500 + 4000 * len(recovered)
    )


def test_cut_from_each_broker_in_turn_for_some_seconds_it_goes_on_by_itself(kafka: Cluster, shop: Makes) -> None:
    case = shop("turns")
    process = case.start()
    recovered = [_cut(kafka, case, process, [number], 8.0) for number in (1, 2, 3, 1, 2, 3)]
    _judged(case, process, "F6, every broker cut off twice for 8 s", recovered, 4000 * 6)
