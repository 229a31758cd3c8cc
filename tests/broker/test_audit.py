"""The audit of a whole pipeline: two tables, two topics and dead letters twice, on a real broker."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from penstock.operate.audit import Verdict, audit
from penstock.sinks.kafka.client import Client
from penstock.sinks.kafka.marker import Marker, Markers
from penstock.spec import load_pipeline
from penstock.testing.kafka import DevKafka, delete_records, end_offsets, read
from penstock.testing.runs import run_once
from penstock.testing.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count(1)
Make = Callable[..., Shop]


@pytest.fixture
def shop(kafka: DevKafka, tmp_path: Path, spark: SparkSession) -> Make:
    """A pipeline that has read 2,000 payments in two batches or more."""

    def make(**settings: Any) -> Shop:
        case = Shop(tmp_path, kafka.bootstrap, f"audited{next(_numbers)}", partitions=2, **settings)
        case.produce(2000)
        run_once(spark, case)
        return case

    return make


def judged(case: Shop, **how: Any) -> Verdict:
    return audit(load_pipeline(case.file), **how)


def words(verdict: Verdict) -> list[str]:
    return [finding.what for finding in verdict.findings]


def test_two_tables_two_topics_and_dead_letters_are_exact(shop: Make, spark: SparkSession) -> None:
    case = shop()
    oracle = case.judged()
    assert oracle.exact
    for deep in (False, True):
        found = judged(case, deep=deep)
        assert found.findings == (), words(found)
        assert found.read == oracle.read == 2000
        assert found.sinks.keys() == {"lake", "big", "feed", "alarm"}
        assert found.letters.keys() == {"dead_letters", "dead_letters_topic"}
        assert found.written + found.rejected == 2000
    call = [sys.executable, "-m", "penstock", "audit", str(case.file), "--deep"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "exact: 2,000 records read, 0 lost, 0 doubled"
    case.produce(500)
    run_once(spark, case)
    assert judged(case, deep=True).read == 2500
    assert judged(case, deep=True, sink="feed").sinks.keys() == {"feed"}


def test_a_copy_in_a_topic_is_doubled_and_a_strangers_record_is_told(shop: Make) -> None:
    case = shop()
    topic = case.topics["feed"]
    one = next(iter(read(case.bootstrap, topic)))
    given_up = Producer({"bootstrap.servers": case.bootstrap, "transactional.id": "somebody"})
    given_up.init_transactions(10)
    given_up.begin_transaction()
    given_up.produce(topic, value=one.value, headers=list(one.headers))
    given_up.flush()
    given_up.abort_transaction(10)
    producer = Producer({"bootstrap.servers": case.bootstrap})
    producer.produce(topic, value=b"theirs")
    producer.flush()
    told = judged(case, deep=True)
    assert told.exact, words(told)
    assert any("sink feed: 1 row without lineage" in what for what in words(told))
    producer.produce(topic, value=one.value, key=one.key, headers=list(one.headers))
    producer.flush()
    found = judged(case, deep=True)
    assert (found.verdict, found.doubled, found.sinks["feed"].doubled) == ("doubled", 1, 1)
    headers = {key: (value or b"").decode() for key, value in one.headers}
    name = "-".join(headers[f"penstock.{part}"] for part in ("topic", "partition", "offset"))
    assert found.of("doubled")[0].examples == (name,)
    assert judged(case).exact, "markers alone cannot tell"


def test_records_that_retention_took_prove_nothing(shop: Make) -> None:
    case = shop()
    ends = end_offsets(case.bootstrap, case.topics["feed"])
    delete_records(case.bootstrap, case.topics["feed"], {0: ends[0] // 2})
    found = judged(case, deep=True)
    assert (found.verdict, found.exit_code) == ("unproven", 3)
    assert any("records were removed by retention or by hand" in what for what in words(found))
    assert judged(case).exact


def test_a_marker_that_was_moved_back_is_found(shop: Make) -> None:
    case = shop()
    markers = Markers(Client(case.bootstrap))
    app = next(f"{case.spec['pipeline']}.g1.{name}" for name in _clusters(case))
    marker = markers.read(app, 10)
    assert marker is not None
    markers.put(app, Marker(0, marker.story))
    markers.close()
    quick, deep = judged(case), judged(case, deep=True)
    assert quick.verdict == "lost"
    assert "but the marker ends at -1" in quick.of("lost")[0].what
    assert deep.exact, words(deep)


def test_sinks_that_write_to_one_topic_are_told_apart_by_a_header(
    kafka: DevKafka, tmp_path: Path, spark: SparkSession
) -> None:
    case = Shop(tmp_path, kafka.bootstrap, f"audited{next(_numbers)}", partitions=2)
    shared = case.topics["feed"]
    case.spec["sinks"]["alarm"]["kafka"] = {"topic": shared, "value": "raw"}
    case.spec["sinks"]["copy"] = {"kafka": {"topic_from": f"if(amount > 4000, '{shared}', '{case.topics['alarm']}')"}}
    case.write()
    case.produce(1000)
    run_once(spark, case)
    found = judged(case, deep=True)
    assert found.exact, words(found)
    assert found.sinks["feed"].written == found.sinks["copy"].written > found.sinks["alarm"].written > 0
    copied = next(each for each in read(case.bootstrap, shared) if ("penstock.sink", b"alarm") in each.headers)
    producer = Producer({"bootstrap.servers": case.bootstrap})
    producer.produce(shared, copied.value, headers=list(copied.headers))
    assert producer.flush(30) == 0
    again = judged(case, deep=True)
    assert {name: sink.doubled for name, sink in again.sinks.items() if sink.doubled} == {"alarm": 1}


def test_without_a_broker_the_tables_are_judged_and_the_topics_are_unproven(shop: Make) -> None:
    case = shop()
    away = load_pipeline(case.file)
    away = away.model_copy(update={"source": away.source.model_copy(update={"brokers": ("localhost:1",)})})
    found = audit(away)
    assert (found.verdict, found.exit_code) == ("unproven", 3)
    assert sorted(f.sink or "" for f in found.of("unproven")) == ["alarm", "dead_letters_topic", "feed"]
    assert found.sinks["lake"].lost == 0


def _clusters(case: Shop) -> list[str]:
    from penstock.ledger.ledger import Ledger

    last = Ledger(case.state, str(case.spec["pipeline"]), 1).last_outcome()
    assert last is not None
    return [name for name in last.last_written if name not in ("lake", "big", "dead_letters")]
