"""The same expressions over the same rows, compiled and by Spark's stage: what differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.rows import SOURCE, TIME, Rows
from penstock.steps.attempt import attempt
from penstock.steps.compiled.compile import Compiler
from penstock.steps.compiled.ops import NotCompiled, Scope, all_rows
from penstock.steps.compiled.tree import trees
from penstock.steps.frame import LIVE, Frame
from penstock.worker.crossing import to_form

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RAISED = "raised"


@dataclass
class Judged:
    """How the two compare."""

    compiled: int = 0
    left: dict[str, str] = field(default_factory=dict)
    """Expression -> why it was left to Spark."""
    wrong: list[str] = field(default_factory=list)
    """Every expression that gave something else, with the first row on which it did."""
    raised: int = 0
    """Values that raised, in both."""
    values: int = 0


class Bench:
    """Rows in a Parquet file, so that Spark works as it does on rows that come from a worker: by generated code."""

    def __init__(self, spark: SparkSession, data: pa.RecordBatch, folder: Path) -> None:
        count = data.num_rows
        times = [datetime(2026, 11, 1, tzinfo=UTC)] * count
        source = {
            "key": [b"k"] * count, "value": [b"v"] * count, "topic": ["t"] * count, "partition": [0] * count,
            "offset": [*range(count)], "timestamp": times, "timestamp_type": [0] * count, "headers": [None] * count,
            "schema_id": [7] * count,
        }  # fmt: skip
        self.rows = Rows(pa.RecordBatch.from_pydict(source, schema=SOURCE), data)
        pq.write_table(pa.Table.from_batches([to_form(self.rows)]), folder / "rows.parquet")
        self.frame = Frame(spark.read.parquet(str(folder)).coalesce(1), tuple(data.schema.names))

    def judge(self, texts: Sequence[str]) -> Judged:
        from pyspark.sql import functions as F  # noqa: N812

        judged, ours = Judged(), {}
        for text, (node, written) in zip(
            texts, trees(self.frame.scope(), [F.expr(text) for text in texts]), strict=True
        ):
            try:
                ours[text] = Compiler(self.rows.data.schema).root(node, written)
            except NotCompiled as error:
                judged.left[text] = str(error)
        judged.compiled = len(ours)
        theirs = self._by_spark([*ours])
        for number, (text, op) in enumerate(ours.items()):
            found, expected = self._compiled(op), theirs[number]
            judged.values += len(expected)
            judged.raised += expected.count(RAISED)
            judged.wrong += _difference(text, found, expected, self.rows.data)
        return judged

    def _compiled(self, op: Any) -> list[Any]:
        value = op.of(Scope(self.rows))
        data = all_rows(value.data, len(self.rows))
        assert data.type == op.type, f"{op} gave {data.type}"
        data.validate(full=data.type != pa.string())  # CAST(bytes AS STRING) need be no text
        raised = np.zeros(len(self.rows), dtype=np.bool_) if value.raised is None else value.raised
        assert op.raises or not raised.any(), f"{op} raised, and said that it never does"
        return [RAISED if bad else _plain(each) for each, bad in zip(_list(data), raised, strict=True)]

    def _by_spark(self, texts: Sequence[str]) -> list[list[Any]]:
        from pyspark.sql import functions as F  # noqa: N812

        made = [
            F.when(F.expr(LIVE), attempt(F.struct(F.expr(text).alias("v")))).alias(f"c{number}")
            for number, text in enumerate(texts)
        ]
        parts = [F.col(f"c{number}.v").alias(f"v{number}") for number in range(len(texts))]
        parts += [F.col(f"c{number}").isNull().alias(f"r{number}") for number in range(len(texts))]
        table = self.frame.scope().select(*made).select(*parts).toArrow()
        return [
            [
                RAISED if bad else _plain(each)
                for each, bad in zip(_list(table[f"v{number}"]), table[f"r{number}"].to_pylist(), strict=True)
            ]
            for number in range(len(texts))
        ]


SHOWN_AS = {pa.date32(): pa.int32(), TIME: pa.int64(), pa.string(): pa.binary()}
"""Python knows no year 10000, and no text that is none."""


def _list(data: Any) -> list[Any]:
    return list(data.cast(SHOWN_AS.get(data.type, data.type)).to_pylist())


def _plain(value: Any) -> Any:
    """Told apart: NaN from nothing, -0.0 from 0.0, 1 from TRUE."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    return repr(value)


def _difference(text: str, found: list[Any], expected: list[Any], data: pa.RecordBatch) -> list[str]:
    for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours != theirs:
            return [f"{text}: {ours}, and Spark gives {theirs}, of {data.slice(row, 1).to_pylist()[0]}"]
    return []
