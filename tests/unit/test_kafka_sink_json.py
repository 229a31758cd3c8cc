"""Rows as JSON: the columnar encoder says what a plain one would, and our own decoder reads the same rows back."""

from __future__ import annotations

import datetime
import json
import math
import struct
from base64 import b64encode
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.json_strategies import types_of

from penstock.formats.arrow_types import to_arrow
from penstock.formats.encode import json_values
from penstock.formats.encode.contract import Flaw
from penstock.formats.encode.json_values import encodable, encode
from penstock.formats.json.columns import JsonDecoder
from penstock.formats.types import Field, Type

some = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
EXACT = Context(prec=60)
TEXTS = st.text(max_size=6)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-(2**7), 2**7 - 1),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "STRING": TEXTS,
    "BINARY": st.binary(max_size=6),
    "DATE": st.dates(),
    "TIMESTAMP": st.datetimes(timezones=st.just(datetime.UTC)),
}


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


SAID: dict[str, Callable[[Any], str]] = {
    "FLOAT": lambda value: str(np.float32(value)),
    "STRING": _text,
    "BINARY": lambda value: _text(b64encode(value).decode()),
    "DATE": lambda value: _text(value.isoformat()),
    "TIMESTAMP": lambda value: _text(value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"),
    "DECIMAL": lambda value: format(value, "f"),
}
"""How a plain encoder says a value of this type; Python's own way for all others."""


def fields(kinds: st.SearchStrategy[Type]) -> st.SearchStrategy[tuple[Field, ...]]:
    one = st.builds(Field, st.sampled_from(["a", "b", "c d", "é", 'x"y', "n\\"]), kinds)
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda field: field.name).map(tuple)


def values(kind: Type) -> st.SearchStrategy[Any]:
    return st.none() | _values(kind)


def _values(kind: Type) -> st.SearchStrategy[Any]:
    if kind.name == "DECIMAL":
        most = 10**kind.precision - 1
        return st.integers(-most, most).map(lambda number: Decimal(number).scaleb(-kind.scale, EXACT))
    if kind.name == "STRUCT":
        return st.fixed_dictionaries({field.name: values(field.type) for field in kind.fields})
    if kind.element is None:
        return SCALARS[kind.name]
    inner = values(kind.element)
    if kind.name == "ARRAY":
        return st.lists(inner, max_size=3)
    return st.dictionaries(TEXTS, inner, max_size=3).map(lambda found: list(found.items()))


@st.composite
def batches(draw: st.DrawFn) -> tuple[tuple[Field, ...], list[dict[str, Any]]]:
    declared = draw(fields(types_of(sorted(SCALARS), fields)))
    row = st.fixed_dictionaries({field.name: values(field.type) for field in declared})
    return declared, draw(st.lists(row, max_size=5))


def plain(value: Any, kind: Type) -> str:
    """A value as JSON, one by one, with nothing but the standard library."""
    if value is None:
        return "null"
    if kind.name == "ARRAY" and kind.element:
        return "[" + ",".join(plain(each, kind.element) for each in value) + "]"
    if kind.name == "MAP" and kind.element:
        return "{" + ",".join(f"{_text(key)}:{plain(each, kind.element)}" for key, each in value) + "}"
    if kind.name == "STRUCT":
        return "{" + ",".join(f"{_text(each.name)}:{plain(value[each.name], each.type)}" for each in kind.fields) + "}"
    return SAID.get(kind.name, json.dumps)(value)


@some
@given(batches())
def test_a_column_is_said_as_a_plain_encoder_says_it(batch: tuple[tuple[Field, ...], list[dict[str, Any]]]) -> None:
    declared, rows = batch
    for field, kind in zip(declared, to_arrow(declared), strict=True):
        column = [row[field.name] for row in rows]
        text, flaws = json_values.texts(pa.array(column, kind.type))
        ours, theirs = text.to_pylist(), [plain(value, field.type) for value in column]
        assert flaws == []
        if _floats(field.type):  # 1 and 1.0, 1e+20 and 1e20 are the same number
            ours, theirs = [json.loads(each) for each in ours], [json.loads(each) for each in theirs]
        assert ours == theirs


def _floats(kind: Type) -> bool:
    inner = [kind.element] if kind.element else [field.type for field in kind.fields]
    return kind.name in ("FLOAT", "DOUBLE") or any(map(_floats, inner))


