"""Checkpoints of any Structured Streaming job: every shape that Spark writes, and what can be wrong with one."""

from __future__ import annotations

import os
import struct
import time
import zlib
from pathlib import Path

import pytest
from tests.unit.foreign_kit import KAFKA, checkpoint, offsets

from penstock.errors import Refused
from penstock.ledger import sparklog
from penstock.ledger.sparklog import Damaged
from penstock.operate.foreign import Foreign, look


def codes(found: Foreign) -> list[str]:
    return [finding.code for finding in found.findings]


def test_a_healthy_checkpoint_has_no_finding(tmp_path: Path) -> None:
    found = look(checkpoint(tmp_path, 3, 3))
    assert (found.committed, found.newest, found.unfinished, found.kinds) == (3, 3, None, ("kafka",))
    assert found.positions == {("orders", 0): 120, ("orders", 1): 80}
    assert found.findings == ()
    assert not found.stuck
    assert found.query_id == "7a0e3b6c-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("lines", "kinds", "positions"),
    [
        ([KAFKA, '{"clicks":{"0":7}}'], ("kafka", "kafka"), {("orders", 0): 120, ("orders", 1): 80, ("clicks", 0): 7}),
        ([KAFKA, '{"orders":{"0":90}}'], ("kafka", "kafka"), {("orders", 0): 90, ("orders", 1): 80}),
        (['{"logOffset":12}'], ("files",), {}),
        (['{"sourceVersion":1,"reservoirId":"x","reservoirVersion":4,"index":0}'], ("delta",), {}),
        (["17"], ("other",), {}),
        ([KAFKA, "-"], ("kafka", "none"), {("orders", 0): 120, ("orders", 1): 80}),
        (["{}"], ("other",), {}),
    ],
)  # fmt: skip
def test_every_kind_of_source_is_told_and_those_of_kafka_are_read(
    tmp_path: Path, lines: list[str], kinds: tuple[str, ...], positions: dict[tuple[str, int], int]
) -> None:
    found = look(checkpoint(tmp_path, 1, 1, *lines))
    assert (found.kinds, found.positions, found.findings) == (kinds, positions, ())


def test_sources_that_have_names_are_read_by_them() -> None:
    body = offsets(f"orders_in:{KAFKA}", 'files:{"logOffset":3}', version="v2").encode()
    found = sparklog.planned(0, body)
    assert [(source.name, source.kind) for source in found.sources] == [("orders_in", "kafka"), ("files", "files")]
    assert found.positions == {("orders", 0): 120, ("orders", 1): 80}


@pytest.mark.parametrize("body", ['v1\n{"nextBatchWatermarkMs":0}', 'v2\n{"stateUniqueIds":{}}', "v3\n{}", "v1\n"])
def test_commits_of_every_version_are_whole(body: str) -> None:
    assert isinstance(sparklog.committed(body.encode()), dict)


def test_a_batch_that_is_planned_for_long_and_not_committed_is_stuck(tmp_path: Path) -> None:
    found = look(checkpoint(tmp_path, 4, 3, at=time.time() - 7200))
    assert (found.unfinished, found.stuck, codes(found)) == (4, True, ["stuck_batch"])
    assert "batch 4 was planned 2.0 h ago" in found.findings[0].what


def test_a_batch_that_is_in_hand_is_not_stuck(tmp_path: Path) -> None:
    found = look(checkpoint(tmp_path, 4, 3, at=time.time() - 20))
    assert (found.unfinished, found.stuck, codes(found)) == (4, False, [])


def test_where_batches_take_hours_one_of_an_hour_is_not_stuck(tmp_path: Path) -> None:
    checkpoint(tmp_path, 4, 3, at=time.time() - 3600)
    for number in range(4):
        os.utime(tmp_path / f"offsets/{number}", (1e9, 1e9))
        os.utime(tmp_path / f"commits/{number}", (1e9 + 3000, 1e9 + 3000))
    found = look(tmp_path)
    assert (found.usual_seconds, found.stuck) == (3000.0, False)


