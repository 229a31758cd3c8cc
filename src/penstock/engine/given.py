"""A session of the user's own is used as it is, unless a setting of it would break what penstock promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.rules import HARMLESS, WRONG_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
"""What must be said, because the default is not it, or may not be."""


def check_given(spark: SparkSession, pipeline: str) -> None:
    """Refuse a session in which a wrong cast is a silent NULL, times are not UTC, or work may be done twice."""
    found = []
    for key, why in WRONG_SPARK.items():
        value = spark.conf.get(key, NEEDED.get(key, ""))
        wanted = {said for name, said in HARMLESS if name == key}
        if value and value.lower() not in wanted | {"etc/utc"}:
            found.append(f"{key} is {value}: {why}")
    if found:
        change = "; ".join(f'spark.conf.set("{key}", "{value}")' for key, value in NEEDED.items())
        raise Refused(
            f"{pipeline}: the Spark session that it was given has settings that break a guarantee: {'; '.join(found)}.",
            data="Nothing was read or written.",
            remedy=f"Set what can be set in a running session ({change}), or let penstock make its own.",
        )
