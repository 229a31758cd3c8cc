"""A batch as a run tells that it is committed."""

from __future__ import annotations

from typing import Any

from penstock.observe.events import BatchCommitted


def batch(number: int, seconds: float = 1.0, **more: Any) -> BatchCommitted:
    told: dict[str, Any] = {
        "read": 100,
        "written": 98,
        "rejected": {"invalid_json": 2},
        "dropped": {},
        "phases": {"pass": seconds / 2, "tables": seconds / 4},
        "sinks": {"lake": {"version": number, "rows": 98}},
        "replayed": False,
        "files": 4,
        "bytes": 4000,
    }
    return BatchCommitted(pipeline="p", batch_id=number, seconds=seconds, **{**told, **more})
