"""Statistics of a file: a bound may be loose, never wrong."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.sinks.delta.part import Layout, Part
from penstock.sinks.delta.stats import decimal_text, indexed


def stats_of(folder: Path, column: pa.Array, *more: pa.Array, **configuration: str) -> dict[str, Any]:
    """The statistics of a file of one column `c`, one row group for each array."""
    schema = pa.schema([pa.field("c", column.type)])
    part = Part(folder, "t", Layout(schema, indexed(schema, configuration)))
    for values in (column, *more):
        part.add(pa.RecordBatch.from_arrays([values], schema=schema))
        part.flush()
    return dict(json.loads(part.close({}).stats, parse_float=Decimal))


def bounds(folder: Path, *columns: pa.Array) -> tuple[Any, Any]:
    stats = stats_of(folder, *columns)
    return stats["minValues"].get("c"), stats["maxValues"].get("c")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stats")


@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_the_bounds_of_text_hold_every_value(folder: Path, values: list[str]) -> None:
    low, high = bounds(folder, pa.array(values, pa.string()))
    assert low.encode() <= min(value.encode() for value in values)
    assert high is None or high.encode() >= max(value.encode() for value in values)
    assert len(low) <= 32


def test_a_cut_maximum_is_larger_than_what_was_cut(folder: Path) -> None:
    assert bounds(folder, pa.array(["a" * 40])) == ("a" * 32, "a" * 32 + "\U0010ffff")
    assert bounds(folder, pa.array(["😀" * 33])) == ("😀" * 32, "😀" * 32 + "\U0010ffff")
    assert bounds(folder, pa.array(["a" * 32])) == ("a" * 32, "a" * 32)


def test_where_no_larger_text_can_be_made_there_is_no_maximum(folder: Path) -> None:
    assert bounds(folder, pa.array(["\U0010ffff" * 40])) == ("\U0010ffff" * 32, None)


def test_one_value_too_wide_for_the_footer_takes_the_bounds_of_the_file(folder: Path) -> None:
    assert bounds(folder, pa.array(["b"]), pa.array(["a" * 10_000])) == (None, None)


@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=5))
def test_the_bounds_of_moments_hold_every_value_to_the_microsecond(folder: Path, values: list[int]) -> None:
    low, high = bounds(folder, pa.array(values, pa.timestamp("us", "UTC")))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    if low is not None:
        assert datetime.fromisoformat(low) <= epoch + timedelta(microseconds=min(values))
    if high is not None:
        assert datetime.fromisoformat(high) >= epoch + timedelta(microseconds=max(values))


def test_moments_have_milliseconds_and_the_maximum_is_rounded_up(folder: Path) -> None:
    column = pa.array([-1, 1_000_001], pa.timestamp("us", "UTC"))
    assert bounds(folder, column) == ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:01.001Z")
    assert bounds(folder, column.cast(pa.timestamp("us")))[0] == "1969-12-31T23:59:59.999"


def test_a_moment_beyond_the_year_9999_has_no_bound(folder: Path) -> None:
    assert bounds(folder, pa.array([0, 2**60], pa.timestamp("us", "UTC"))) == ("1970-01-01T00:00:00.000Z", None)


@settings(max_examples=100, deadline=None)
@given(unscaled=st.integers(-(10**38) + 1, 10**38 - 1), scale=st.integers(0, 38))
def test_decimal_text_is_exact(unscaled: int, scale: int) -> None:
    assert Decimal(decimal_text(unscaled, scale)) == Decimal(
        (int(unscaled < 0), Decimal(abs(unscaled)).as_tuple()[1], -scale)
    )


@pytest.mark.parametrize("kind", [pa.decimal128(9, 2), pa.decimal128(18, 2), pa.decimal128(38, 10)])
def test_decimals_are_written_as_exact_numbers(folder: Path, kind: pa.Decimal128Type) -> None:
    largest = Decimal((0, (9,) * kind.precision, -kind.scale))
    column = pa.array([largest.copy_negate(), largest], kind)
    assert bounds(folder, column) == (largest.copy_negate(), largest)


def test_a_column_with_nan_has_no_bounds_and_the_others_do(folder: Path) -> None:
    assert bounds(folder, pa.array([1.0, 2.0]), pa.array([math.nan])) == (None, None)
    assert bounds(folder, pa.array([1.0, None, 2.5])) == (Decimal("1.0"), Decimal("2.5"))


def test_infinity_is_no_number_in_json_so_that_bound_is_left_out(folder: Path) -> None:
    assert bounds(folder, pa.array([1.0, math.inf])) == (Decimal("1.0"), None)


def test_zero_is_bounded_by_both_of_its_signs(folder: Path) -> None:
    low, high = bounds(folder, pa.array([0.0, -0.0]))
    assert (str(low), str(high)) == ("-0.0", "0.0")


@pytest.mark.parametrize("column", [pa.array([True, False]), pa.array([b"a", b"b"]), pa.array([[1], [2]])])
def test_these_types_have_null_counts_only(folder: Path, column: pa.Array) -> None:
    stats = stats_of(folder, column, pa.nulls(3, column.type))
    assert stats == {"numRecords": 5, "minValues": {}, "maxValues": {}, "nullCount": {"c": 3}}


def test_a_column_of_nulls_has_no_bounds(folder: Path) -> None:
    assert stats_of(folder, pa.nulls(2, pa.int64())) == {
        "numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"c": 2},
    }  # fmt: skip


def test_fields_of_structs_are_nested_and_null_where_the_struct_is(folder: Path) -> None:
    stats = stats_of(folder, pa.array([{"x": 1, "y": {"z": "a"}}, None, {"x": 3, "y": None}]))
    assert stats["minValues"] == {"c": {"x": 1, "y": {"z": "a"}}}
    assert stats["nullCount"] == {"c": {"x": 1, "y": {"z": 2}}}


WIDE = pa.schema([("s", pa.struct([("a", pa.int64()), ("b", pa.int64())])), ("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64())), *[(f"c{n}", pa.int64()) for n in range(40)]])  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(
    ("configuration", "names"),
    [
        ({}, ["s.a", "s.b", "l", "m", *(f"c{n}" for n in range(28))]),
        ({"delta.dataSkippingNumIndexedCols": "3"}, ["s.a", "s.b", "l"]),
        ({"delta.dataSkippingNumIndexedCols": "0"}, []),
        ({"delta.dataSkippingStatsColumns": "s, `c7`"}, ["s.a", "s.b", "c7"]),
    ],
)
def test_the_table_says_which_columns_have_statistics(configuration: dict[str, str], names: list[str]) -> None:
    assert [".".join(leaf.path) for leaf in indexed(WIDE, configuration)] == names


def test_minus_one_means_every_column() -> None:
    assert len(indexed(WIDE, {"delta.dataSkippingNumIndexedCols": "-1"})) == 44


def test_parquet_columns_are_counted_through_arrays_and_maps() -> None:
    numbers = {".".join(leaf.path): leaf.column for leaf in indexed(WIDE, {})}
    assert (numbers["s.b"], numbers["l"], numbers["m"], numbers["c0"]) == (1, 2, 3, 5)
