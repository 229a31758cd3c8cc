"""SQL that is compiled gives what Spark's stage gives: the same values, nulls and raised rows.

The seeds are fixed. The slow run goes over tens of thousands of expressions.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.steps.compiled.case import asked_of_spark, by_spark
from penstock.testing.compiled_against_spark import Bench, Judged
from penstock.testing.hard_rows import hard_rows
from penstock.testing.sql_grammar import Grammar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_HAND = [
    "(b1 AND CAST(n1 AS INT) > 3)", "(n1 IS NULL OR CAST(n1 AS INT) > 3)", "i1 IN (1, NULL)", "i1 NOT IN (1, NULL)",
    "CASE WHEN i2 <> 0 THEN i1 / i2 ELSE 0 END", "i1 + 2147483647 - 1", "l1 * l2", "c1 * c2 > 100", "c1 + 1 > 0",
    "abs(i1)", "l1 DIV -1", "l1 % -1", "d1 = double('NaN')", "d1 > d2", "d1 <=> d2", "s1 < s2", "length(s1)",
    "upper(s1)", "lower(s1)", "upper(lower(s1))", "substring(s1, -2, 3)", "s1 LIKE '%\\n'", "s1 RLIKE '^a$'",
    "CAST(_key AS STRING)",
    "CAST(CAST(x1 AS STRING) AS BINARY)", "CAST(x1 AS STRING)", "decode(x1, 'UTF-8')", "date_trunc('quarter', t1)",
    "coalesce(i1 + 1, 0)", "nullif(i1, i2)", "a1 = '2020-01-01'", "t1 BETWEEN '2020-01-01' AND '2021-01-01'", "e1[1]",
    "_schema_id", "I1 > 0", "_OFFSET + 1", "a1 > to_date('2020-01-01')",
    "size(e1) > 1", "st.z.w IS NULL", "greatest(i1, i2, 0)", "CAST(t1 AS STRING)", "CAST(a1 AS STRING)",
]  # fmt: skip


def judged(spark: SparkSession, folder: Path, seed: int, count: int, depth: int) -> Judged:
    """So many expressions over 120 rows, all made from the seed."""
    luck = random.Random(seed)
    folder.mkdir(exist_ok=True)
    bench = Bench(spark, hard_rows(luck, 120), folder)
    grammar = Grammar(luck)
    return bench.judge([*dict.fromkeys(grammar.any(depth) for _ in range(count))])


def test_expressions_written_by_hand_are_compiled_and_agree(spark: SparkSession, tmp_path: Path) -> None:
    found = Bench(spark, hard_rows(random.Random(1), 400), tmp_path).judge(BY_HAND)
    assert found.wrong == []
    assert found.left == {}
    assert found.raised > 0


@pytest.mark.parametrize("seed", [11, 12])
def test_random_expressions_agree(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    found = judged(spark, tmp_path / "rows", seed, 150, 2)
    assert found.wrong == []
    assert found.compiled > 100
    assert found.raised > 100


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_tens_of_thousands_of_random_expressions_agree(spark: SparkSession, tmp_path: Path) -> None:
    compiled = 0
    for seed in range(1000, 1150):
        found = judged(spark, tmp_path / str(seed), seed, 250, 1 + seed % 3)
        assert found.wrong == [], f"seed {seed}"
        compiled += found.compiled
    assert compiled > 20_000


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("function", "shapes"),
    [("upper", ["{}"]), ("lower", ["{}", "aΣ{}", "aΣ{}a", "{}Σ", "a{}Σ", "Σ{}"])],
)
def test_every_code_point_changes_its_case_as_in_spark(spark: SparkSession, function: str, shapes: list[str]) -> None:
    every = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    change = asked_of_spark(function == "upper")
    for shape in shapes:
        for first in range(0, len(every), 60_000):
            texts = [shape.format(one) for one in every[first : first + 60_000]]
            assert change(pa.array(texts)).to_pylist() == by_spark(texts, function == "upper"), shape


LEFT_TO_SPARK = {
    "try_cast(n1 AS INT)": "NULL instead of an error",
    "hash(i1)": "`hash`",
    "rand() > 0.5": "`rand`",
    "current_date() > a1": "`current_date`",
    "c3 + c3 > 0": "rounded",
    "c1 / 3": "division of",
    "CAST(d1 AS INT)": "a cast of double",
    "s1 RLIKE '(?i)a'": "regular expression",
    "s1 RLIKE '\\\\s'": "regular expression",
    "s1 LIKE 'a/%' ESCAPE '/' OR s1 RLIKE 'a++'": "regular expression",
    "_headers IS NULL": "_headers",
    "_timestamp_type = 'CreateTime'": "_timestamp_type",
    "CAST(n1 AS INT) <=> CAST(n1 AS INT)": "with itself",
    "(b1 OR CAST(n1 AS INT) > 1) AND (b1 OR i1 > 1)": "leave out",
    "transform(e1, x -> x + 1)": "`transform`",
    "1 / 0 > i1": "on every row",
    "(l1 * 9223372036854775807) * (5L + 0)": "order",
    "0L * (9223372036854775807 * l2)": "order",
    "(n1 < 3) OR (TRUE OR b2)": "leave out",
    "(coalesce(i1, 0) IS NULL) AND n1 < 3": "leave out",
    "nvl2(h1 / i2, (FALSE OR b1), b1)": "leave out",
    "nvl2(abs(i1), left('abc', 2), 'ab')": "leave out",
    "nvl2(c2, - 0.0D, 0.0D)": "minus zero",
    "abs(0.001) == least(CAST(n1 AS TINYINT), 0)": "know the answer",
    "IF(CAST(n1 AS INT) NOT IN (0, NULL), 1, 2)": "IN over NULL",
    "IF(i1 NOT IN (0, NULL) AND CAST(n1 AS INT) > 1, 1, 2)": "leave out",
    "CAST(date_sub(a2, i2) AS TIMESTAMP) != '2020-01-01 00:00:00'": "a date as a time",
    "nullif(CASE WHEN FALSE THEN l1 END, _offset) DIV CAST(n1 AS BIGINT)": "leave out",
    "(l1 DIV NULL) % CAST(n1 AS BIGINT)": "leave out",
    "nvl2(FALSE, 1.25, c1) <=> CAST(n1 AS TINYINT)": "leave out",
    "s1 RLIKE '((a{50}){50}){50}'": "RE2",
}


def test_what_is_not_known_to_be_the_same_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    found = Bench(spark, hard_rows(random.Random(1), 1), tmp_path).judge([*LEFT_TO_SPARK])
    assert found.compiled == 0
    assert {text: why in found.left[text] for text, why in LEFT_TO_SPARK.items()} == dict.fromkeys(LEFT_TO_SPARK, True)
