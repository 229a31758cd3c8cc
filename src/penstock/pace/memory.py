"""What the governor has learned, kept over restarts. Never a reason to fail: what is lost is learned again."""

from __future__ import annotations

import json
import math
from pathlib import Path

from penstock import files
from penstock.pace.law import Learned

FORMAT = 1


def path_in(state: Path) -> Path:
    return state / "progress" / "pace.json"


def recall(path: Path) -> Learned | None:
    """What an earlier run left, if it makes sense."""
    try:
        body = json.loads(path.read_bytes())
        known = Learned(limit=int(body["limit"]), rate=float(body["rate"]), fixed=float(body["fixed"]))
        whole = body["format"] == FORMAT and known.limit > 0 and _positive(known.rate) and 0 <= known.fixed < math.inf
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return None
    return known if whole else None


def remember(path: Path, known: Learned) -> None:
    """Leave it for the next run; a disk that does not take it is no matter."""
    if known.rate is None:
        return
    body = {"format": FORMAT, "limit": known.limit, "rate": round(known.rate, 3), "fixed": round(known.fixed, 4)}
    try:
        files.replace(path, files.to_json(body))
    except OSError:
        return


def _positive(rate: float | None) -> bool:
    return rate is not None and 0 < rate < math.inf
