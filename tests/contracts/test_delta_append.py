"""Our own commit into a table's log: what it reads, what it leaves behind, and what the log tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from deltalake import DeltaTable
from tests.contracts.append_kit import APP, append, ids, lake, listening, log_of

from penstock.sinks.contract import CLOSED, Frozen
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.large_table import make
from penstock.testing.sink_suite import COLUMNS, freeze, key, rows, write

MANY = 50_000


def bytes_read() -> int:
    """What this process has read so far from any file, in Python or beneath it."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


def work_of_a_batch(committer: DeltaCommitter, frozen: Frozen, number: int) -> tuple[int, set[str]]:
    """Bytes read and files opened by everything that a batch asks of its committer."""
    before = bytes_read()
    with listening() as names:
        committer.watermark(APP)
        committer.undone(APP)
        committer.prepare(COLUMNS)
        committer.verify(frozen, key(number))
        assert committer.commit(frozen, key(number), {}).how == "committed"
    return bytes_read() - before, {name for name in names if "tmp" not in name}


def test_the_work_of_a_commit_does_not_grow_with_the_table(table: str) -> None:
    sizes = {}
    for files in (200, MANY):
        each = f"{table}-{files}"
        make(each, files)
        committer = lake(each)
        frozen = freeze(committer, rows(1))
        write(committer, 0, rows(1, start=5))
        work = [work_of_a_batch(committer, frozen, number) for number in range(1, 6)]
        version = DeltaTable(each).version()
        sizes[files] = max(read for read, _ in work)
        allowed = {"_delta_log", *(f"{number:020d}.json" for number in range(version - 4, version + 1))}
        assert {name for _, names in work for name in names} == allowed
    assert sizes[MANY] <= sizes[200] + 1000 < 10_000, sizes
    assert len(DeltaTable(f"{table}-{MANY}").file_uris()) == MANY + 2


def test_a_commit_to_a_table_that_is_there_needs_no_delta_rs(table: str) -> None:
    frozen = freeze(lake(table), rows(2))
    body = json.dumps(frozen.to_json())
    code = (
        "import json, sys\n"
        "from penstock.sinks.contract import Frozen\n"
        "from penstock.sinks.delta.committer import DeltaCommitter\n"
        "from penstock.sinks.contract import WriteKey\n"
        "frozen = Frozen.from_json(json.loads(sys.argv[2]))\n"
        "made = DeltaCommitter('lake', sys.argv[1]).commit(frozen, WriteKey('shop', 1, 'lake', 0, 'd'), {})\n"
        "print(made.how, 'deltalake' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, table, body], check=True, stdout=subprocess.PIPE, timeout=120)
    assert ran.stdout.split() == [b"committed", b"False"]
    assert ids(table) == [0, 1]


def test_the_commit_says_what_spark_and_delta_rs_say(table: str) -> None:
    committer = lake(table)
    receipt = write(committer, 3, rows(2))
    path = log_of(table) / f"{receipt.version:020d}.json"
    info, transaction, added = (json.loads(line) for line in path.read_text().splitlines())
    assert info["commitInfo"]["operation"] == "WRITE"
    assert info["commitInfo"]["isBlindAppend"] is True
    assert info["commitInfo"]["operationMetrics"]["numOutputRows"] == "2"
    assert (transaction["txn"]["appId"], transaction["txn"]["version"]) == (APP, 3)
    assert json.loads(added["add"]["stats"])["numRecords"] == 2
    assert DeltaTable(table).history(1)[0]["engineInfo"].startswith("penstock/")
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_what_the_preflight_asks_reads_no_commit_twice(table: str) -> None:
    write(lake(table), 0, rows(1))
    for number in range(10):
        append(table, 100 + number)
    DeltaTable(table).create_checkpoint()
    committer = lake(table)
    with listening() as names:
        for _ in range(3):
            assert (committer.story(APP) or {})["batch_id"] == 0
            assert committer.undone(APP) == []
            assert committer.story("shop.g2.lake") is None
            assert committer.undone("shop.g2.lake") == []
    commits = [name for name in names if name.endswith(".json")]
    assert {name: commits.count(name) for name in commits if name < f"{11:020d}" and name != f"{1:020d}.json"} == {
        f"{number:020d}.json": 1 for number in range(2, 11)
    }


def test_a_generation_is_closed_by_our_own_commit_and_by_delta_rs_where_it_must(table: str) -> None:
    committer = lake(table)
    write(committer, 0, rows(1))
    committer.close(key(CLOSED))
    committer.close(key(CLOSED))
    assert DeltaTable(table).version() == 2
    assert (committer.story(APP) or {})["batch_id"] == 0
    DeltaTable(table).alter.add_constraint({"positive": "id >= 0"})
    lake(table).close(key(CLOSED - 1, "other"))
    assert DeltaTable(table).transaction_version(APP) == CLOSED
