"""The preflight's look at tables: those that lost our rows, are another's, forget our keys or may not be written to."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.unit.preflight_kit import Harm, refused

from penstock.errors import Refused, SinkRefused
from penstock.files import here
from penstock.ledger.standing import not_behind
from penstock.operate.generation import close_all
from penstock.testing.past import Past


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
