"""What is read without a JVM, held against Spark's own parser: the same texts, columns and functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from penstock.sql.expression import read_expression
from penstock.sql.functions import GRAMMAR, sorts
from penstock.sql.query import read_query
from penstock.testing.spark_functions import spark_functions
from penstock.testing.sql_texts import EXPRESSIONS, QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MADE_BY_OPERATORS = {"between", "concat", "ilike", "like", "rlike", "struct"}


@pytest.fixture(scope="module")
def parser(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().sqlParser()


def nodes(tree: Any, kind: str) -> Iterator[Any]:
    """Every node of this class in Spark's tree."""
    if tree.getClass().getSimpleName() == kind:
        yield tree
    children = tree.children()
    for index in range(children.size()):
        yield from nodes(children.apply(index), kind)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_spark_finds_the_same_columns_in_the_same_text(parser: Any, text: str) -> None:
    read = read_expression(text)
    columns = columns_of(parser.parseExpression(read.text))
    ours = {ref.name for ref in read.columns}
    assert ours <= columns <= ours | set(read.maybe)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_spark_finds_no_function_that_is_not_found_here(parser: Any, text: str) -> None:
    read = read_expression(text)
    functions = nodes(parser.parseExpression(read.text), "UnresolvedFunction")
    names = {list_of(node.nameParts())[-1].lower() for node in functions}
    words = {name for name in names if name.isidentifier()}
    assert words - set(read.functions) <= MADE_BY_OPERATORS


def columns_of(tree: Any) -> set[str]:
    """Top-level columns. Inside a lambda function Spark's parser takes every name for a variable, at first."""
    found = [*nodes(tree, "UnresolvedAttribute"), *nodes(tree, "UnresolvedNamedLambdaVariable")]
    parts = [list_of(node.nameParts()) for node in found]
    given = [each for node in nodes(tree, "LambdaFunction") for each in list_of(node.arguments())]
    variables = {list_of(each.nameParts())[0].lower() for each in given}
    heads = {each[1] if each[0] == "rows" and len(each) > 1 else each[0] for each in parts}
    return {name for name in heads if name.lower() not in variables}


@pytest.mark.parametrize("text", QUERIES)
def test_spark_takes_a_query_and_each_of_its_pieces(parser: Any, text: str) -> None:
    query = read_query(text)
    for item in query.items:
        parser.parseExpression(item.text)
    if query.where:
        parser.parseExpression(query.where.text)
    if query.generator:
        parser.parseExpression(query.generator.argument.text)
    [project] = nodes(parser.parsePlan(text.removesuffix(";")), "Project")
    assert project.projectList().size() == len(query.items)


def list_of(seq: Any) -> list[Any]:
    return [seq.apply(index) for index in range(seq.size())]


def test_the_committed_list_is_that_of_the_running_spark(spark: SparkSession) -> None:
    listed = {name: sort for name, sort in sorts().items() if name not in GRAMMAR}
    mend = "After a change of Spark's version:  .venv/bin/python scripts/spark_functions.py"
    assert listed == spark_functions(spark), mend
