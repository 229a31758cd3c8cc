"""The frozen rows of a topic: what is written, what comes back, and in which order it will be sent."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.kafka_sink_writer_kit import NOW, rows, target

from penstock.rows import DEAD_LETTER, HEADERS
from penstock.sinks.contract import Frozen
from penstock.sinks.kafka import frozen as frozen_rows
from penstock.sinks.kafka.messages import Message, damaged, limits, messages
from penstock.sinks.kafka.target import DeadLetterTarget


def freeze(made: Any, *batches: pa.RecordBatch, tag: str = "0") -> Frozen:
    writer = pickle.loads(pickle.dumps(made)).writer(tag)
    for batch in batches:
        assert writer.write(batch) == []
    return Frozen.from_json(json.loads(json.dumps(Frozen(made.to_json(), tuple(writer.close())).to_json())))


def sent(*shares: Frozen) -> list[Message]:
    return [message for share in shares for message in messages(share)]


def test_a_row_is_sent_with_its_lineage(tmp_path: Path) -> None:
    share = freeze(target(tmp_path), rows([7, 8], partition=3))
    assert sent(share)[1] == (
        "out",
        b'{"id":8}',
        None,
        [
            ("penstock.topic", b"orders"),
            ("penstock.partition", b"3"),
            ("penstock.offset", b"8"),
            ("penstock.pipeline", b"shop"),
        ],
    )
    assert (share.rows, limits([share])) == (2, {"out": 1_000_000})


def test_key_topic_headers_and_bytes_are_taken_as_they_are_given(tmp_path: Path) -> None:
    made = target(tmp_path, topic=None, value="raw", key=True, headers=True)
    assert made.extras == ("__value", "__key", "__topic", "__headers")
    share = freeze(
        made,
        rows(
            [1, 2],
            __value=pa.array([b"\x00raw", None], pa.binary()),
            __key=pa.array([b"k", None], pa.binary()),
            __topic=pa.array(["out", "small"]),
            __headers=pa.array([[{"key": "kind", "value": b"a"}, {"key": "none", "value": None}], None], HEADERS),
        ),
    )
    first, second = sent(share)
    assert first[:3] == ("out", b"\x00raw", b"k")
    assert first[3][4:] == [("kind", b"a"), ("none", None)]
    assert second[:3] == ("small", None, None)
    assert len(second[3]) == 4


def test_columns_of_penstock_are_not_in_the_value(tmp_path: Path) -> None:
    share = freeze(target(tmp_path), rows([1], _unknown=pa.array(['{"x":1}'])))
    assert sent(share)[0][1] == b'{"id":1}'


def test_a_batch_without_rows_leaves_no_file(tmp_path: Path) -> None:
    assert freeze(target(tmp_path), rows([])).files == ()
    assert freeze(target(tmp_path)).files == ()
    assert list(tmp_path.iterdir()) == []


def test_rows_are_sent_in_the_order_of_the_source_whatever_the_tasks(tmp_path: Path) -> None:
    made = target(tmp_path)
    one = freeze(made, rows([5, 6], partition=1), rows([0, 1], partition=0), tag="1")
    two = freeze(made, rows([2, 9], partition=0), rows([3], partition=1), rows([0], topic="early"), tag="2")
    both = Frozen(made.to_json(), (*one.files, *two.files))
    places = [(h[0][1], h[1][1], h[2][1]) for *_, h in sent(both)]
    assert places == [
        (b"early", b"0", b"0"),
        *((b"orders", b"0", offset) for offset in (b"0", b"1", b"2", b"9")),
        *((b"orders", b"1", offset) for offset in (b"3", b"5", b"6")),
    ]


def test_rows_of_one_record_keep_their_order(tmp_path: Path) -> None:
    made = target(tmp_path)
    batch = rows([4, 4, 4, 3, 3], part=pa.array([1, 2, 3, 1, 2]))
    assert [json.loads(message[1] or b"")["part"] for message in sent(freeze(made, batch))] == [1, 2, 1, 2, 3]


def test_a_task_that_holds_too_much_writes_runs_that_are_merged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen_rows, "HELD_BYTES", 1)
    share = freeze(target(tmp_path), rows([0, 1]), rows([4, 5]), rows([2, 3]), rows([6]))
    assert len(share.files) == 2
    assert [json.loads(message[1] or b"")["id"] for message in sent(share)] == list(range(7))


def test_a_value_that_json_cannot_say_is_a_misfit(tmp_path: Path) -> None:
    writer = target(tmp_path).writer("0")
    [misfit] = writer.write(rows([1, 2], amount=pa.array([math.nan, 1.0])))
    assert (misfit.row, misfit.field, misfit.code) == (0, "/amount", "does_not_fit")
    assert [file.rows for file in writer.close()] == [1]


def test_a_topic_that_does_not_exist_or_is_not_given_is_a_misfit(tmp_path: Path) -> None:
    writer = target(tmp_path, topic=None).writer("0")
    found = writer.write(rows([1, 2, 3], __topic=pa.array(["elsewhere", None, "out"])))
    assert [(each.row, each.code, each.detail) for each in found] == [
        (0, "unknown_topic", "There is no topic `elsewhere` on the cluster."),
        (1, "unknown_topic", "`topic_from` gave no topic."),
    ]
    assert [file.rows for file in writer.close()] == [1]


def test_a_row_too_large_for_its_topic_is_a_misfit_and_takes_its_record_along(tmp_path: Path) -> None:
    writer = target(tmp_path, topic="small").writer("0")
    text = pa.array(["a", "b" * 600, "c"])
    [misfit] = writer.write(rows([1, 1, 2], text=text), np.array([0, 0, 1]))
    assert (misfit.row, misfit.code) == (1, "too_large_out")
    assert "topic `small` allows 500" in misfit.detail
    share = Frozen(target(tmp_path).to_json(), tuple(writer.close()))
    assert [json.loads(message[1] or b"")["text"] for message in sent(share)] == ["c"]


def test_a_file_that_is_cut_or_gone_is_told(tmp_path: Path) -> None:
    share = freeze(target(tmp_path), rows([1]))
    assert damaged({"alerts": share}) == []
    path = tmp_path / share.files[0].path
    path.write_bytes(path.read_bytes()[:-1])
    assert damaged({"alerts": share}) == [
        f"{path.name} of sink alerts has {share.files[0].size - 1} bytes instead of {share.files[0].size}"
    ]
    path.unlink()
    assert damaged({"alerts": share}) == [f"{path.name} of sink alerts is gone"]


def letters(**columns: Any) -> pa.RecordBatch:
    count = len(columns["offset"])
    filled = {"topic": ["orders"] * count, "partition": [2] * count, "timestamp": [NOW] * count, **columns}
    filled |= {"stage": ["decode"] * count, "code": ["wrong_type"] * count, "generation": [1] * count}
    filled |= {"rejected_at": [NOW] * count, "pipeline": ["shop"] * count}
    return pa.RecordBatch.from_arrays(
        [pa.array(filled.get(field.name, [None] * count), field.type) for field in DEAD_LETTER], schema=DEAD_LETTER
    )


def test_a_dead_letter_is_the_record_as_it_came_with_the_reason_in_headers(tmp_path: Path) -> None:
    made = DeadLetterTarget("dead_letters_topic", str(tmp_path), "dead", 10_000)
    share = freeze(
        made, letters(offset=[9], key=[b"k"], value=[b"bad"], headers=[[{"key": "own", "value": None}]], field=["/a"])
    )
    [(topic, value, key, headers)] = sent(share)
    assert (topic, value, key) == ("dead", b"bad", b"k")
    assert headers == [
        ("own", None),
        ("penstock.stage", b"decode"),
        ("penstock.code", b"wrong_type"),
        ("penstock.field", b"/a"),
        ("penstock.topic", b"orders"),
        ("penstock.partition", b"2"),
        ("penstock.offset", b"9"),
        ("penstock.timestamp", b"2026-01-02T03:04:05Z"),
        ("penstock.pipeline", b"shop"),
        ("penstock.generation", b"1"),
        ("penstock.rejected_at", b"2026-01-02T03:04:05Z"),
    ]


def test_a_dead_letter_that_is_too_large_goes_without_its_value_and_says_so(tmp_path: Path) -> None:
    made = DeadLetterTarget("dead_letters_topic", str(tmp_path), "dead", 2_000)
    big, own = b"x" * 3_000, [{"key": "own", "value": b"h" * 3_000}]
    share = freeze(
        made,
        letters(offset=[1, 2, 3], key=[b"k", b"k", b"k" * 3_000], value=[big, big, None], headers=[None, own, own]),
    )
    first, second, third = sent(share)
    assert (first[1], first[2], dict(first[3])["penstock.sha256"]) == (b"", b"k", sha256(big).hexdigest().encode())
    assert dict(first[3])["penstock.size"] == b"3000"
    assert (second[1], "own" in dict(second[3]), dict(second[3])["penstock.cut"]) == (b"", False, b"headers")
    assert (third[1], third[2], dict(third[3])["penstock.cut"]) == (None, None, b"headers, key")
    assert dict(third[3])["penstock.offset"] == b"3"


def test_a_writer_on_a_full_disk_fails_and_takes_no_space(tmp_path: Path) -> None:
    limited = f"""
import resource, sys
from pathlib import Path
from tests.unit.kafka_sink_writer_kit import rows, target
writer = target(Path({str(tmp_path)!r})).writer("0")
writer.write(rows(list(range(50_000))))
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
try:
    writer.close()
except OSError as error:
    print(type(error).__name__)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", limited], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "OSError"
    assert list(tmp_path.iterdir()) == []


def test_frozen_files_hold_what_is_sent_and_nothing_else(tmp_path: Path) -> None:
    share = freeze(target(tmp_path), rows([1]))
    assert pq.read_schema(tmp_path / share.files[0].path).names == [
        "_topic", "_partition", "_offset", "topic", "key", "value", "headers"
    ]  # fmt: skip
