"""The kernels of compiled SQL, without Spark: against plain Python, and on the edges."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from operator import add, mul, sub
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.rows import SOURCE, Rows, Verdict
from penstock.steps.compiled.arithmetic import whole
from penstock.steps.compiled.case import Change
from penstock.steps.compiled.casts import date_text, parsed, time_text
from penstock.steps.compiled.logic import Junction
from penstock.steps.compiled.ops import Column, NotCompiled, Scope
from penstock.steps.compiled.patterns import from_like, from_regex, like_parts
from penstock.steps.compiled.settle import Settled, with_verdicts
from penstock.steps.compiled.text import cut

LONG = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**32, -(2**32), 3037000500])
)
PLAIN = {"Add": add, "Subtract": sub, "Multiply": mul}


def rows(data: dict[str, Any], offsets: list[int], verdicts: tuple[Verdict, ...] = ()) -> Rows:
    count = len(offsets)
    source = pa.RecordBatch.from_pylist(
        [{"offset": offset, "topic": "t", "partition": 0} for offset in offsets], SOURCE
    )
    records = np.unique(offsets, return_inverse=True)[1].astype(np.int64) if len(set(offsets)) < count else None
    return Rows(source, pa.RecordBatch.from_pydict(data), verdicts, records)


@settings(deadline=None)
@given(st.sampled_from([*PLAIN]), st.lists(st.tuples(st.none() | LONG, st.none() | LONG), min_size=1, max_size=8))
def test_whole_numbers_that_do_not_fit_raise_on_their_rows_only(
    name: str, pairs: list[tuple[int | None, int | None]]
) -> None:
    one, other = (pa.array(side, pa.int64()) for side in zip(*pairs, strict=True))
    made = whole(name, one, other)
    data, wrong = made if isinstance(made, tuple) else (made, None)
    for row, (left, right) in enumerate(pairs):
        exact = None if left is None or right is None else PLAIN[name](left, right)
        fits = exact is None or -(2**63) <= exact < 2**63
        assert (wrong is None or not wrong[row]) == fits
        if fits:
            assert data[row].as_py() == exact


@settings(deadline=None)
@given(st.text("aß😀", max_size=5), st.integers(-7, 7), st.integers(-2, 7))
def test_a_substring_is_cut_by_code_points(text: str, start: int, length: int) -> None:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    expected = text[max(begin, 0) : max(begin + length, 0)] if length > 0 else ""
    assert cut(start, length, pa.array([text])).to_pylist() == [expected]


def test_a_text_is_a_number_with_blanks_around_it_or_raises() -> None:
    texts = [" 12\n", "+7", "-128", "128", "1.0", "", None, "٣", "0" * 5000 + "5"]
    data, wrong = parsed(pa.int8(), pa.array(texts))
    assert data.to_pylist() == [12, 7, -128, None, None, None, None, None, 5]
    assert wrong.tolist() == [False, False, False, True, True, True, False, True, False]


def test_years_beyond_four_digits_are_written_with_a_sign() -> None:
    days = pa.array([0, 2_932_897, -719_529, None], pa.int32()).cast(pa.date32())
    assert date_text(days).to_pylist() == ["1970-01-01", "+10000-01-01", "-0001-12-31", None]
    micros = pa.array([1_500_000, 2_932_897 * 86_400_000_000, 10], pa.int64()).cast(pa.timestamp("us", "UTC"))
    assert time_text(micros).to_pylist() == [
        "1970-01-01 00:00:01.5",
        "+10000-01-01 00:00:00",
        "1970-01-01 00:00:00.00001",
    ]
    usual = pa.array([datetime(2026, 11, 1, 10, tzinfo=UTC), None], pa.timestamp("us", "UTC"))
    assert time_text(usual).to_pylist() == ["2026-11-01 10:00:00", None]


def test_what_spark_maps_otherwise_than_python_is_mapped_as_spark_does() -> None:
    change = Change(True, {"é": "E"})
    assert change(pa.array(["aé", "ß", None, "abc"])).to_pylist() == ["AE", "SS", None, "ABC"]
    assert pickle.loads(pickle.dumps(change)) == change


@pytest.mark.parametrize(
    "pattern", ["(?i)a", r"\s", "a++", "a*?", "[a&&b]", r"\p{L}", "a$b", "b^", r"(a)\1", "[^a]$", "(", "é", r"\Qa\E"]
)
def test_a_regular_expression_that_java_may_read_otherwise_is_not_compiled(pattern: str) -> None:
    with pytest.raises(NotCompiled):
        from_regex(pattern)


def test_dots_and_ends_of_a_regular_expression_are_javas() -> None:
    ends = r"\n\r\x{85}\x{2028}\x{2029}"
    assert from_regex("^a.$") == rf"^a[^{ends}](?:\r\n|[{ends}])?\z"


def test_the_escape_of_a_like_takes_the_meaning_of_what_follows() -> None:
    assert from_like(like_parts(r"a\%_%", "\\")) == r"(?s)\Aa\x{25}..*\z"
    with pytest.raises(NotCompiled):
        like_parts(r"a\b", "\\")


def test_the_right_side_of_and_raises_only_where_the_left_does_not_decide() -> None:
    class Raising(Column):
        def of(self, scope: Scope) -> Any:
            value = super().of(scope)
            return type(value)(value.data, np.ones(len(scope), dtype=np.bool_))

    left = Column(pa.bool_(), False, True, "left")
    right = Raising(pa.bool_(), True, True, "right")
    given = rows({"left": [True, False, None], "right": [True, True, True]}, [0, 1, 2])
    both = Junction(pa.bool_(), True, False, left, right, decides=False).of(Scope(given))
    assert both.raised is not None
    assert both.raised.tolist() == [True, False, True]


def test_a_rejected_row_takes_its_record_along_and_a_dropped_one_goes_alone() -> None:
    given = rows({"x": [*range(6)]}, [0, 0, 1, 1, 2, 2])
    verdicts = [
        Verdict(1, "step_failed", stage="step:a"),
        Verdict(2, "a", stage="step:a", drop=True),
        Verdict(4, "a", stage="step:a", drop=True),
        Verdict(5, "b", stage="step:b", drop=True),
    ]
    found = Settled().over(with_verdicts(given, verdicts))
    assert found.data["x"].to_pylist() == [1, 3, 4]
    assert [(verdict.row, verdict.code) for verdict in found.verdicts] == [(0, "step_failed"), (2, "a")]
    assert found.good.tolist() == [False, True, False]
