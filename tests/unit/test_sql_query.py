"""The SELECT of a `sql` step: its pieces are cut from the user's own text."""

from __future__ import annotations

import pytest

from penstock.sql.query import RowQuery, SqlWrong, read_query
from penstock.testing.sql_texts import QUERIES


@pytest.mark.parametrize("text", QUERIES)
def test_the_pieces_of_a_query_are_cut_from_its_text(text: str) -> None:
    items, where, argument = QUERIES[text]
    query = read_query(text)
    assert [item.text for item in query.items] == items
    assert (query.where and query.where.text) == where
    assert (query.generator and query.generator.argument.text) == argument
    assert query.text == text


@pytest.mark.parametrize("text", QUERIES)
def test_a_column_is_found_at_its_place_in_the_whole_query(text: str) -> None:
    query, lines = read_query(text), text.split("\n")
    for piece in (*query.items, *filter(None, [query.where])):
        assert text[at(text, piece.row, piece.column) :].startswith(piece.text)
        for ref in piece.columns:
            assert lines[ref.row - 1][ref.column - 1 :].startswith(ref.name)


def at(text: str, row: int, column: int) -> int:
    return sum(len(line) + 1 for line in text.split("\n")[: row - 1]) + column - 1


@pytest.mark.parametrize(
    ("text", "function", "names", "named", "item", "outer"),
    [
        ("SELECT a, explode(xs) AS x FROM rows", "explode", ("x",), True, 1, False),
        ("SELECT EXPLODE(xs) x, a FROM rows", "explode", ("x",), True, 0, False),
        ("SELECT explode(xs) FROM rows", "explode", ("col",), False, 0, False),
        ("SELECT explode_outer(m) AS (k, v) FROM rows", "explode_outer", ("k", "v"), True, 0, True),
        ("SELECT posexplode(xs) FROM rows", "posexplode", ("pos", "col"), False, 0, False),
        ("SELECT inline(xs) FROM rows", "inline", None, False, 0, False),
        ("SELECT inline_outer(xs) AS (a, b) FROM rows", "inline_outer", ("a", "b"), True, 0, True),
        ("SELECT * FROM rows LATERAL VIEW explode(xs) t AS x", "explode", ("x",), True, None, False),
        ("SELECT * FROM rows LATERAL VIEW OUTER explode(xs) t AS k, v", "explode", ("k", "v"), True, None, True),
        ("SELECT * FROM rows LATERAL VIEW posexplode(xs) t", "posexplode", ("pos", "col"), False, None, False),
    ],
)
def test_a_query_may_hold_one_generator(
    text: str, function: str, names: tuple[str, ...] | None, named: bool, item: int | None, outer: bool
) -> None:
    found = read_query(text).generator
    assert found is not None
    assert (found.function, found.names, found.named, found.item, found.outer) == (function, names, named, item, outer)
    assert found.table == ("t" if item is None else None)


def test_names_of_the_rows_and_of_a_lateral_view_are_no_columns() -> None:
    query = read_query("SELECT r.a, t.x.y FROM rows r LATERAL VIEW explode(r.xs) t AS x WHERE r.b AND t.x.z")
    assert query.alias == "r"
    assert [ref.name for item in query.items for ref in item.columns] == ["a", "x"]
    assert query.where is not None
    assert [ref.name for ref in query.where.columns] == ["b", "x"]
    assert query.generator is not None
    assert [ref.name for ref in query.generator.argument.columns] == ["xs"]


def test_five_hundred_columns_are_read() -> None:
    names = [f"c{n}" for n in range(500)]
    query: RowQuery = read_query(f"SELECT {', '.join(f'upper({name}) AS {name}' for name in names)} FROM rows")
    assert [item.name for item in query.items] == names


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM rows -- \\\n JOIN other",
        "SELECT 'a\\' AS a, reflect('x') AS b FROM rows -- '",
        "SELECT `a\\` AS x, reflect('b') AS `c` FROM rows",
        "SELECT r'\\' AS a, reflect('x') AS b FROM rows -- '",
        "SELECT a /* /* */ , reflect('x') AS b */ FROM rows, other",
        "SELECT /*+ REPARTITION(3) */ a FROM rows",
        "SELECT {# a #} reflect('x') AS b FROM rows",
        "SELECT $$a$$ AS b FROM rows",
        "SELECT identifier('ref' || 'lect')('x') AS a FROM rows",
        "SELECT system.builtin.`reflect`('x') AS a FROM rows",
        "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM rows",
        "SELECT a FROM rows WHERE a IN (TABLE other)",
        "SELECT a FROM rows WHERE a IN (FROM other)",
        "SELECT a FROM rows WHERE a = (VALUES 1)",
        "SELECT a FROM rows WHERE EXISTS (WITH x AS (SELECT 1) SELECT * FROM x)",
        "MAP a USING 'cat' FROM rows",
    ],
)
def test_no_spelling_leads_past_the_guard(text: str) -> None:
    with pytest.raises(SqlWrong):
        read_query(text)
