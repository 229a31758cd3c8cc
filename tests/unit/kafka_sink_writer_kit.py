"""A topic as a target, and rows of a batch that go there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.rows import LINEAGE
from penstock.sinks.kafka.target import KafkaTarget

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def target(stage: Path, **given: Any) -> KafkaTarget:
    settings: dict[str, Any] = {"topic": "out", "value": "json", "key": False, "headers": False}
    settings |= {"limits": {"out": 1_000_000, "small": 500}, **given}
    return KafkaTarget(sink="alerts", pipeline="shop", stage=str(stage), **settings)


def rows(offsets: list[int], topic: str = "orders", partition: int = 0, **extra: Any) -> pa.RecordBatch:
    count = len(offsets)
    columns = {
        "id": pa.array(offsets, pa.int64()),
        "_topic": pa.array([topic] * count),
        "_partition": pa.array([partition] * count, pa.int32()),
        "_offset": pa.array(offsets, pa.int64()),
        "_timestamp": pa.array([NOW] * count, LINEAGE.field("_timestamp").type),
        **extra,
    }
    return pa.RecordBatch.from_pydict(columns)
