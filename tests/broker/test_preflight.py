"""The preflight on a real broker: topics by their ids, markers, and the ways on after a refusal."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient

from penstock.dev.records import read_all
from penstock.errors import Refused
from penstock.ledger.ledger import Ledger
from penstock.sinks.kafka.names import MARKERS
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, produce
from penstock.testing.runs import run_once
from tests.broker.cases import ids, ids_case, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]


def delete(kafka: DevKafka, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, f"{topic} is gone")


def recreate(kafka: DevKafka, topic: str, bodies: list[bytes]) -> None:
    delete(kafka, topic)
    wait_until(lambda: ensure_topic(kafka.bootstrap, topic, 1), f"{topic} is there again")
    produce(kafka.bootstrap, topic, bodies)


def penstock(case: Case, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *words, str(case.file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def refused(spark: SparkSession, case: Case, words: str) -> str:
    with pytest.raises(Refused, match=words) as caught:
        run_once(spark, case)
    assert "Nothing was written" in str(caught.value)
    return str(caught.value)


def test_a_topic_that_was_deleted_or_made_anew_is_refused_by_its_id_and_read_from_its_start_in_a_new_generation(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 10))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    run_once(spark, case)
    recreate(kafka, name, values(100, 103))
    refused(spark, case, f"topic {name} was deleted and created again")
    produce(kafka.bootstrap, name, values(103, 120))  # larger than the old offset: Spark would skip the start of it
    refused(spark, case, f"topic {name} was deleted and created again")
    assert ids(case) == list(range(10))
    done = penstock(case, "new-generation")
    assert done.returncode == 0, done.stderr
    run_once(spark, case)
    assert ids(case) == [*range(10), *range(100, 120)]
    delete(kafka, name)
    refused(spark, case, f"read the topic {name} .* which is gone from the brokers")


def test_a_new_topic_of_a_pattern_joins_and_one_made_anew_is_refused(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    first = topic("family", partitions=1)
    second = f"{first}-2"
    produce(kafka.bootstrap, first, values(0, 5))
    case = ids_case(tmp_path, kafka.bootstrap, source={"pattern": f"{first}.*"})
    run_once(spark, case)
    ensure_topic(kafka.bootstrap, second, 1)
    produce(kafka.bootstrap, second, values(5, 10))
    run_once(spark, case)
    assert ids(case) == list(range(10))
    recreate(kafka, second, values(20, 40))
    refused(spark, case, f"topic {second} was deleted and created again")


def test_a_new_generation_goes_on_though_partitions_have_joined(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    from confluent_kafka.admin import NewPartitions

    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 5))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    run_once(spark, case)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_partitions([NewPartitions(name, 3)])[name].result(30)
    produce(kafka.bootstrap, name, values(5, 10), partition=2)
    done = penstock(case, "new-generation")
    assert done.returncode == 0, done.stderr
    run_once(spark, case)
    assert ids(case) == list(range(10))


def test_a_generation_says_what_it_reads_and_writes(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = copies(kafka, topic, tmp_path, lake=True)
    run_once(spark, case)
    body = json.loads((case.state / "ledger" / "g1" / "generation.json").read_text())
    [(name, topic_id)] = body["source"]["topics"].items()
    assert name == source_of(case)
    assert len(topic_id) == 22
    assert body["sinks"]["lake"]["target"] == str(case.table())
    cluster = body["source"]["cluster"]
    assert body["sinks"][cluster] == {"committer": "kafka", "id": cluster, "target": {"copies": copied_to(case)}}
    intent = json.loads((case.state / "ledger" / "g1" / "intents" / "0.json").read_text())
    assert intent["origin"] == body["source"]


def copies(kafka: DevKafka, topic: Topic, folder: Path, *, lake: bool = False) -> Case:
    """Every record goes to a topic, in batches of five; and to a table, if said so."""
    name, out = topic("in", partitions=1), topic("out", partitions=1)
    produce(kafka.bootstrap, name, values(0, 10))
    table: dict[str, Any] = {"lake": {"delta": {"table": "./lake/t"}}} if lake else {}
    sinks = {**table, "copies": {"kafka": {"topic": out}}}
    return ids_case(folder, kafka.bootstrap, name, pipeline=f"p-{name}", sinks=sinks, pace={"max_rows": 5})


def source_of(case: Case) -> str:
    return str(case.spec["source"]["kafka"]["topics"][0])


def copied_to(case: Case) -> str:
    return str(case.spec["sinks"]["copies"]["kafka"]["topic"])


def sent(kafka: DevKafka, case: Case) -> list[int]:
    return sorted(json.loads(record.value or b"{}")["id"] for record in read_all(kafka.bootstrap, copied_to(case)))


def group(case: Case, kafka: DevKafka, generation: int = 1) -> str:
    cluster = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=10).cluster_id
    return f"{case.spec['pipeline']}.g{generation}.{cluster}"


def forget_marker(case: Case, kafka: DevKafka) -> None:
    name = group(case, kafka)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_consumer_groups([name])[name].result(30)


def age_the_last_outcome(case: Case) -> None:
    newest = max((case.state / "ledger" / "g1" / "outcomes").iterdir(), key=lambda path: int(path.stem))
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "committed_at": "2026-01-01T00:00:00+00:00"}))


def test_a_lost_marker_and_an_expired_one_are_told_apart_and_both_can_be_left_behind(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = copies(kafka, topic, tmp_path)
    run_once(spark, case)
    forget_marker(case, kafka)
    text = refused(spark, case, "the ledger says that batch 1 is there, but the marker is gone")
    assert f"penstock new-generation {case.file.name}" in text
    age_the_last_outcome(case)
    refused(spark, case, "but the marker has expired")
    assert sent(kafka, case) == list(range(10))
    done = penstock(case, "new-generation")
    assert done.returncode == 0, done.stderr
    produce(kafka.bootstrap, source_of(case), values(10, 15))
    run_once(spark, case)
    assert sent(kafka, case) == list(range(15))


def test_a_deleted_marker_topic_is_refused(spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    case = copies(kafka, topic, tmp_path)
    run_once(spark, case)
    delete(kafka, MARKERS)
    refused(spark, case, "the marker is gone")
    assert sent(kafka, case) == list(range(10))


def test_topics_that_are_ahead_of_a_restored_state_are_refused(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = copies(kafka, topic, tmp_path)
    run_once(spark, case)
    backup = tmp_path / "backup"
    shutil.copytree(case.state, backup)
    produce(kafka.bootstrap, source_of(case), values(10, 15))
    run_once(spark, case)
    shutil.rmtree(case.state)
    shutil.copytree(backup, case.state)
    refused(spark, case, "the cluster holds batch 2, but the checkpoint ends at batch 1")
    assert sent(kafka, case) == list(range(15))


def test_a_rebuild_from_markers_alone_goes_on_where_the_topics_end(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = copies(kafka, topic, tmp_path)
    case.spec["dead_letters"] = {"kafka": {"topic": topic("dead", partitions=1)}}
    case.write()
    run_once(spark, case)
    left = tmp_path / "left"
    shutil.copytree(case.state, left)
    shutil.rmtree(case.state)
    refused(spark, case, "left batches up to 1 in the cluster, but the state folder")
    shown = penstock(case, "checkpoint", "rebuild", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "every sink has what it was to get of batch 1: goes on after it" in shown.stdout
    done = penstock(case, "checkpoint", "rebuild")
    assert done.returncode == 0, done.stderr
    produce(kafka.bootstrap, source_of(case), values(10, 15))
    run_once(spark, case)
    assert sent(kafka, case) == list(range(15))
    case.spec["state"] = str(left)
    case.write()
    refused(spark, case, "generation 1 is closed in the cluster")


def test_a_batch_that_was_killed_between_table_and_topics_is_finished_by_a_rebuild(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = copies(kafka, topic, tmp_path, lake=True)
    killed = case.run(env={"PENSTOCK_FAILPOINT": "before:topics@2"})
    assert killed.popen.returncode == -9
    assert (ids(case), sent(kafka, case)) == (list(range(10)), list(range(5)))
    shutil.rmtree(case.state / "spark")
    done = penstock(case, "checkpoint", "rebuild")
    assert done.returncode == 0, done.stderr
    assert "batch 1 is finished from its manifest" in done.stdout
    produce(kafka.bootstrap, source_of(case), values(10, 15))
    run_once(spark, case)
    assert ids(case) == sent(kafka, case) == list(range(15))
    found = Ledger.find(case.state, str(case.spec["pipeline"]))
    assert found is not None
    assert found.generation == 2


def test_a_state_lost_between_table_and_topics_is_told_and_the_choice_is_the_users(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = copies(kafka, topic, tmp_path, lake=True)
    killed = case.run(env={"PENSTOCK_FAILPOINT": "before:topics@2"})
    assert killed.popen.returncode == -9
    shutil.rmtree(case.state)
    told = penstock(case, "checkpoint", "rebuild")
    assert told.returncode == 3
    assert "batch 1 is half published: lake has it, topics of cluster" in told.stderr
    done = penstock(case, "checkpoint", "rebuild", "--half", "again")
    assert done.returncode == 0, done.stderr
    run_once(spark, case)
    assert sent(kafka, case) == list(range(10))
    assert ids(case) == sorted([*range(10), *range(5, 10)]), "as the option says"
