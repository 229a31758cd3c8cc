"""What a commit costs as the table grows:  python -m bench.commit [--files 200,6000] [--commits N] [--json FILE]

The same batch of four files is committed by penstock and by delta-rs, each to a table of so many files. The
log of these tables is written by hand; their data files do not exist, and no commit looks for them. Printed are the
median of a commit in milliseconds and in CPU-milliseconds of the process, what the process reads for it, and what
opening the table takes in time and memory, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.sinks.contract import Frozen, FrozenFile, WriteKey
from penstock.sinks.delta import log
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.large_table import make
from penstock.testing.sink_suite import freeze, rows

SIZES = (200, 6_000, 40_000, 200_000)
FILES = 4
Commit = Callable[[int], None]


def by_penstock(table: str, frozen: Frozen) -> Commit:
    committer = DeltaCommitter("lake", table)
    committer.watermark("nobody")
    return lambda number: _expect(committer.commit(frozen, _key(number), {}).how)


def by_delta_rs(table: str, frozen: Frozen) -> Commit:
    """As penstock did it before: a kept handle, its watermark, the commit, a look whether it is there, and to disk."""
    from deltalake import CommitProperties, DeltaTable, Transaction
    from deltalake.transaction import AddAction, RemoveAction

    handle = DeltaTable(table)

    def commit(number: int) -> None:
        handle.update_incremental()
        key = _key(number)
        assert handle.transaction_version(key.app) in (None, number - 1)
        added: list[AddAction | RemoveAction] = [
            AddAction(file.path, file.size, file.partition_values, 1, data_change=True, stats=file.stats)
            for file in frozen.files
        ]
        properties = CommitProperties(
            app_transactions=[Transaction(key.app, number)], custom_metadata={"userMetadata": "{}"}
        )
        handle.create_write_transaction(
            added, mode="append", schema=handle.schema(), partition_by=[], commit_properties=properties
        )
        landed = log.find_after(table, key.app, number, handle.version() - 1)
        assert landed is not None
        log.keep(table, landed.version)

    return commit


WAYS = {"penstock": by_penstock, "delta-rs": by_delta_rs}


def measured(way: str, table: str, commits: int) -> dict[str, float]:
    """What the commits took, in a process of their own, so that memory is theirs alone."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_measure, args=(way, table, commits, answers))
    process.start()
    found = answers.get(timeout=900)
    process.join(timeout=60)
    return dict(found)


def _measure(way: str, table: str, commits: int, answers: Any) -> None:
    frozen = _frozen(table)
    memory, began = _memory(), time.perf_counter()
    commit = WAYS[way](table, frozen)
    opened = time.perf_counter() - began
    commit(0)
    read, spent, times = _bytes_read(), time.process_time(), []
    for number in range(1, commits + 1):
        began = time.perf_counter()
        commit(number)
        times.append(time.perf_counter() - began)
    answers.put(
        {
            "p50_ms": 1000 * statistics.median(times),
            "cpu_ms": 1000 * (time.process_time() - spent) / commits,
            "read_bytes": (_bytes_read() - read) / commits,
            "open_s": opened,
            "memory_mb": _memory() - memory,
        }
    )


def _frozen(table: str) -> Frozen:
    one = freeze(DeltaCommitter("lake", table), rows(1000), tag="bench")
    [file] = one.files
    return Frozen(one.target, tuple(_copy(table, file, number) for number in range(FILES)))


def _copy(table: str, file: FrozenFile, number: int) -> FrozenFile:
    name = f"{number}-{file.path}"
    shutil.copyfile(Path(table) / file.path, Path(table) / name)
    return FrozenFile(name, file.size, file.rows, file.stats, file.partition_values)


def _key(number: int) -> WriteKey:
    return WriteKey("bench", 1, "lake", number, f"digest-{number}")


def _expect(how: str) -> None:
    assert how == "committed", how


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _bytes_read() -> int:
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


HEAD = "| files | by | p50 ms | CPU ms | read a commit, KB | open s | memory MB |\n|---|---|---|---|---|---|---|"


def line(files: int, way: str, one: dict[str, float]) -> str:
    """One way and one size, as a line of Markdown."""
    return (
        f"| {files:,} | {way} | {one['p50_ms']:.1f} | {one['cpu_ms']:.1f} | {one['read_bytes'] / 1000:.1f} "
        f"| {one['open_s']:.2f} | {one['memory_mb']:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", default=",".join(map(str, SIZES)), help="sizes of the table, with commas")
    parser.add_argument("--commits", type=int, default=50, help="commits that are measured, for each way and size")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    found: dict[int, dict[str, dict[str, float]]] = {}
    print(HEAD, flush=True)
    for files in map(int, given.files.split(",")):
        with tempfile.TemporaryDirectory(prefix="penstock-commit-") as folder:
            make(f"{folder}/table", files)
            for way in WAYS:
                shutil.copytree(f"{folder}/table", f"{folder}/{way}")
                found.setdefault(files, {})[way] = measured(way, f"{folder}/{way}", given.commits)
                print(line(files, way, found[files][way]), flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
