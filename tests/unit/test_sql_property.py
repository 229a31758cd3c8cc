"""No text, however odd, ends in anything but a value or a SqlWrong; and a slice read again reads the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.sql.expression import read_expression, read_value
from penstock.sql.functions import FORBIDDEN, sorts
from penstock.sql.problems import SqlWrong
from penstock.sql.query import read_query
from penstock.testing.sql_texts import EXPRESSIONS, QUERIES

PIECES = [
    "SELECT", "FROM", "rows", "WHERE", "LATERAL VIEW", "OUTER", "explode(", "AS", "AS (", "a", "a.b", "`x y`", "*", ",",
    "(", ")", "[", "]", "'t'", '"t"', "'", "`", "--", "\n", "/*", "*/", "+", "-", "->", "=>", "::", ":", "?", "${x}",
    "$", "@", "{", "}", ";", "CASE", "WHEN", "THEN", "ELSE", "END", "NOT", "AND", "BETWEEN", "IN (", "LIKE ANY (",
    "CAST(", "AS INT", "INTERVAL", "DAY", "EXCEPT", "ORDER BY", "LIMIT", "OVER (", "upper(", "sum(", "struct(",
    "reflect(", "x ->", "IS DISTINCT FROM", "NULL", "1", "1.5BD", "x'1F'", "r'\\'", "\\", "ß", "\u00a0", "\ud83d\ude00",
    "<", ">", "<<", "map<string,", "DATE", "_a", "JOIN", "UNION", "ALL", "DISTINCT", "extract(", "trim(", "YEAR FROM",
    "COLLATE",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
MUTATED = st.tuples(
    st.sampled_from([*EXPRESSIONS, *QUERIES]), st.integers(0, 60), st.integers(0, 3), st.sampled_from(PIECES)
).map(lambda each: each[0][: each[1]] + each[3] + each[0][each[1] + each[2] :])


@pytest.mark.parametrize("read", [read_expression, read_value, read_query])
@settings(max_examples=400, deadline=None)
@given(text=st.one_of(TEXTS, MUTATED))
def test_no_text_raises_anything_but_its_problems(read: Callable[[str], object], text: str) -> None:
    try:
        read(text)
    except SqlWrong as error:
        lines = text.split("\n")
        for row, column, message, _ in error.problems:
            assert 1 <= row <= len(lines)
            assert 1 <= column <= len(lines[row - 1]) + 1
            assert message.endswith(".")


@settings(max_examples=400, deadline=None)
@given(text=st.one_of(TEXTS, MUTATED))
def test_what_is_taken_calls_no_function_that_is_refused(text: str) -> None:
    try:
        read = read_value(text)
    except SqlWrong:
        return
    assert not set(read.functions) & set(FORBIDDEN)
    assert {sorts().get(name, "scalar") for name in read.functions} <= {"scalar"}


PLAIN = [text for text in QUERIES if "rows r" not in text.lower() and " AS r " not in text and "plode" not in text]


@pytest.mark.parametrize("text", [text for text in PLAIN if "inline" not in text])
def test_an_item_that_is_cut_out_reads_as_it_did_in_the_query(text: str) -> None:
    for item in read_query(text).items:
        alone = read_expression(item.text)
        assert (alone.name, alone.star, alone.functions) == (item.name, item.star, item.functions)
        assert [ref.name for ref in alone.columns] == [ref.name for ref in item.columns]
