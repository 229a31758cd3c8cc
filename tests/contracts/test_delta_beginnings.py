"""Wherever a log begins, whole or damaged: our batches are known and the next one lands, or nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.contracts.append_kit import APP, append, ids, lake, log_of

from penstock.testing.sink_suite import freeze, key, rows


def in_parts(table: str) -> None:
    """The checkpoint as an older Spark would have written a large one: in two files."""
    [whole] = log_of(table).glob("*.checkpoint.parquet")
    rows_of = pq.read_table(whole)
    half = rows_of.num_rows // 2
    for number, part in enumerate((rows_of.slice(0, half), rows_of.slice(half)), start=1):
        pq.write_table(part, whole.with_name(whole.name.replace(".parquet", f".{number:010d}.{2:010d}.parquet")))
    whole.unlink()
    pointer = json.loads((log_of(table) / "_last_checkpoint").read_text())
    (log_of(table) / "_last_checkpoint").write_text(json.dumps({**pointer, "parts": 2}))


def cut(table: str) -> None:
    """The newest checkpoint as a disk that failed leaves it."""
    newest = max(log_of(table).glob("*.checkpoint.parquet"))
    newest.write_bytes(newest.read_bytes()[:100])


def half_of_it(table: str) -> None:
    in_parts(table)
    max(log_of(table).glob("*.checkpoint.*.parquet")).unlink()


def pointer(text: str) -> Callable[[str], None]:
    def write_it(table: str) -> None:
        (log_of(table) / "_last_checkpoint").write_text(text)

    return write_it


def clean(table: str) -> None:
    """Take away every commit before the newest checkpoint."""
    newest = int(max(log_of(table).glob("*.checkpoint.*parquet")).name[:20])
    for number in range(newest):
        (log_of(table) / f"{number:020d}.json").unlink(missing_ok=True)


def in_parts_and_cleaned(table: str) -> None:
    in_parts(table)
    clean(table)


def without_commit_of_its_own(table: str) -> None:
    clean(table)
    DeltaTable(table).create_checkpoint()
    clean(table)
    (log_of(table) / f"{DeltaTable(table).version():020d}.json").unlink()


BEGINNINGS: dict[str, Callable[[str], None]] = {
    "as it is": lambda _: None,
    "cleaned": clean,
    "nothing but a checkpoint": without_commit_of_its_own,
    "a checkpoint in parts": in_parts,
    "a checkpoint in parts, cleaned": in_parts_and_cleaned,
    "a checkpoint that lacks a part": half_of_it,
    "a damaged checkpoint": cut,
    "no pointer": lambda table: (log_of(table) / "_last_checkpoint").unlink(),
    "a damaged pointer": pointer('{"vers'),
    "a pointer that is old": pointer('{"version":1,"size":3}'),
    "a pointer that lies": pointer('{"version":999,"size":3}'),
}
DELTA_RS_GIVES_UP = {"a checkpoint that lacks a part", "a damaged checkpoint", "a pointer that lies"}


def ids_by_hand(table: str) -> list[int]:
    """What a reader sees that reads every commit from the first on."""
    lines = [line for path in sorted(log_of(table).glob("*.json")) for line in path.read_text().splitlines()]
    files = [json.loads(line)["add"]["path"] for line in lines if line.startswith('{"add"')]
    return sorted(number for file in files for number in pq.read_table(Path(table) / file)["id"].to_pylist())


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_wherever_the_log_begins_the_batch_is_known_and_the_next_one_lands(beginning: str, table: str) -> None:
    committer = lake(table)
    frozen = [freeze(committer, rows(1, start=number)) for number in range(5)]
    for number in range(3):
        committer.commit(frozen[number], key(number), {})
    DeltaTable(table).create_checkpoint()
    committer.commit(frozen[3], key(3), {})
    BEGINNINGS[beginning](table)
    for witness in (lake(table), committer):
        assert witness.watermark(APP) == 3
        assert witness.watermark("another.g1.lake") is None
        assert witness.commit(frozen[3], key(3), {}).how == "recognised"
    fresh = lake(table)
    assert fresh.commit(frozen[4], key(4), {}).how == "committed"
    assert fresh.watermark(APP) == committer.watermark(APP) == 4
    read = ids_by_hand if beginning in DELTA_RS_GIVES_UP else ids
    assert read(table) == [0, 1, 2, 3, 4]


def test_a_log_with_a_hole_is_not_written_to(table: str) -> None:
    committer = lake(table)
    frozen = freeze(committer, rows(1))
    for number in range(3):
        append(table, number)
    (log_of(table) / f"{2:020d}.json").unlink()
    with pytest.raises(Exception, match="cannot be read"):
        lake(table).commit(frozen, key(0), {})
    assert max(path.name for path in log_of(table).glob("*.json")) == f"{3:020d}.json"
