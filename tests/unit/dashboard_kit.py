"""What the tests of the dashboard's API share: a pipeline's file, a time, and what a browser would know already."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from penstock.pipeline import Pipeline
from penstock.spec import pipeline_from_text
from penstock.testing.dashboard import Dashboard

YAML = """
pipeline: orders
source: {kafka: {brokers: [localhost:9092], topics: [orders, returns]}}
decode: {json: {schema: "id BIGINT NOT NULL, amount DECIMAL(18,2)"}}
checks: [{name: positive_amount, rule: amount > 0}]
sinks: {lake: {delta: {table: ./lake/orders}}}
"""


def pipeline(folder: Path) -> Pipeline:
    return pipeline_from_text(YAML, file="orders.yaml", folder=folder)


def noon() -> float:
    """Yesterday: what was written around it is in the file of one day, whatever the time is now."""
    return time.time() // 86_400 * 86_400 - 43_200


def tags(board: Dashboard, path: str) -> Any:
    reply = board.ask(path)
    assert reply.status == 200
    return {"If-None-Match": reply.headers["etag"]}