@some
@given(batches())
def test_what_is_encoded_is_decoded_to_the_same_rows(batch: tuple[tuple[Field, ...], list[dict[str, Any]]]) -> None:
    declared, rows = batch
    schema = to_arrow(declared)
    before = pa.RecordBatch.from_pylist([{}, *rows, {}], schema).slice(1, len(rows))
    encoded = encode(before)
    after = JsonDecoder(declared, max_bytes=10**6).decode(encoded.values)
    assert (encoded.flaws, after.verdicts) == ([], [])
    assert _shown(after.data.to_pylist()) == _shown(before.to_pylist())


def _shown(value: Any) -> Any:
    """Floats by their bits, so that -0.0 is not 0.0."""
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, dict):
        return {name: _shown(inner) for name, inner in value.items()}
    return [_shown(inner) for inner in value] if isinstance(value, list | tuple) else value


def test_a_large_batch_is_encoded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.RecordBatch.from_pydict(
        {"n": list(range(1000)), "f": [math.nan if n == 700 else 1.5 for n in range(1000)]}
    )
    whole = encode(rows)
    monkeypatch.setattr(json_values, "PIECE_BYTES", 500)
    pieces = encode(rows)
    assert pieces.values == whole.values
    assert pieces.flaws == whole.flaws == [Flaw(700, "/f", "The value is NaN, which JSON cannot say.")]


def test_a_flaw_is_told_with_its_place() -> None:
    kind = pa.struct([pa.field("y", pa.list_(pa.struct([pa.field("z", pa.float32())])))])
    table = pa.map_(pa.string(), pa.float64())
    rows = pa.RecordBatch.from_pydict(
        {
            "a": pa.array([{"y": [{"z": 1.0}, {"z": -math.inf}]}, None, {"y": []}], kind),
            "m": pa.array([None, [], [("k", 1.0), ("l", math.inf)]], table),
        }
    )
    assert [(flaw.row, flaw.field, flaw.detail.split(",")[0]) for flaw in encode(rows).flaws] == [
        (0, "/a/y/1/z", "The value is -Infinity"),
        (2, "/m/1", "The value is Infinity"),
    ]


def test_times_without_a_text_in_iso_8601_are_flaws() -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "t": pa.array([0, 253_402_300_800_000_000, -62_135_596_800_000_001, None], pa.timestamp("us", "UTC")),
            "d": pa.array([0, 0, 0, 2_932_897], pa.int32()).cast(pa.date32()),
        }
    )
    assert [(flaw.row, flaw.field) for flaw in encode(rows).flaws] == [(1, "/t"), (2, "/t"), (3, "/d")]


def test_a_null_struct_hides_what_lies_under_it() -> None:
    inner = pa.array([math.nan, 1.0])
    array = pa.StructArray.from_arrays([inner], ["x"], mask=pa.array([True, False]))
    text, flaws = json_values.texts(array)
    assert (text.to_pylist(), flaws) == (["null", '{"x":1}'], [])


def test_a_time_without_a_zone_has_none_in_json() -> None:
    text, _ = json_values.texts(pa.array([1], pa.timestamp("ms")))
    assert text.to_pylist() == ['"1970-01-01T00:00:00.001000"']


def test_keys_of_maps_are_texts_whatever_they_are() -> None:
    text, _ = json_values.texts(pa.array([[(1, True)], [(2, None)]], pa.map_(pa.int64(), pa.bool_())))
    assert text.to_pylist() == ['{"1":true}', '{"2":null}']


@pytest.mark.parametrize(
    ("kind", "fine"),
    [
        (pa.duration("us"), False),
        (pa.list_(pa.time64("us")), False),
        (pa.map_(pa.struct([("a", pa.int8())]), pa.int8()), False),
        (pa.struct([("a", pa.null()), ("b", pa.large_list(pa.large_string()))]), True),
    ],
)
def test_types_without_a_text_in_json_are_known(kind: pa.DataType, fine: bool) -> None:
    assert encodable(kind) is fine
    if fine:
        assert json_values.texts(pa.array([{"a": None, "b": ["x"]}], kind))[0].to_pylist() == ['{"a":null,"b":["x"]}']