def test_before_the_first_commit_the_position_is_where_the_source_began(tmp_path: Path) -> None:
    found = look(checkpoint(tmp_path, 0, -1))
    assert (found.committed, found.unfinished) == (None, 0)
    assert found.positions == {("orders", 0): 5, ("orders", 1): 6}


@pytest.mark.parametrize(
    "body", [b"", b"\0\0\0\0", b"v1\n", b'v1\n{"batchWat', b'v1\n{}\n{"orders":{"0":12', b"garbage"]
)
def test_half_written_offsets_are_named_with_what_may_be_done(tmp_path: Path, body: bytes) -> None:
    checkpoint(tmp_path, 4, 3)
    (tmp_path / "offsets/4").write_bytes(body)
    found = look(tmp_path)
    assert codes(found) == ["half_written"]
    assert found.findings[0].grave
    assert "move offsets/4 and offsets/.4.crc away" in found.findings[0].remedy
    assert found.positions == {("orders", 0): 120, ("orders", 1): 80}, "what is committed is known all the same"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    cases = {
        "no_metadata": ["metadata"],
        "no_offsets": ["offsets/2"],
        "only_checksum": ["commits/3"],
        "no_commit": ["commits/2"],
    }
    for code, gone in cases.items():
        folder = checkpoint(tmp_path / code, 3, 3)
        (folder / "commits/.3.crc").write_bytes(b"crc\0")
        for name in gone:
            (folder / name).unlink()
        found = look(folder)
        assert codes(found) == [code], found.findings
        assert found.findings[0].grave


def test_a_commit_without_offsets_says_that_nobody_knows_where_to_go_on(tmp_path: Path) -> None:
    checkpoint(tmp_path, 3, 4)
    found = look(tmp_path)
    assert codes(found) == ["no_offsets"]
    assert "commits/4 has no offsets/4" in found.findings[0].what


def test_old_batches_that_spark_has_removed_are_no_damage(tmp_path: Path) -> None:
    found = look(checkpoint(tmp_path, 300, 300, first=200))
    assert found.findings == ()
    assert len(found.batches) == 101


def test_a_file_that_was_edited_does_not_agree_with_its_checksum(tmp_path: Path) -> None:
    checkpoint(tmp_path, 3, 3)
    body = (tmp_path / "offsets/3").read_bytes()
    sums = [zlib.crc32(body[at : at + 512]) for at in range(0, len(body), 512)]
    kept = b"crc\0" + struct.pack(">i", 512) + b"".join(struct.pack(">I", each) for each in sums)
    (tmp_path / "offsets/.3.crc").write_bytes(kept)
    assert codes(look(tmp_path)) == []
    (tmp_path / "offsets/3").write_bytes(body.replace(b"120", b"100"))
    assert codes(look(tmp_path)) == ["checksum"]


def test_the_state_of_a_stateful_job_is_measured(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, 1)
    for part in ("0", "1"):
        (tmp_path / "state" / "0" / part).mkdir(parents=True)
        (tmp_path / "state" / "0" / part / "1.delta").write_bytes(b"x" * 100)
    found = look(tmp_path)
    assert found.state is not None
    assert (found.state.operators, found.state.files, found.state.bytes) == (1, 2, 200)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no checkpoint"):
        look(tmp_path)


def test_a_checkpoint_elsewhere_is_refused_with_what_to_copy() -> None:
    with pytest.raises(Refused, match="a disk of this machine only"):
        look(Path("s3a://bucket/checkpoint"))


@pytest.mark.parametrize("body", [b"", b"v1", b"v9\nno json"])
def test_a_log_that_holds_something_else_is_damaged(body: bytes) -> None:
    with pytest.raises(Damaged):
        sparklog.planned(0, body)
