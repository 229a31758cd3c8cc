"""The preflight: where ledger, checkpoint and tables disagree, nothing starts, and the words name the way on.

Real ledgers, real Delta tables, checkpoint files as Spark writes them.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.errors import Refused, SinkRefused
from penstock.files import here
from penstock.ledger.standing import not_behind
from penstock.operate.generation import close_all
from penstock.origin import Origin, complete, recreated, same_origin
from penstock.testing.past import Past

Harm = Callable[[Past], object]


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """Three whole batches of three rows."""
    return Past(tmp_path).run(3)


def refused(past: Past) -> str:
    """The words, and nothing changed in the table."""
    before = past.offsets() if past.table().exists() else []
    with pytest.raises(Refused) as caught:
        past.preflight()
    assert caught.value.exit_code == 3
    assert "Nothing was written" in str(caught.value)
    assert (past.offsets() if past.table().exists() else []) == before
    return str(caught.value)


def test_a_pipeline_that_is_whole_may_start(past: Past) -> None:
    assert past.preflight().generation == 1


@pytest.mark.parametrize("until", ["planned", "intent", "freeze", "dead_letters", "lake", "tables", "outcome"])
def test_a_kill_after_any_step_needs_no_repair(past: Past, until: str) -> None:
    past.batch({"dead_letters": 1, "lake": 2}, until=until)
    assert past.preflight().generation == 1


def _gone(past: Past) -> None:
    shutil.rmtree(past.spark)


def _only_metadata(past: Past) -> None:
    shutil.rmtree(past.spark / "offsets")
    shutil.rmtree(past.spark / "commits")


def _yesterday(past: Past) -> None:
    for folder in ("offsets", "commits"):
        (past.spark / folder / "2").unlink()


def _all_of_yesterday(past: Past) -> None:
    _yesterday(past)
    for folder in ("intents", "outcomes"):
        (here(past.ledger().folder) / folder / "2.json").unlink()


def _ledger_of_yesterday(past: Past) -> None:
    for folder in ("intents", "outcomes"):
        (here(past.ledger().folder) / folder / "2.json").unlink()


def _no_ledger(past: Past) -> None:
    shutil.rmtree(past.state / "ledger")


def _no_state(past: Past) -> None:
    shutil.rmtree(past.state)


def _no_commits(past: Past) -> None:
    shutil.rmtree(past.spark / "commits")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_gone, "the ledger says that batch 2 is done, but the checkpoint is gone."),
        (_only_metadata, "the checkpoint is gone but for"),
        (_yesterday, "the ledger says that batch 2 is done, but the checkpoint ends at batch 1"),
        (_all_of_yesterday, "sink lake: the table holds batch 2, but the checkpoint ends at batch 1"),
        (_ledger_of_yesterday, "the checkpoint has batch 2 committed, but the ledger ends at batch 1"),
        (_no_ledger, "holds a checkpoint, but there is no ledger beside it"),
        (_no_state, "sink lake: generation 1 of this pipeline left batches up to 2 in the table, but the state"),
        (_no_commits, "half of the checkpoint is missing"),
    ],
)
def test_a_state_that_is_not_of_one_moment_is_refused_and_can_be_rebuilt(past: Past, harm: Harm, words: str) -> None:
    harm(past)
    text = refused(past)
    assert words in text
    assert "penstock checkpoint rebuild p.yaml" in text


FILES = ["metadata", "offsets/2", "offsets/1", "commits/2"]
DAMAGE = [(file, how) for file in FILES for how in ("emptied", "cut", "other bytes")]


@pytest.mark.parametrize(("file", "how"), [*DAMAGE, ("metadata", "deleted"), ("offsets/1", "deleted")])
def test_a_damaged_checkpoint_names_the_file_and_the_repair(past: Past, file: str, how: str) -> None:
    path = past.spark / file
    body = path.read_bytes()
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">II", 512, zlib.crc32(body)))
    path.write_bytes({"emptied": b"", "cut": body[: len(body) // 2], "other bytes": body + b" "}.get(how, b""))
    if how == "deleted":
        path.unlink()
    text = refused(past)
    assert "the checkpoint is damaged" in text
    assert str(path) in text
    assert ("rm -f" if file.startswith("commits") else "penstock checkpoint rebuild p.yaml") in text


def test_what_the_repair_of_a_damaged_commit_says_is_safe(past: Past) -> None:
    path = past.spark / "commits" / "2"
    path.write_bytes(b"")
    command = refused(past).rpartition("rm -f ")[2]
    for name in command.split():
        Path(name).unlink(missing_ok=True)
    assert past.preflight().generation == 1


def test_a_cut_plan_that_nobody_began_may_be_deleted(past: Past) -> None:
    past.batch(until="planned")
    path = past.spark / "offsets" / "3"
    path.write_bytes(b"v1\n")
    assert f"rm -f {path}" in refused(past)
    path.unlink()
    assert past.preflight().generation == 1


def test_a_cut_plan_of_a_batch_that_was_begun_must_not_be_deleted(past: Past) -> None:
    past.batch(until="intent")
    (past.spark / "offsets" / "3").write_bytes(b"v1\n")
    text = refused(past)
    assert "rm -f" not in text
    assert "checkpoint rebuild" in text


def test_the_very_first_plan_needs_its_initial_offsets(tmp_path: Path) -> None:
    past = Past(tmp_path)
    past.batch(until="freeze")
    (past.spark / "sources" / "0" / "0").write_bytes(b"")
    assert "sources/0/0 is cut off" in refused(past)


def test_a_damaged_ledger_names_the_file(past: Past) -> None:
    path = here(past.ledger().folder) / "outcomes" / "2.json"
    path.write_bytes(path.read_bytes()[:50])
    assert f"{path} is damaged: it holds 50 bytes" in refused(past)


def _dropped(past: Past) -> None:
    shutil.rmtree(past.table())


def _another(past: Past) -> None:
    shutil.rmtree(past.table())
    write_deltalake(str(past.table()), pa.table({"id": pa.array([1], pa.int64())}))


def _restored(past: Past) -> None:
    DeltaTable(str(past.table())).restore(1)


def _overwritten(past: Past) -> None:
    table = DeltaTable(str(past.table())).to_pyarrow_table()
    write_deltalake(str(past.table()), table.slice(0, 1), mode="overwrite")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_dropped, "the ledger says that it holds batch 2, but the table has none of this pipeline"),
        (_another, "the ledger says that it holds batch 2, but the table has none of this pipeline"),
        (_restored, "was given batch 2, but version 4 restored it to version 1"),
        (_overwritten, "was given batch 2, but version 4 replaced its content (write)"),
    ],
)
def test_a_table_that_has_lost_our_rows_is_refused(past: Past, harm: Harm, words: str) -> None:
    harm(past)
    text = refused(past)
    assert f"p, sink lake: {'the table ' if 'given' in words else ''}{words}" in text
    assert "penstock new-generation p.yaml" in text


@pytest.mark.parametrize("harm", [_dropped, _restored, _overwritten])
def test_a_table_that_loses_our_rows_during_a_run_is_refused_before_the_next_batch(past: Past, harm: Harm) -> None:
    lake, app = past.tables()["lake"], "p.g1.lake"
    not_behind("p", lake, app, past.last(), "penstock new-generation")
    harm(past)
    with pytest.raises(Refused, match="p, sink lake: "):
        not_behind("p", lake, app, past.last(), "penstock new-generation")


def test_a_restore_to_a_version_that_has_our_rows_is_fine(past: Past) -> None:
    _restored(past)
    DeltaTable(str(past.table())).restore(3)
    assert past.offsets() == list(range(9))
    assert past.preflight().generation == 1


def test_what_the_owner_deletes_or_replaces_by_a_predicate_is_the_owners(past: Past) -> None:
    table = DeltaTable(str(past.table()))
    table.delete("id = 4")
    part = table.to_pyarrow_table().slice(0, 1)
    write_deltalake(table, part, mode="overwrite", predicate=f"id = {part['id'][0]}")
    table.optimize.compact()
    assert past.preflight().generation == 1


def test_a_table_under_another_id_is_told_by_both_ids(past: Past) -> None:
    outcome = here(past.ledger().folder) / "outcomes" / "2.json"
    body = json.loads(outcome.read_text())
    known = body["targets"]["lake"]
    outcome.write_text(json.dumps({**body, "targets": {"lake": "another-id"}}))
    text = refused(past)
    assert f"is another table (id {known}) than the one that holds the batches up to 2 (id another-id)" in text


def test_a_closed_generation_is_refused_by_its_name(past: Past) -> None:
    close_all("p", past.tables(), 1)
    assert "generation 1 is closed in the table, and the state folder has no newer one" in refused(past)


def test_a_second_pipeline_of_the_same_name_is_refused_by_its_id(past: Past, tmp_path: Path) -> None:
    other = Past(tmp_path, state_name="elsewhere", names=("dead_letters", "other"))
    other.run(3)
    other.names = past.names
    text = refused(other)
    assert "sink lake: batch 2 was committed by another pipeline of the same name" in text
    assert past.ledger().id in text
    assert other.ledger().id in text
    assert past.preflight().generation == 1


def test_two_pipelines_of_one_name_never_take_one_anothers_batch_for_done(past: Past, tmp_path: Path) -> None:
    other = Past(tmp_path, state_name="elsewhere")
    with pytest.raises(Refused, match="The same batch id with other content"):
        other.batch()
    assert past.offsets() == list(range(9))


def test_a_table_that_forgets_our_keys_is_refused(past: Past) -> None:
    table = DeltaTable(str(past.table()))
    table.alter.set_table_properties({"delta.setTransactionRetentionDuration": "interval 7 days"})
    with pytest.raises(SinkRefused, match="the table forgets which batches it holds") as caught:
        past.preflight()
    assert "UNSET TBLPROPERTIES ('delta.setTransactionRetentionDuration')" in str(caught.value)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anywhere; what a permission means is seen as somebody else."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_table_that_may_not_be_written_to_is_refused(past: Past, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == Path(tmp_path).owner() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o555)
    log = past.table() / "_delta_log"
    log.chmod(0o555)
    past.table().chmod(0o777)
    with as_nobody(), pytest.raises(SinkRefused, match=f"may not write to {log}"):
        past.tables()["lake"].ready()  # type: ignore[attr-defined]


def test_a_state_folder_that_may_not_be_written_to_is_refused_in_words(tmp_path: Path) -> None:
    from penstock.ledger.lease import lease

    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o555)
    with (
        as_nobody(),
        pytest.raises(Refused, match="may not write to the state folder"),
        lease(folder / "lease", "p", ""),
    ):
        pytest.fail("nobody may hold it")


WAS = Origin("c1", {"a": "id-a", "b": "id-b"})


def test_a_recreated_topic_is_told_by_both_ids() -> None:
    now = Origin("c1", {"a": "id-new", "b": "id-b"})
    assert recreated(WAS, now) == ["a"]
    with pytest.raises(Refused, match=r"topic a was deleted and created again: .* id id-a, this one has the id id-new"):
        same_origin("p", WAS, now, "penstock new-generation p.yaml")


def test_another_cluster_behind_the_same_address_is_refused() -> None:
    with pytest.raises(Refused, match="the cluster c2, but the batches so far were read from the cluster c1"):
        same_origin("p", WAS, Origin("c2", WAS.topics), "penstock new-generation p.yaml")


@pytest.mark.parametrize(
    "now",
    [
        WAS,
        Origin("c1", {**WAS.topics, "c": "id-c"}),
        Origin("c1", {"a": "id-a"}),
        Origin("", {"a": "", "b": ""}),
    ],
    ids=["the same", "one joins", "one is not read now", "a broker without ids"],
)
def test_other_differences_are_none_of_the_ids_business(now: Origin) -> None:
    same_origin("p", WAS, now, "")
    same_origin("p", Origin(), now, "")


def test_the_ledger_refuses_the_batch_after_a_topic_was_made_anew(past: Past) -> None:
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    with pytest.raises(Refused, match="topic t was deleted and created again"):
        past.batch()
    assert past.offsets() == list(range(9))


def test_a_replay_of_a_batch_of_another_topic_is_refused(past: Past) -> None:
    past.batch(until="freeze")
    past.next_batch, past.offset = 3, 9
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    with pytest.raises(Refused, match="topic t was deleted and created again"):
        past.batch()


def test_a_start_names_exactly_the_partitions_that_are_there() -> None:
    assert complete({("a", 0): 5, ("gone", 0): 9}, [("a", 0), ("a", 1)]) == {("a", 0): 5, ("a", 1): -2}
