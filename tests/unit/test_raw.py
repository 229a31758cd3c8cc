"""The raw format: the bytes as they came, but for tombstones and what is too large."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.formats.raw import Raw
from penstock.options import Size
from penstock.rows import Verdict


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_values_pass_as_they_are_and_an_empty_one_is_a_value(kind: pa.DataType) -> None:
    decoded = Raw().decoder().decode(pa.array([b"junk", b"a", b"", b"\xff\x00"], kind).slice(1))
    assert decoded.data.to_pylist() == [{"value": b"a"}, {"value": b""}, {"value": b"\xff\x00"}]
    assert decoded.data.schema == Raw().columns()
    assert decoded.verdicts == []


def test_tombstones_and_large_values_get_a_verdict_and_no_data() -> None:
    options = Raw(max_bytes=Size("3 B"))
    decoded = options.decoder().decode(pa.array([b"abcd", None, b"abc"], pa.binary()))
    assert decoded.data.column(0).to_pylist() == [None, None, b"abc"]
    assert decoded.verdicts == [
        Verdict(0, "too_large", None, "The value has 4 bytes, max_bytes is 3."),
        Verdict(1, "tombstone", None, "The record has no value."),
    ]


def test_tombstones_are_dropped_by_name_on_wish() -> None:
    decoded = Raw(tombstones="drop").decoder().decode(pa.array([None, b"a"], pa.binary()))
    assert [(verdict.row, verdict.code, verdict.drop) for verdict in decoded.verdicts] == [(0, "tombstone", True)]


def test_no_rows_give_no_rows() -> None:
    decoded = Raw().decoder().decode(pa.array([], pa.binary()))
    assert decoded.data.num_rows == 0
    assert decoded.verdicts == []
