"""The contract of a topics' committer, on a real broker: what is committed is visible, once, whole, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.errors import Refused, SinkRefused, TableChanged, Unavailable
from penstock.sinks.contract import CLOSED, Frozen
from penstock.sinks.kafka import Topic, directory
from penstock.sinks.kafka.clusters import committers
from penstock.sinks.kafka.committer import KafkaCommitter
from penstock.sinks.kafka.names import MARKERS
from penstock.testing.kafka import DevKafka, read_all
from tests.broker.kafka_sink_kit import COLUMNS, Shop, freeze, key, rows, share_of, write


@pytest.fixture
def out(topic: Callable[..., str]) -> str:
    return topic("out")


@pytest.fixture
def shop(kafka: DevKafka, out: str, tmp_path: Path) -> Shop:
    return Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": out}})


@pytest.fixture
def committer(shop: Shop) -> KafkaCommitter:
    return shop.ready()


def ids(kafka: DevKafka, topic: str) -> list[int]:
    return sorted(json.loads(record.value or b"{}")["id"] for record in read_all(kafka.bootstrap, topic))


def test_what_is_committed_is_visible(kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter) -> None:
    receipt = write(committer, shop, 0, range(3))
    assert (receipt.sink, receipt.how, receipt.version, receipt.rows) == ("alerts", "committed", 1, 3)
    assert ids(kafka, out) == [0, 1, 2]


def test_the_same_batch_twice_is_visible_once(kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter) -> None:
    shares = share_of(committer, shop, range(5))
    hows = [
        each.commit(shares, key(each, 0), {}, None)["alerts"].how for each in (committer, committer, shop.committer())
    ]
    assert hows == ["committed", "recognised", "recognised"]
    committer.verify(shares, key(committer, 0))
    assert ids(kafka, out) == [0, 1, 2, 3, 4]


def test_a_batch_without_rows_moves_the_marker(shop: Shop, committer: KafkaCommitter) -> None:
    for batch_id in range(3):
        receipt = write(committer, shop, batch_id, range(0))
        assert (receipt.how, receipt.version, receipt.rows) == ("committed", batch_id + 1, 0)
    assert committer.watermark(key(committer, 0).app) == 2


def test_the_watermark_is_the_last_batch_and_none_before_the_first(shop: Shop, committer: KafkaCommitter) -> None:
    app = key(committer, 0).app
    assert committer.watermark(app) is None
    write(committer, shop, 0, range(1))
    assert (committer.watermark(app), shop.committer().watermark(app)) == (0, 0)
    assert committer.watermark("another.g1.cluster") is None


def test_the_same_batch_id_with_other_content_halts(
    kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter
) -> None:
    write(committer, shop, 0, range(2))
    with pytest.raises(Refused, match="same batch id with other content"):
        committer.commit(share_of(committer, shop, range(9, 10)), key(committer, 0, "another"), {}, None)
    assert ids(kafka, out) == [0, 1]


def test_a_stale_attempt_halts(kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter) -> None:
    for batch_id in range(3):
        write(committer, shop, batch_id, range(batch_id, batch_id + 1))
    with pytest.raises(Refused, match="stale: batch 2 is there already"):
        write(committer, shop, 1, range(1, 2))
    assert ids(kafka, out) == [0, 1, 2]


def test_a_gap_halts_unless_the_ledger_knows_of_it(
    kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter
) -> None:
    write(committer, shop, 0, range(1))
    later = share_of(committer, shop, range(7, 8))
    with pytest.raises(Refused, match="batches 1 to 3 are unaccounted for"):
        committer.commit(later, key(committer, 4), {}, 3)
    assert committer.commit(later, key(committer, 4), {}, 0)["alerts"].how == "committed"
    assert ids(kafka, out) == [0, 7]


def test_a_marker_that_was_deleted_halts(kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter) -> None:
    write(committer, shop, 0, range(1))
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    app = key(committer, 0).app
    admin.delete_consumer_groups([app])[app].result(10)
    with pytest.raises(Refused, match="has no marker"):
        write(committer, shop, 1, range(1, 2))
    assert ids(kafka, out) == [0]


def test_a_sink_may_join_a_pipeline_late(kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter) -> None:
    shares = share_of(committer, shop, range(1))
    assert committer.commit(shares, key(committer, 500), {}, None)["alerts"].version == 501
    assert ids(kafka, out) == [0]


def test_a_closed_generation_takes_nothing_more_and_the_next_one_starts_anew(
    kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter
) -> None:
    write(committer, shop, 0, range(1))
    for _ in range(2):
        committer.close(key(committer, CLOSED))
    app = key(committer, 0).app
    assert committer.watermark(app) == CLOSED
    with pytest.raises(Refused, match="this generation is closed"):
        write(shop.committer(), shop, 1, range(1, 2))
    committer.renew(key(committer, 0))
    assert committer.watermark(app) == CLOSED
    shares = share_of(committer, shop, range(1, 2))
    assert committer.commit(shares, key(committer, 0, generation=2), {}, None)["alerts"].how == "committed"
    assert ids(kafka, out) == [0, 1]


def test_a_generation_that_never_wrote_can_be_closed(shop: Shop, committer: KafkaCommitter) -> None:
    committer.close(key(committer, CLOSED))
    with pytest.raises(Refused, match="this generation is closed"):
        write(committer, shop, 0, range(1))


def test_a_marker_tells_what_its_batch_was(kafka: DevKafka, shop: Shop, committer: KafkaCommitter) -> None:
    shares = share_of(committer, shop, range(3))
    committer.commit(shares, key(committer, 0, "abc"), {"ranges": [["orders", 0, 0, 3]], "ledger": "l1"}, None)
    story = _story(kafka, key(committer, 0).app)
    at = story.pop("at")
    assert story == {
        "v": 1, "pipeline": shop.pipeline, "gen": 1, "batch": 0, "digest": "abc", "rows": 3, "sinks": {"alerts": 3},
        "ranges": [["orders", 0, 0, 3]], "ledger": "l1",
    }  # fmt: skip
    committer.renew(key(committer, 0))
    assert _story(kafka, key(committer, 0).app) == {**story, "at": _story(kafka, key(committer, 0).app)["at"]}
    assert _story(kafka, key(committer, 0).app)["at"] >= at
    assert (committer.watermark(key(committer, 0).app), committer.renewal_due(key(committer, 0).app)) == (0, False)


def _story(kafka: DevKafka, group: str) -> dict[str, Any]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(MARKERS, 0)])
    [place] = admin.list_consumer_group_offsets([asked], require_stable=True)[group].result(10).topic_partitions
    return dict(json.loads(place.metadata))


def test_a_file_that_is_gone_or_cut_stops_the_batch(
    kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter
) -> None:
    shares = share_of(committer, shop, range(3))
    Path(shop.stage, shares["alerts"].files[0].path).unlink()
    with pytest.raises(TableChanged, match=r"parquet of sink alerts is gone"):
        committer.verify(shares, key(committer, 0))
    with pytest.raises(TableChanged, match=r"parquet of sink alerts is gone"):
        committer.commit(shares, key(committer, 0), {}, None)
    assert ids(kafka, out) == []
    assert committer.watermark(key(committer, 0).app) is None


def test_a_manifest_that_says_more_rows_than_its_files_hold_is_not_sent(
    kafka: DevKafka, out: str, shop: Shop, committer: KafkaCommitter
) -> None:
    share = share_of(committer, shop, range(3))["alerts"]
    body = share.to_json()
    body["files"][0]["rows"] = 4
    with pytest.raises(TableChanged, match="the files hold 3 rows, and the manifest says 4"):
        committer.commit({"alerts": Frozen.from_json(body)}, key(committer, 0), {}, None)
    write(committer, shop, 0, range(3))
    assert ids(kafka, out) == [0, 1, 2]


def test_a_topic_that_does_not_exist_is_refused_with_a_near_name(kafka: DevKafka, out: str, tmp_path: Path) -> None:
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": f"{out}x"}}).committer()
    for ask in (made.ready, lambda: made.prepare("alerts", COLUMNS, tmp_path)):
        with pytest.raises(SinkRefused, match=rf"no topic `{out}x`.* Did you mean `{out}`"):
            ask()


def test_a_column_that_json_has_no_text_for_is_refused(tmp_path: Path, committer: KafkaCommitter) -> None:
    with pytest.raises(SinkRefused, match="column `took` is of a type that JSON has no text for"):
        committer.prepare("alerts", pa.schema([pa.field("took", pa.duration("us"))]), tmp_path)


def test_several_sinks_and_dead_letters_are_one_transaction(
    kafka: DevKafka, topic: Callable[..., str], tmp_path: Path
) -> None:
    one, two, dead = topic("one"), topic("two"), topic("dead")
    shop = Shop(kafka.bootstrap, str(tmp_path), {"a": {"topic": one}, "b": {"topic": two, "value": "raw"}}, dead)
    made = shop.ready()
    assert made.sinks == ("dead_letters_topic", "a", "b")
    shares, _ = freeze(made, tmp_path, {"a": rows(range(2)), "b": rows(range(1), __value=pa.array([b"raw"]))})
    shares["dead_letters_topic"] = Frozen(made.prepare("dead_letters_topic", COLUMNS, tmp_path).to_json(), ())
    receipts = made.commit(shares, key(made, 0), {}, None)
    assert {name: (each.how, each.rows) for name, each in receipts.items()} == {
        "a": ("committed", 2),
        "b": ("committed", 1),
        "dead_letters_topic": ("committed", 0),
    }
    assert [record.value for record in read_all(kafka.bootstrap, two)] == [b"raw"]
    producers = {record.headers[0] for record in read_all(kafka.bootstrap, one)}
    assert producers == {("penstock.topic", b"orders")}


def test_sinks_of_one_cluster_share_a_committer_however_its_brokers_are_written(
    kafka: DevKafka, out: str, topic: Callable[..., str]
) -> None:
    spelled = kafka.bootstrap.replace("127.0.0.1", "localhost")
    sinks = {"a": Topic(topic=out), "b": Topic.model_validate({"topic": out, "brokers": [spelled]})}
    found = committers("shop", kafka.bootstrap, sinks, topic("dead"))
    [(cluster, made)] = found.items()
    assert (made.name, made.sinks) == (cluster, ("dead_letters_topic", "a", "b"))


def test_a_cluster_that_does_not_answer_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "ANSWER_SECONDS", 1.0)
    with pytest.raises(Unavailable, match="no broker answers"):
        Shop("127.0.0.1:1", str(tmp_path), {}).committer()


def test_at_least_once_sends_without_a_transaction_and_says_so(
    kafka: DevKafka, out: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    other = topic("exact")
    loose = {"topic": out, "delivery": "at_least_once"}
    for sinks in ({"alerts": loose}, {"alerts": loose, "exact": {"topic": other}}):
        shop = Shop(kafka.bootstrap, str(tmp_path), sinks)
        made = shop.ready()
        shares, _ = freeze(made, tmp_path, {name: rows(range(3)) for name in sinks})
        hows = [
            {name: each.how for name, each in made.commit(shares, key(made, 0), {}, None).items()} for _ in range(2)
        ]
        exact = {"exact": "committed"} if "exact" in sinks else {}
        assert hows == [{"alerts": "sent", **exact}, dict.fromkeys(sinks, "recognised")]
        assert made.watermark(key(made, 0).app) == 0
    assert ids(kafka, out) == [0, 0, 1, 1, 2, 2]
    assert ids(kafka, other) == [0, 1, 2]
