"""A session of the user's own: used as it is, unless it would break a promise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from penstock.engine.given import check_given
from penstock.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def having(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    before = spark.conf.get(key)
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, str(before))


def test_a_session_of_ours_is_taken(spark: SparkSession) -> None:
    check_given(spark, "orders")


@pytest.mark.parametrize(
    ("key", "value"), [("spark.sql.ansi.enabled", "false"), ("spark.sql.session.timeZone", "Europe/Berlin")]
)
def test_a_session_that_breaks_a_promise_is_refused_with_the_line_that_mends_it(
    spark: SparkSession, key: str, value: str
) -> None:
    with having(spark, key, value), pytest.raises(Refused) as caught:
        check_given(spark, "orders")
    assert f"{key} is {value}" in str(caught.value)
    assert f'spark.conf.set("{key}"' in str(caught.value)
    check_given(spark, "orders")
