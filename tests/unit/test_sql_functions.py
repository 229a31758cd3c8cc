"""The committed list of Spark's functions, and what is read without loading what."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import penstock
from penstock.sql.expression import SqlWrong, read_expression
from penstock.sql.functions import FORBIDDEN, GENERATORS, INSTEAD, WITHOUT_BRACKETS, nearest, sorts

SOURCE = Path(penstock.__file__).parent.parent


def test_every_function_has_its_sort() -> None:
    counts = Counter(sorts().values())
    assert set(counts) == {"scalar", "aggregate", "window", "generator", "table"}
    assert counts["scalar"] > 400
    assert counts["aggregate"] > 80
    assert {name for name, sort in sorts().items() if sort == "generator"} == {*GENERATORS, "json_tuple", "stack"}


def test_what_is_said_about_single_functions_is_said_of_functions_there_are() -> None:
    assert {*FORBIDDEN, *INSTEAD, *WITHOUT_BRACKETS} - set(sorts()) == {"identifier"}


@pytest.mark.parametrize(("name", "meant"), [("uper", "upper"), ("to_dat", "to_date"), ("explod", "explode")])
def test_the_function_that_was_meant_is_named(name: str, meant: str) -> None:
    assert nearest(name) == meant


def test_no_function_that_is_refused_is_proposed() -> None:
    assert nearest("refelct") != "reflect"
    assert nearest("qqqqqq") == ""


@pytest.mark.parametrize("sort", ["aggregate", "window", "generator", "table"])
def test_functions_of_the_wrong_sort_are_refused_each_and_every_one(sort: str) -> None:
    for name in (name for name, its in sorts().items() if its == sort):
        with pytest.raises(SqlWrong, match=name):
            read_expression(f"{name.upper()}(a)")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_way_out_of_the_row_is_refused_however_it_is_written(name: str) -> None:
    for text in (f"{name}(a)", f"`{name.upper()}` (a)", f"upper({name}/**/(a))", f"filter(xs, x -> {name}(x))"):
        with pytest.raises(SqlWrong, match=f"the function `{name}` is refused"):
            read_expression(text)


def test_sqlglot_is_loaded_when_a_text_is_read_and_pyspark_never() -> None:
    code = (
        "import sys, penstock.sql.scope, penstock.sql.query as query\n"
        "before = 'sqlglot' in sys.modules\n"
        "query.read_query('SELECT upper(a) AS a FROM rows')\n"
        "print(before, 'sqlglot' in sys.modules, 'pyspark' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["False", "True", "False"]
