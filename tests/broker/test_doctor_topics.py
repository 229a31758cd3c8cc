"""Topics of a real broker: hot, about to delete, dated wrongly, with settings that do not fit; each is told first."""

from __future__ import annotations

import re
import time
from pathlib import Path

from penstock.testing.kafka import produce
from tests.broker.cases import values
from tests.broker.doctor_kit import Broker, case_of, codes, first, report


def test_a_hot_partition_is_the_cause_of_what_waits(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(partitions=4)
    produce(broker.bootstrap, topic, values(0, 400))
    case = case_of(tmp_path, broker, topic, pace={"max_rows": 1000})
    assert codes(report(case)) == [], "all of it fits into the next batch"
    produce(broker.bootstrap, topic, values(0, 20_000), partition=2)
    found = first(report(case))
    assert found.code == "hot_partition", found
    assert re.search(rf"{topic}-2 holds (9[89]|100)%", found.cause), found  # of the first 400 it may have any number
    assert "task_rows: 25" in found.mend[0]


def test_a_topic_about_to_lose_unread_records_is_told_with_the_setting(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(retention_ms="3600000")
    produce(broker.bootstrap, topic, values(0, 50), timestamp_ms=int((time.time() - 40 * 60) * 1000))
    found = first(report(case_of(tmp_path, broker, topic)))
    assert (found.code, found.cause[:6]) == ("retention", "in 20 "), found
    assert "--add-config retention.ms=" in found.mend[0]
    fresh = broker.topic(retention_ms="3600000")
    produce(broker.bootstrap, fresh, values(0, 50))
    assert codes(report(case_of(tmp_path / "fresh", broker, fresh))) == []


def test_records_dated_in_the_future_are_told_by_whose_clock_it_was(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic()
    produce(broker.bootstrap, topic, values(0, 5), timestamp_ms=int((time.time() + 1800) * 1000))
    found = first(report(case_of(tmp_path, broker, topic)))
    assert (found.code, "a producer's clock is wrong" in found.cause) == ("time_skew", True)
    brokers = broker.topic(message_timestamp_type="LogAppendTime")
    produce(broker.bootstrap, brokers, values(0, 5))
    case = case_of(tmp_path / "brokers", broker, brokers)
    assert codes(report(case)) == []
    late = first(report(case, at=time.time() - 600))  # as on a machine whose clock is ten minutes slow
    assert (late.code, "the clocks differ" in late.cause) == ("time_skew", True)


def test_settings_of_topics_and_brokers_that_do_not_fit_are_told(broker: Broker, tmp_path: Path) -> None:
    topic, out = broker.topic(), broker.topic()
    case = case_of(tmp_path, broker, topic, sinks={"out": {"kafka": {"topic": out, "timeout": "16 minutes"}}})
    found = first(report(case))
    assert (found.code, "allow 15 min" in found.cause) == ("transaction_timeout", True), found
    assert "timeout: 900 seconds" in found.mend[0]
    short = broker.topic(retention_ms="20000")
    found = first(report(case_of(tmp_path / "short", broker, short, trigger={"every": "10 seconds"})))
    assert (found.code, "keeps records for 20 s" in found.cause) == ("short_retention", True)
