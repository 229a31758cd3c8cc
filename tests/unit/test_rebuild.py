"""checkpoint rebuild and new-generation: whatever became of the state, the next run loses and doubles nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from penstock.errors import Refused
from penstock.files import here
from penstock.ledger.ledger import Ledger
from penstock.operate.generation import close_all, new_generation
from penstock.operate.rebuild import Half, Rebuild
from penstock.origin import Origin
from penstock.testing.past import Past

BOTH = {"dead_letters": 1, "lake": 2}


def verb(past: Past, half: Half | None = None) -> Rebuild:
    return Rebuild("p", past.state, past.tables(), [], "run", lambda _topics: past.origin, half)


def rebuilt(past: Past, half: Half | None = None) -> int:
    """Rebuild, and go on as the next run would: where it starts."""
    found = verb(past, half).do()
    ledger = past.preflight()
    assert ledger.generation == found.new
    start = ledger.open()
    assert start is not None
    past.generation, past.next_batch, past.offset = found.new, 0, start["t", 0]
    return past.offset


def _gone(past: Past) -> None:
    shutil.rmtree(past.spark)


def _no_ledger(past: Past) -> None:
    shutil.rmtree(past.state / "ledger")


def _no_state(past: Past) -> None:
    shutil.rmtree(past.state)


def _yesterday(past: Past) -> None:
    for path in (past.spark / "offsets" / "2", past.spark / "commits" / "2"):
        path.unlink()
    for kind in ("intents", "outcomes"):
        (here(past.ledger().folder) / kind / "2.json").unlink()


def _damaged(past: Past) -> None:
    (past.spark / "offsets" / "2").write_bytes(b"")


HARMS: list[Callable[[Past], None]] = [_gone, _no_ledger, _no_state, _yesterday, _damaged]


@pytest.mark.parametrize("harm", HARMS)
def test_after_a_lost_state_every_record_is_there_once(past: Past, harm: Callable[[Past], None]) -> None:
    harm(past)
    assert rebuilt(past) == 9
    past.run(2)
    assert past.offsets() == list(range(15))


@pytest.mark.parametrize("harm", HARMS)
def test_a_driver_left_over_from_the_old_state_can_commit_nothing(
    past: Past, harm: Callable[[Past], None], tmp_path: Path
) -> None:
    left = Past(tmp_path, state_name="left", next_batch=3, offset=9)
    shutil.copytree(past.state, left.state)
    harm(past)
    rebuilt(past)
    with pytest.raises(Refused):
        left.batch()
    assert past.offsets() == list(range(9))


@pytest.mark.parametrize("until", ["freeze", "dead_letters", "lake", "tables"])
@pytest.mark.parametrize("harm", [_gone, _damaged])
def test_a_batch_that_was_broken_off_is_finished_from_its_manifest_without_spark(
    past: Past, harm: Callable[[Past], None], until: str
) -> None:
    past.batch(BOTH, until=until)
    harm(past)
    past.offset = rebuilt(past)
    past.run(1)
    assert past.offsets() == list(range(past.offset)), "lake has every record once"
    assert len(past.offsets("dead_letters")) == 1 or until == "freeze"


def test_a_dry_run_says_what_would_be_done_and_changes_nothing(past: Past) -> None:
    past.batch(BOTH, until="dead_letters")
    _gone(past)
    before = {path: path.stat().st_mtime_ns for path in past.folder.rglob("*")}
    found = verb(past).look()
    assert found.how == "batch 3 is finished from its manifest, then goes on after it"
    assert found.to_json()["sinks"] == {"dead_letters": 3, "lake": 2}
    assert found.to_json()["start"] == {"t-0": 11}
    assert list(found.lines()) == ["generation 1, sink dead_letters: batch 3", "generation 1, sink lake: batch 2"]
    assert {path: path.stat().st_mtime_ns for path in past.folder.rglob("*")} == before


def test_a_table_that_had_no_rows_in_the_last_batch_lacks_nothing(past: Past) -> None:
    past.batch(BOTH)
    past.batch({"lake": 3})
    _no_state(past)
    assert rebuilt(past) == 14
    assert past.offsets("dead_letters") == [9]


def _half(past: Past) -> None:
    """One table has batch 3, the other not, and nobody knows what was frozen."""
    past.batch(BOTH, until="dead_letters")
    _no_state(past)


def test_a_half_published_batch_without_its_manifest_is_refused_with_the_choices(past: Past) -> None:
    _half(past)
    with pytest.raises(Refused, match=r"batch 3 is half published: dead_letters has it, sink lake has not") as caught:
        verb(past).do()
    assert "--half skip" in str(caught.value)
    assert "--half again" in str(caught.value)
    assert past.tables()["lake"].watermark("p.g1.lake") == 2, "nothing was closed"


def test_half_again_reads_the_batch_again(past: Past) -> None:
    _half(past)
    assert rebuilt(past, "again") == 9
    past.batch(BOTH)
    assert past.offsets() == list(range(11))
    assert past.offsets("dead_letters") == [9, 9], "as the words said"


def test_half_skip_goes_on_after_it(past: Past) -> None:
    _half(past)
    assert rebuilt(past, "skip") == 11
    assert past.offsets() == list(range(9)), "as the words said"


def _cannot_be_finished(past: Past) -> None:
    """One table has batch 3; the other was to get it, and a file that was frozen for it is gone."""
    past.batch(BOTH, until="dead_letters")
    committed = {path.rpartition("/")[2] for path in DeltaTable(str(past.table("lake"))).file_uris()}
    [frozen] = [path for path in past.table("lake").glob("*.parquet") if path.name not in committed]
    frozen.unlink()


def test_a_batch_that_cannot_be_finished_is_refused_with_the_choices(past: Past) -> None:
    _cannot_be_finished(past)
    with pytest.raises(Refused, match=r"batch 3 is half published, and what was frozen .* is gone") as caught:
        verb(past).do()
    assert "--half skip" in str(caught.value)
    assert "--half again" in str(caught.value)
    assert past.tables()["lake"].watermark("p.g1.lake") == 2, "nothing was closed"


def test_a_batch_that_cannot_be_finished_is_left_or_read_again_as_told(past: Past) -> None:
    _cannot_be_finished(past)
    assert rebuilt(past, "again") == 9
    past.batch(BOTH)
    assert past.offsets() == list(range(11))
    assert past.offsets("dead_letters") == [9, 9], "as the words said"


def test_a_batch_that_can_be_finished_is_finished_whatever_half_says(past: Past) -> None:
    past.batch(BOTH, until="dead_letters")
    assert rebuilt(past, "skip") == 11
    assert past.offsets() == list(range(11))
    assert past.offsets("dead_letters") == [9]


def test_a_rebuild_that_was_broken_off_is_finished_by_the_same_verb(past: Past) -> None:
    _no_state(past)
    close_all("p", {"dead_letters": past.tables()["dead_letters"]}, 1)
    assert rebuilt(past) == 9
    past.run(1)
    assert past.offsets() == list(range(12))


def test_a_rebuild_right_after_a_rebuild_starts_at_the_same_place(past: Past) -> None:
    _gone(past)
    assert rebuilt(past) == 9
    assert rebuilt(past) == 9
    assert past.generation == 3


def test_a_lost_generation_without_a_batch_goes_on_after_the_one_before(past: Past) -> None:
    _gone(past)
    rebuilt(past)
    _no_state(past)
    assert rebuilt(past) == 9


def test_a_pipeline_that_never_ran_has_nothing_to_rebuild(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="neither the state folder nor any sink knows of a batch"):
        verb(Past(tmp_path)).do()


def test_tables_of_two_pipelines_cannot_be_rebuilt_into_one(past: Past, tmp_path: Path) -> None:
    other = Past(tmp_path, state_name="elsewhere", names=("dead_letters", "other")).run(3)
    _no_state(past)
    both = Past(tmp_path, names=("lake", "other"), state_name="third")
    with pytest.raises(Refused, match="the sinks hold different batches under the number 2"):
        verb(both).do()
    assert other.preflight().generation == 1


def test_a_table_whose_log_no_longer_says_what_was_read_is_refused(past: Past) -> None:
    _no_state(past)
    for commit in (past.table() / "_delta_log").glob("*.json"):
        text = commit.read_text().replace('\\"ranges\\"', '\\"forgotten\\"')
        commit.write_text(text)
    with pytest.raises(Refused, match="no sink says which offsets batch 2 read") as caught:
        verb(past).do()
    assert "max(_offset)" in str(caught.value)


def test_a_topic_made_anew_is_read_from_its_first_record(past: Past) -> None:
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    opened = new_generation("p", past.state, past.tables(), "last", "run", lambda _topics: past.origin)
    assert opened.start == {}


def test_a_topic_made_anew_is_seen_even_when_the_state_is_lost(past: Past) -> None:
    _no_state(past)
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    assert verb(past).do().start == {}


def test_a_topic_made_anew_between_the_verb_and_the_run_is_refused(past: Past) -> None:
    rebuilt(past)
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    with pytest.raises(Refused, match="topic t was deleted and created again"):
        past.batch()


def test_a_new_generation_goes_on_after_the_last_batch_and_keeps_the_old_checkpoint(past: Past) -> None:
    opened = new_generation("p", past.state, past.tables(), "last", "run")
    assert (opened.old, opened.new, opened.start) == (1, 2, {("t", 0): 9})
    assert (past.state / "spark.g1" / "offsets" / "2").exists()
    assert past.preflight().generation == 2


def test_a_new_generation_is_refused_while_a_batch_is_half_published(past: Past) -> None:
    past.batch(BOTH, until="dead_letters")
    with pytest.raises(Refused, match="it holds batch 3, and the ledger ends at batch 2: a batch is half published"):
        new_generation("p", past.state, past.tables(), "last", "run")
    assert past.preflight().generation == 1, "nothing was closed"


def test_a_new_generation_that_was_broken_off_is_finished_by_the_same_verb(past: Past) -> None:
    close_all("p", {"lake": past.tables()["lake"]}, 1)
    with pytest.raises(Refused, match="generation 1 is closed"):
        past.preflight()
    opened = new_generation("p", past.state, past.tables(), "last", "run")
    assert opened.start == {("t", 0): 9}
    assert past.preflight().generation == 2


def test_a_sink_that_joined_late_shows_its_generation_all_the_same(past: Past) -> None:
    for number in range(1, 4):
        assert new_generation("p", past.state, past.tables(), "last", "run").new == number + 1
        past.generation, past.next_batch = number + 1, 0
        past.batch()
    _no_state(past)
    shutil.rmtree(past.table("dead_letters"))
    past.names = ("lake",)
    assert verb(past).look().old == 4


def test_what_a_commit_tells_is_enough_for_a_person(past: Past) -> None:
    told = past.tables()["lake"].story("p.g1.lake")  # type: ignore[attr-defined]
    assert told["batch_id"] == 2
    assert told["ranges"] == [["t", 0, 6, 9]]
    assert told["sinks"] == {"dead_letters": 0, "lake": 3}
    assert told["ledger"] == json.loads((here(past.ledger().folder) / "generation.json").read_text())["id"]
    assert isinstance(Ledger.find(past.state, "p"), Ledger)
