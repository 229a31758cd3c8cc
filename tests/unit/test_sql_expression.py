"""Expressions, read without a JVM: what they name, what they are called, where they stand."""

from __future__ import annotations

import pytest

from penstock.sql.expression import Expression, Ref, SqlWrong, read_expression, read_value
from penstock.testing.sql_texts import EXPRESSIONS


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_names_its_columns_and_its_output(text: str) -> None:
    columns, name = EXPRESSIONS[text]
    read = read_expression(text)
    seen = list(dict.fromkeys(ref.name for ref in read.columns))
    assert seen == ([columns] if columns == "x y" else columns.split())
    assert read.name == name


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_text_is_the_users_own(text: str) -> None:
    read = read_expression(f"\n  {text}\n")
    assert read.text in text
    assert (read.row, read.column) == (2, 3 + text.index(read.text))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_column_is_found_at_its_row_and_column(text: str) -> None:
    lines = text.split("\n")
    for ref in read_expression(text).columns:
        at = lines[ref.row - 1][ref.column - 1 :]
        assert at.startswith((ref.name, "`" + ref.name.replace("`", "``") + "`"))


def test_an_expression_says_which_functions_it_calls() -> None:
    read = read_expression("coalesce(UPPER(a), CAST(b AS DECIMAL(3, 1)), `lower`(c)) IN (upper(d))")
    assert read.functions == ("coalesce", "upper", "cast", "lower")


def test_words_of_the_syntax_that_may_be_columns_are_kept_apart() -> None:
    read = read_expression("extract(year FROM at) > user")
    assert [ref.name for ref in read.columns] == ["at"]
    assert read.maybe == ("year", "user")
    assert read_expression("CAST(a AS INT)").maybe == ()


@pytest.mark.parametrize(
    ("text", "star", "left_out", "spread"),
    [
        ("*", True, (), False),
        ("rows.*", True, (), False),
        ("* EXCEPT (a, `b c`)", True, ("a", "b c"), False),
        ("s.*", False, (), True),
        ("s.t.*", False, (), True),
        ("a * b", False, (), False),
    ],
)
def test_a_star_is_all_columns_or_the_fields_of_one(
    text: str, star: bool, left_out: tuple[str, ...], spread: bool
) -> None:
    read = read_expression(text)
    assert (read.star, read.except_, read.spread, read.name) == (star, left_out, spread, None)


def test_a_condition_has_no_name_and_no_star() -> None:
    assert read_value("amount > 0") == Expression("amount > 0", (Ref("amount", 1, 1),))
    for text in ("amount > 0 AS ok", "*", "s.*"):
        with pytest.raises(SqlWrong):
            read_value(text)


def test_all_problems_of_an_expression_are_told_at_once() -> None:
    with pytest.raises(SqlWrong) as caught:
        read_expression("uper(a)\n + reflect('x') + sum(b)")
    assert [(row, column) for row, column, _, _ in caught.value.problems] == [(1, 1), (2, 4), (2, 19)]


@pytest.mark.parametrize("opening", ["(", "upper(", "xs[", "CASE WHEN ", "NOT ", "struct(", "CAST(", "f(x -> "])
def test_what_is_nested_too_deep_is_told_in_words(opening: str) -> None:
    closing = {"(": ")", "[": "]", "CASE WHEN ": " THEN 1 END", "NOT ": "", "CAST(": " AS INT)"}
    end = closing.get(opening, closing.get(opening[-1], ")"))
    with pytest.raises(SqlWrong, match="nested more than 32 levels deep"):
        read_expression(opening * 1000 + "a" + end * 1000)


def test_thirty_brackets_are_not_too_deep() -> None:
    for opening, closing in [("struct(", ")"), ("CASE WHEN ", " THEN 1 END"), ("xs[", "]"), ("CAST(", " AS INT)")]:
        text = opening * 30 + "a" + closing * 30
        assert read_value(text).columns[-1].name in ("a", "xs")


def test_a_long_chain_is_read() -> None:
    assert len(read_value(" + ".join(["a"] * 5000)).columns) == 5000


def test_a_text_above_64_kb_is_refused() -> None:
    assert read_value(f"a = '{'x' * 65_000}'").text.startswith("a = ")
    with pytest.raises(SqlWrong, match="may hold 64 KB; this one holds 976 KB"):
        read_value(f"a = '{'x' * 1_000_000}'")
