"""A heavy step is spread over tasks: the same rows come out, and more than one task wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Step
from penstock.errors import StepRefused
from penstock.testing.batches import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = [b'{"id": %d, "name": "n"}' % number for number in range(300)]


def written(spark: SparkSession, folder: Path, **step: Any) -> tuple[list[tuple[Any, ...]], int]:
    bench = Bench(spark, folder, sections={"steps": (Step(**step),)})
    bench.write([*VALUES, b"oops"])
    assert [row[0] for row in bench.dead("code")] == ["invalid_json"]
    return bench.names(), len(list(bench.table.glob("**/*.parquet")))


@pytest.mark.parametrize(
    "step",
    [
        {"select": ("*", "reverse(name) AS back")},
        {"sql": "SELECT *, explode(sequence(1, 2)) AS n FROM rows"},
    ],
    ids=["select", "explode"],
)
def test_a_spread_step_gives_the_same_rows(spark: SparkSession, tmp_path: Path, step: dict[str, Any]) -> None:
    plain, _ = written(spark, tmp_path / "plain", **step)
    spread, files = written(spark, tmp_path / "spread", **step, tasks=3)
    assert spread == plain
    assert files == 3


def test_a_function_over_dataframes_spreads_its_rows_itself(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "framed.py").write_text(
        "from pyspark.sql import DataFrame\n\n\ndef same(rows: DataFrame) -> DataFrame:\n    return rows\n"
    )
    bench = Bench(spark, tmp_path, sections={"steps": (Step(python="framed:same", tasks=3),)})
    with pytest.raises(StepRefused, match=r"repartition\(8\)"):
        bench.plan()
