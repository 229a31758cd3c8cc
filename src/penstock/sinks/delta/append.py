"""What a commit of ours says: lines of JSON, as Spark and delta-rs write them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from penstock.sinks.contract import FrozenFile, WriteKey
from penstock.version import __version__

ENGINE = f"penstock/{__version__}"


def commit(key: WriteKey, told: str, partition_by: Sequence[str], files: Sequence[FrozenFile], rows: int) -> bytes:
    """A commit that adds these files under this key. It reads nothing of the table: a blind append."""
    now = time.time_ns() // 1_000_000
    lines = [_info(now, told, partition_by, files, rows), _transaction(key, now), *(_add(file, now) for file in files)]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _info(now: int, told: str, partition_by: Sequence[str], files: Sequence[FrozenFile], rows: int) -> dict[str, Any]:
    return {
        "commitInfo": {
            "timestamp": now,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append", "partitionBy": json.dumps(list(partition_by))},
            "isBlindAppend": True,
            "operationMetrics": {
                "numFiles": str(len(files)),
                "numOutputRows": str(rows),
                "numOutputBytes": str(sum(file.size for file in files)),
            },
            "userMetadata": told,
            "engineInfo": ENGINE,
            "txnId": str(uuid.uuid4()),
        }
    }


def _transaction(key: WriteKey, now: int) -> dict[str, Any]:
    return {"txn": {"appId": key.app, "version": key.batch_id, "lastUpdated": now}}


def _add(file: FrozenFile, now: int) -> dict[str, Any]:
    added = {
        "path": quote(file.path),
        "partitionValues": file.partition_values,
        "size": file.size,
        "modificationTime": now,
        "dataChange": True,
    }
    return {"add": {**added, "stats": file.stats} if file.stats else added}
