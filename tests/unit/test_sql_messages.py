"""Every mistake that a SQL text can hold, and the words that tell of it.

`golden/sql/<what>.txt` holds each text and what a person is told.
After a change of the words:  UPDATE_GOLDEN=1 pytest tests/unit/test_sql_messages.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from penstock.sql.expression import read_expression, read_value
from penstock.sql.problems import SqlProblem, SqlWrong
from penstock.sql.query import read_query
from penstock.sql.scope import Columns, check_columns, check_query, check_select

GOLDEN = Path(__file__).parent / "golden" / "sql"
ORDERS = Columns(("order_id", "customer", "amount", "items", "größe"))
QUERIES = [
    "",
    "-- nothing",
    "a > 1",
    "DROP TABLE orders",
    "INSERT INTO rows VALUES (1)",
    "SET spark.sql.ansi.enabled = false",
    "FROM rows SELECT a",
    "(SELECT a FROM rows)",
    "WITH big AS (SELECT * FROM rows) SELECT * FROM big",
    "SELECT a FROM rows; DROP TABLE orders",
    "SELECT a",
    "SELECT FROM rows",
    "SELECT a, FROM rows",
    "SELECT a FROM",
    "SELECT a FROM rows WHERE",
    "SELECT a FROM orders",
    "SELECT a FROM sales.rows",
    "SELECT a FROM rows.a",
    "SELECT * FROM text.`/etc/hostname`",
    "SELECT * FROM range(10)",
    "SELECT * FROM (SELECT a FROM rows)",
    "SELECT DISTINCT a FROM rows",
    "SELECT ALL a FROM rows",
    "SELECT a, sum(b) AS b FROM rows GROUP BY a",
    "SELECT count(*) AS n FROM rows",
    "SELECT max(a) AS a, median(b) AS b FROM rows",
    "SELECT a FROM rows HAVING a > 1",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM rows",
    "SELECT a FROM rows JOIN customers USING (id)",
    "SELECT a FROM rows r LEFT JOIN customers c ON r.id = c.id",
    "SELECT a FROM rows, customers",
    "SELECT a FROM rows WHERE a IN (SELECT a FROM customers)",
    "SELECT (SELECT 1) AS a FROM rows",
    "SELECT a FROM rows WHERE a IN (TABLE customers)",
    "SELECT a FROM rows UNION ALL SELECT b FROM rows",
    "SELECT a FROM rows WHERE a > 0 EXCEPT SELECT b FROM rows",
    "SELECT a FROM rows ORDER BY a",
    "SELECT a FROM rows WHERE a > 1 SORT BY a",
    "SELECT a FROM rows CLUSTER BY a",
    "SELECT a FROM rows LIMIT 10",
    "SELECT a FROM rows WHERE a > 1 OFFSET 3",
    "SELECT a FROM rows TABLESAMPLE (10 PERCENT)",
    "SELECT a FROM rows PIVOT (sum(a) FOR b IN (1, 2))",
    "SELECT a FROM rows VERSION AS OF 3",
    "SELECT a FROM rows |> WHERE a > 1",
    "SELECT /*+ BROADCAST(rows) */ a FROM rows",
    "SELECT explode(xs) AS x, explode(ys) AS y FROM rows",
    "SELECT explode(xs) AS x FROM rows LATERAL VIEW explode(ys) t AS y",
    "SELECT size(explode(xs)) AS n FROM rows",
    "SELECT explode(xs) + 1 AS x FROM rows",
    "SELECT a FROM rows WHERE explode(xs) > 1",
    "SELECT explode() AS x FROM rows",
    "SELECT explode(xs, ys) AS x FROM rows",
    "SELECT json_tuple(a, 'b') FROM rows",
    "SELECT stack(2, 1, 2) FROM rows",
    "SELECT a FROM rows LATERAL VIEW json_tuple(a, 'b') t AS c",
    "SELECT a FROM rows LATERAL VIEW xs",
    "SELECT a + 1 FROM rows",
    "SELECT a,\n  upper(b)\nFROM rows",
    "SELECT a AS _a, b FROM rows",
    "SELECT _topic, a FROM rows",
    "SELECT explode(m) AS (k, _v) FROM rows",
    "SELECT explode(xs) AS _x FROM rows",
    "SELECT a FROM rows LATERAL VIEW explode(xs) t AS _x",
    "SELECT a, b.a FROM rows",
    "SELECT amount, upper(a) AS Amount FROM rows",
    "SELECT col, explode(xs) FROM rows",
    "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM rows",
    "SELECT a b c FROM rows",
]
EXPRESSIONS = [
    "SELECT a FROM rows",
    "a, b",
    "a;",
    "a +",
    "> 1",
    "a b c",
    "(a",
    "a)",
    "xs[1",
    "CASE WHEN a THEN 1",
    "'a",
    "`a",
    "a /* b",
    "a = ${env:LIMIT}",
    "a = '${var:limit}'",
    "a > :limit",
    "a > ?",
    "a = @x",
    "{{ a }}",
    "a # b",
    "größe > 1",
    "uper(a)",
    "frobnicate(a)",
    "reflect('java.lang.System', 'getenv', 'HOME')",
    "`java_method`('a', 'b')",
    "system.builtin.upper(a)",
    "identifier('upper')(a)",
    "input_file_name()",
    "monotonically_increasing_id()",
    "from_protobuf(a, 'M', '/etc/x')",
    "window(at, '10 minutes')",
    "explode(xs)",
    "range(3)",
    "sum(a) > 1",
    "every(a)",
    "lag(a) OVER w",
    "a LIKE ANY (b) || 'c'",
    "a = '\ud83d'",
    "EXISTS (SELECT 1)",
    "a AS _b",
    "* EXCEPT (a.b)",
    "(" * 40 + "a" + ")" * 40,
    "a = '" + "x" * 70_000 + "'",
    "a\x00b",
]
VALUES = ["amount > 0 AS ok", "*", "rows.*"]
SCOPES = [
    "SELECT amuont FROM rows",
    "SELECT upper(data.customer) AS c, value.x FROM rows",
    "SELECT *, amount * 2 AS amount FROM rows",
    "SELECT * EXCEPT (coupon, _key) FROM rows",
    "SELECT * EXCEPT (order_id, customer, amount, items, `größe`) FROM rows",
    "SELECT *, * FROM rows",
    "SELECT amount * 2 AS twice, twice * 2 AS four FROM rows WHERE twice > 1",
    "SELECT _tpoic AS topic FROM rows",
    "SELECT current_date FROM rows",
    "SELECT x FROM rows LATERAL VIEW explode(itemz) t AS item",
    "SELECT amount FROM rows LATERAL VIEW explode(items) t AS Amount",
    "SELECT groesse FROM rows WHERE zzz",
]


def told(text: str, problems: Iterable[SqlProblem]) -> str:
    shown = text if len(text) < 200 else text[:40] + "..."
    lines = [f"{row}:{column} {message}\n      {remedy}".rstrip() for row, column, message, remedy in problems]
    return "\n    ".join([shown.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0"), *lines])


def refused(read: Callable[[str], object], text: str) -> str:
    with pytest.raises(SqlWrong) as caught:
        read(text)
    return told(text, caught.value.problems)


def held_against(name: str, parts: list[str]) -> None:
    golden, text = GOLDEN / f"{name}.txt", "\n\n".join(parts) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_a_query_that_is_refused_is_told_why_in_these_words() -> None:
    held_against("queries", [refused(read_query, text) for text in QUERIES])


def test_an_expression_that_is_refused_is_told_why_in_these_words() -> None:
    values = [refused(read_value, text) for text in VALUES]
    held_against("expressions", [refused(read_expression, text) for text in EXPRESSIONS] + values)


def test_columns_that_are_not_there_are_told_in_these_words() -> None:
    parts = [told(text, check_query(read_query(text), ORDERS)) for text in SCOPES]
    assert all("\n" in part for part in parts)
    held_against("scopes", parts)


def test_a_select_list_is_told_of_by_item_in_these_words() -> None:
    texts = ["*", "amount + 1", "cusomer", "customer AS Customer", "_offset", "upper(customer) AS x", "lower(x) AS X"]
    problems = check_select([read_expression(text) for text in texts], ORDERS)
    parts = [told(text, [each for at, each in problems if at == index]) for index, text in enumerate(texts)]
    held_against("select", parts)


def test_a_column_of_a_condition_is_told_at_its_place() -> None:
    [problem] = check_columns(read_value("order_id > 0\n  AND amonut > 0"), ORDERS)
    assert problem == SqlProblem(2, 7, "there is no column `amonut`.", "Did you mean  amount?")
