"""The preflight: where ledger and checkpoint disagree, nothing starts, and the words name the way on.

Real ledgers, real Delta tables, checkpoint files as Spark writes them.
"""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path

import pytest
from tests.unit.preflight_kit import Harm, refused

from penstock.files import here
from penstock.testing.past import Past


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
