"""Columns, followed from stage to stage without a JVM."""

from __future__ import annotations

import pytest

from penstock.sql.expression import read_expression, read_value
from penstock.sql.query import read_query
from penstock.sql.scope import (
    UNKNOWN,
    Columns,
    after_query,
    after_select,
    check_columns,
    check_query,
    check_select,
    penstock_columns,
)

ORDERS = Columns(("order_id", "Amount", "items"))


def select(*texts: str, over: Columns = ORDERS) -> Columns:
    items = [read_expression(text) for text in texts]
    assert check_select(items, over) == []
    return after_select(items, over)


def sql(text: str, over: Columns = ORDERS) -> Columns:
    query = read_query(text)
    assert check_query(query, over) == []
    return after_query(query, over)


@pytest.mark.parametrize(
    ("items", "names"),
    [
        (["*"], ["order_id", "Amount", "items"]),
        (["*", "upper(order_id) AS x"], ["order_id", "Amount", "items", "x"]),
        (["* EXCEPT (AMOUNT)", "amount * 2 AS amount"], ["order_id", "items", "amount"]),
        (["rows.* EXCEPT (items)"], ["order_id", "Amount"]),
        (["AMOUNT", "items.sku"], ["AMOUNT", "sku"]),
        (["_offset AS offset", "current_date AS day"], ["offset", "day"]),
    ],
)
def test_a_select_gives_the_columns_it_names_in_order(items: list[str], names: list[str]) -> None:
    assert select(*items) == Columns(tuple(names))


@pytest.mark.parametrize(
    ("text", "names", "complete"),
    [
        ("SELECT *, 1 AS one FROM rows", ["order_id", "Amount", "items", "one"], True),
        ("SELECT explode(items) AS item, order_id FROM rows", ["item", "order_id"], True),
        ("SELECT *, posexplode(items) AS (i, item) FROM rows", ["order_id", "Amount", "items", "i", "item"], True),
        ("SELECT explode(items) FROM rows", ["col"], False),
        ("SELECT order_id, inline(items) FROM rows", ["order_id"], False),
        ("SELECT order_id, items.* FROM rows", ["order_id"], False),
        ("SELECT * FROM rows LATERAL VIEW explode(items) t AS x", ["order_id", "Amount", "items", "x"], True),
        ("SELECT x.sku FROM rows LATERAL VIEW explode(items) t AS x WHERE x.n > amount", ["sku"], True),
    ],
)
def test_a_query_gives_the_columns_it_names_in_order(text: str, names: list[str], complete: bool) -> None:
    assert sql(text) == Columns(tuple(names), complete)


def test_after_a_python_step_any_column_may_be_there_but_none_of_penstocks_more() -> None:
    assert check_columns(read_value("whatever > 0"), UNKNOWN) == []
    assert len(check_columns(read_value("_whatever > 0"), UNKNOWN)) == 1
    assert select("*", "x AS y", over=UNKNOWN) == Columns(("y",), complete=False)


@pytest.mark.parametrize("name", penstock_columns)
def test_penstocks_columns_are_there_for_every_expression(name: str) -> None:
    assert check_columns(read_value(f"{name} IS NOT NULL"), Columns()) == []
    assert name not in select("*")


def test_case_makes_no_difference_as_in_spark() -> None:
    assert check_columns(read_value("AMOUNT > 0 AND _TOPIC = 'a'"), ORDERS) == []
    assert "amount" in ORDERS
    assert "amounts" not in ORDERS


def test_a_column_may_be_called_as_a_function_that_needs_no_brackets() -> None:
    assert select("user", over=Columns(("user",))) == Columns(("user",))
    [(_, problem)] = check_select([read_expression("user")], ORDERS)
    assert problem.message == "this column needs a name."


def test_the_nearest_of_five_hundred_columns_is_named() -> None:
    wide = Columns(tuple(f"field_{n:03}_value" for n in range(500)))
    [problem] = check_columns(read_value("field_123_valve > 0"), wide)
    assert problem.remedy == "Did you mean  field_123_value?"
    [problem] = check_columns(read_value("other > 0"), wide)
    assert problem.remedy.endswith("field_011_value and 488 more.")
