"""The ledger: a batch is what it was first said to be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock.errors import Refused, StateHeld
from penstock.files import here
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.lease import holder, lease
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Manifest, Outcome
from penstock.ranges import Range, digest_of, positions_from_spark, positions_to_spark, ranges_between
from penstock.sinks.contract import Frozen, FrozenFile, Receipt
from penstock.tally import Fates, Tally

RANGES = (Range("orders", 0, 5, 10), Range("orders", 1, 0, 3))


def _manifest(digest: str, rows: int = 8) -> Manifest:
    tally = Tally({("orders", 0): Fates(seen=8, first=5, last=9, written=Counter(lake=rows))})
    file = FrozenFile("part-1.parquet", 100, rows, "{}", {"day": None})
    return Manifest(digest, 1.5, 8, tally, {"lake": Frozen({"id": "t"}, (file,))}, (Range("orders", 0, 1, 2),))


def test_an_intent_is_written_once_and_read_back(tmp_path: Path) -> None:
    first = Ledger(tmp_path, "orders", 1, run="a").intend(0, RANGES, "code-1")
    again = Ledger(tmp_path, "orders", 1, run="b").intend(0, RANGES, "code-2")
    assert again == first
    assert again.run == "a"
    assert again.digest == digest_of("orders", 1, 0, reversed(RANGES))


def test_a_batch_that_would_read_other_ranges_halts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "orders", 1)
    ledger.intend(4, RANGES, "code")
    with pytest.raises(Refused, match=r"it was to read orders-0 5 to 10, .* now says orders-0 6 to 10"):
        ledger.intend(4, (Range("orders", 0, 6, 10), RANGES[1]), "code")


def test_the_newest_manifest_with_the_intents_digest_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "orders", 1)
    intent = ledger.intend(2, RANGES, "code")
    assert ledger.manifest(intent) is None
    assert ledger.freeze(intent, _manifest(intent.digest), 0) == _manifest(intent.digest)
    ledger.freeze(intent, _manifest(intent.digest, rows=7), ledger.free_number(intent.batch_id))
    ledger.freeze(intent, _manifest("another batch"), ledger.free_number(intent.batch_id))
    found = ledger.manifest(intent)
    assert found == _manifest(intent.digest, rows=7)


def test_an_outcome_tidies_the_stages_before_it_and_keeps_its_own(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "orders", 1)
    for batch_id in (0, 1):
        intent = ledger.intend(batch_id, RANGES, "code")
        manifest = ledger.freeze(intent, _manifest(intent.digest), 0)
    outcome = Outcome(
        batch_id=1,
        digest=intent.digest,
        ranges=RANGES,
        gaps=(),
        read=8,
        tally=manifest.tally,
        receipts={"lake": Receipt("lake", "committed", 3, 8)},
        last_written={"lake": 1},
        totals=Fates(seen=8),
        committed_at="now",
        seconds=1.0,
        phases={"pass": 0.5},
        replayed=False,
    )
    assert ledger.close(outcome) == outcome
    assert ledger.last_outcome() == outcome
    assert [path.name for path in here(ledger.stage).iterdir()] == ["1"]


def test_a_state_folder_belongs_to_one_pipeline(tmp_path: Path) -> None:
    Ledger(tmp_path, "orders", 1).open({("t", 0): 5})
    assert Ledger(tmp_path, "orders", 1).open() == {("t", 0): 5}
    with pytest.raises(Refused, match="belongs to the pipeline `orders`"):
        Ledger(tmp_path, "payments", 1).open()


def test_the_newest_generation_is_found(tmp_path: Path) -> None:
    assert Ledger.find(tmp_path, "orders") is None
    for generation in (1, 2, 10):
        Ledger(tmp_path, "orders", generation).open()
    found = Ledger.find(tmp_path, "orders")
    assert found is not None
    assert found.generation == 10


def test_a_second_process_is_told_who_holds_the_state(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    assert holder(path) is None
    with lease(path, "orders", "run-1"):
        who = holder(path)
        assert who is not None
        assert who["run"] == "run-1"
        with pytest.raises(StateHeld, match=r"running already: process \d+"), lease(path, "orders", "run-2"):
            pytest.fail("two holders")
    assert holder(path) is None
    with lease(path, "orders", "run-3"):
        assert holder(path) is not None


def test_a_partition_that_joins_starts_at_its_first_offset() -> None:
    start, end = {("t", 0): 5}, {("t", 0): 9, ("t", 1): 4}
    assert ranges_between(start, end, {("t", 1): 2}) == (Range("t", 0, 5, 9), Range("t", 1, 2, 4))


def test_positions_survive_sparks_spelling() -> None:
    positions = {("a", 0): 1, ("a", 10): 2, ("b.c", 3): 4}
    assert positions_from_spark(positions_to_spark(positions)) == positions


def test_the_checkpoint_of_spark_is_read_as_it_is_written(tmp_path: Path) -> None:
    for folder in ("offsets", "commits", "sources/0"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sources/0/0").write_bytes(b'\0v1\n{"t":{"0":7}}')
    (tmp_path / "offsets/0").write_text('v1\n{"batchWatermarkMs":0}\n{"t":{"0":9}}')
    (tmp_path / "offsets/1").write_text('v1\n{"batchWatermarkMs":0}\n{"t":{"0":12,"1":3}}')
    (tmp_path / "offsets/.1.crc").write_text("")
    (tmp_path / "commits/0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.planned, checkpoint.committed) == (1, 0)
    assert checkpoint.start_of(0) == {("t", 0): 7}
    assert checkpoint.start_of(1) == {("t", 0): 9}
    assert checkpoint.end_of(1) == {("t", 0): 12, ("t", 1): 3}


@pytest.mark.parametrize("body", ["", "v1\n", "v1\n{}\nnot json", "v1\n{}\n17"])
def test_a_cut_offset_log_is_refused_with_its_name(tmp_path: Path, body: str) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets/3").write_text(body)
    with pytest.raises(Refused, match=r"offsets/3 (is not a whole offset log|does not hold Kafka offsets)"):
        Checkpoint(tmp_path).end_of(3)


def test_of_two_drivers_that_saw_no_manifest_both_publish_that_of_the_first(tmp_path: Path) -> None:
    one, other = (Ledger(tmp_path, "p", 1, run) for run in ("one", "other"))
    intents = [ledger.intend(0, (Range("t", 0, 0, 9),), "code") for ledger in (one, other)]
    numbers = [ledger.free_number(0) for ledger in (one, other)]
    first = one.freeze(intents[0], _manifest(intents[0].digest, rows=1), numbers[0])
    second = other.freeze(intents[1], _manifest(intents[1].digest, rows=2), numbers[1])
    assert first == second == one.manifest(intents[0])
