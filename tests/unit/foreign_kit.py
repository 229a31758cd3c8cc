"""Checkpoints of jobs that penstock never ran, as Spark writes them: so many batches planned, so many committed."""

from __future__ import annotations

import json
import time
from pathlib import Path

ABOUT = {"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_000, "conf": {"spark.sql.shuffle.partitions": "200"}}
KAFKA = '{"orders":{"0":120,"1":80}}'


def offsets(*sources: str, version: str = "v1", at: float | None = None) -> str:
    about = {**ABOUT, "batchTimestampMs": int((at or time.time()) * 1000)}
    return "\n".join([version, json.dumps(about), *sources])


def checkpoint(
    folder: Path, planned: int, committed: int, *sources: str, first: int = 0, at: float | None = None
) -> Path:
    for name in ("offsets", "commits", "sources/0"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"7a0e3b6c-0000-4000-8000-000000000000"}')
    (folder / "sources/0/0").write_bytes(b'\0v1\n{"orders":{"0":5,"1":6}}')
    for number in range(first, planned + 1):
        (folder / f"offsets/{number}").write_text(offsets(*(sources or (KAFKA,)), at=at))
    for number in range(first, committed + 1):
        (folder / f"commits/{number}").write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder
