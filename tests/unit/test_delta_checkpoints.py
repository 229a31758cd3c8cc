"""When a checkpoint of the log is due, and what of an old log may go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.sinks.delta.checkpoint import retention, tidy
from penstock.sinks.delta.snapshots import listing
from penstock.sinks.delta.tail import NEVER, Checkpointed
from penstock.sinks.delta.upkeep import COMMITS, Need, interval

NOW = 1_800_000_000.0
DAY = 86_400
MB = 1_000_000


@pytest.mark.parametrize(
    ("version", "last", "due"),
    [
        (99, Checkpointed(NEVER, 0, 0.0, since=90_000), True),
        (98, Checkpointed(NEVER, 0, 0.0, since=90_000), False),
        (1100, Checkpointed(1000, 40_000, NOW - 60, since=90_000), True),
        (1100, Checkpointed(1000, 40_000, NOW - 20, since=90_000), False),
        (1100, Checkpointed(1000, 56 * MB, NOW - DAY, since=90_000), False),
        (4000, Checkpointed(1000, 56 * MB, NOW - DAY, since=7 * MB), True),
        (4000, Checkpointed(1000, 56 * MB, NOW - 100, since=7 * MB), False),
        (4000, Checkpointed(1000, 56 * MB, NOW - 200, since=7 * MB), True),
    ],
)
def test_a_checkpoint_waits_the_longer_the_larger_the_last_one_was(version: int, last: Checkpointed, due: bool) -> None:
    assert Need(version, COMMITS, last).is_due(NOW) is due


def test_the_table_may_say_after_how_many_commits() -> None:
    assert interval({"delta.checkpointInterval": "20"}) == 20
    assert [interval({"delta.checkpointInterval": text}) for text in ("", "0", "often")] == [COMMITS] * 3


@pytest.mark.parametrize(
    ("configuration", "seconds"),
    [
        ({}, 30 * DAY),
        ({"delta.logRetentionDuration": "interval 2 weeks"}, 14 * DAY),
        ({"delta.logRetentionDuration": "INTERVAL 1 HOUR"}, 3600),
        ({"delta.logRetentionDuration": "interval 0 days"}, 0),
        ({"delta.logRetentionDuration": "interval 1 month"}, None),
        ({"delta.enableExpiredLogCleanup": "false"}, None),
    ],
)
def test_how_long_a_log_is_kept(configuration: dict[str, str], seconds: float | None) -> None:
    assert retention(configuration) == seconds


def log_of(folder: Path, ages: dict[str, float]) -> Path:
    for name, age in ages.items():
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (NOW - age * DAY,) * 2)
    return folder


def commit(version: int) -> str:
    return f"{version:020d}.json"


def checkpoint(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def left(folder: Path, configuration: dict[str, str]) -> set[str]:
    tidy(folder, configuration, NOW)
    return {path.name for path in folder.iterdir()}


def test_of_an_old_log_everything_goes_that_no_version_of_the_last_30_days_is_built_on(tmp_path: Path) -> None:
    ages = {commit(version): 40.0 - version for version in range(40)}
    ages |= {checkpoint(4): 36.0, checkpoint(8): 31.5, checkpoint(20): 20.0, f".{2:020d}.json.crc": 38.0}
    ages |= {f"{3:020d}.crc": 37.0, "_last_checkpoint": 20.0}
    log = log_of(tmp_path, ages)
    expected = {commit(version) for version in range(8, 40)} | {checkpoint(8), checkpoint(20), "_last_checkpoint"}
    assert left(log, {}) == expected


def test_a_log_without_an_old_checkpoint_stays_whole(tmp_path: Path) -> None:
    ages = {**{commit(version): 90.0 - version for version in range(40)}, checkpoint(39): 1.0}
    assert left(log_of(tmp_path, ages), {}) == set(ages)


def test_a_checkpoint_in_parts_counts_when_all_of_them_are_there(tmp_path: Path) -> None:
    parts = [f"{5:020d}.checkpoint.{number:010d}.{2:010d}.parquet" for number in (1, 2)]
    assert [one.version for one in listing(parts).snapshots] == [5]
    assert listing(parts[:1]).snapshots == ()
    ages = {**{commit(version): 50.0 for version in range(6)}, parts[0]: 45.0}
    assert left(log_of(tmp_path, ages), {}) == set(ages)


def test_drafts_that_a_dead_process_left_go_after_a_day(tmp_path: Path) -> None:
    drafts = {f".{commit(7)}.{'a' * 32}.tmp": 2.0, f".{commit(8)}.{'b' * 32}.tmp": 0.5}
    log = log_of(tmp_path, {commit(0): 90.0, **drafts})
    assert left(log, {"delta.enableExpiredLogCleanup": "false"}) == {commit(0), f".{commit(8)}.{'b' * 32}.tmp"}
