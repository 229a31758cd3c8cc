"""The logs of a Structured Streaming checkpoint, as values: of ours and of any other job's, whatever its sources.

    offsets/N    v1, a line of settings, then a line for each source: where batch N ends. v2 names each source
    commits/N    v1 to v3, and what the batch left for the next: batch N is done
    metadata     the id of the query

Nothing is written. What cannot be read is said in words, by a `Damaged` error: half a file, other bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.ranges import Positions, positions_from_spark

SourceKind = Literal["kafka", "files", "delta", "none", "other"]


class Damaged(ValueError):
    """A file of a log that does not hold what Spark writes; the text says what it holds."""


@dataclass(frozen=True)
class SourceEnd:
    """Where one source of a batch ends."""

    name: str
    """The number of the source in the plan, or its name."""
    kind: SourceKind
    positions: Positions = field(default_factory=dict)
    """Of a Kafka source: the next offset of each partition."""
    text: str = ""
    """As Spark wrote it."""


@dataclass(frozen=True)
class Planned:
    """A batch of the offset log."""

    batch_id: int
    version: str
    planned_at: float | None
    """When Spark planned it, in seconds since 1970."""
    watermark_ms: int | None
    settings: dict[str, str]
    """Spark settings that the checkpoint has frozen."""
    sources: tuple[SourceEnd, ...]

    @property
    def positions(self) -> Positions:
        """Over all Kafka sources. Where two read the same partition, the one that is behind counts."""
        made: Positions = {}
        for source in self.sources:
            for part, at in source.positions.items():
                made[part] = min(at, made.get(part, at))
        return made


def planned(batch_id: int, body: bytes) -> Planned:
    """The offset log of a batch."""
    version, lines = _lines(body)
    if len(lines) < 2:
        raise Damaged(f"it ends after line {len(lines) + 1}")
    about = _settings(lines[0])
    named = version not in ("v1",)
    return Planned(
        batch_id=batch_id,
        version=version,
        planned_at=None if not about.get("batchTimestampMs") else about["batchTimestampMs"] / 1000,
        watermark_ms=about.get("batchWatermarkMs"),
        settings={str(key): str(value) for key, value in (about.get("conf") or {}).items()},
        sources=tuple(_source(str(place), line, named=named) for place, line in enumerate(lines[1:])),
    )


def committed(body: bytes) -> dict[str, Any]:
    """What a commit says; it is enough that it is there and whole."""
    _, lines = _lines(body)
    return _settings(lines[0]) if lines and lines[0] else {}


def initial(body: bytes) -> Positions:
    """Where a Kafka source began, as it wrote it down: a zero byte, `v1`, a line of JSON."""
    text = body.decode(errors="replace").lstrip("\0")
    version, _, rest = text.partition("\n")
    if not version.startswith("v"):
        raise Damaged("it does not begin with a version")
    return _kafka(rest)


def query_id(body: bytes) -> str:
    """The id in `metadata`. Delta knows the batches of the query by it."""
    try:
        return str(json.loads(body)["id"])
    except (ValueError, KeyError, TypeError):
        raise Damaged("it holds no id") from None


def _lines(body: bytes) -> tuple[str, list[str]]:
    if not body.strip(b"\0\n "):
        raise Damaged("it is empty" if not body else f"it holds {len(body)} bytes and no text")
    lines = body.decode(errors="replace").rstrip("\n").split("\n")
    if not re.fullmatch(r"v\d+", lines[0]):
        raise Damaged("it does not begin with a version")
    return lines[0], lines[1:]


def _settings(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        raise Damaged("a line of it is no whole JSON") from None
    if not isinstance(found, dict):
        raise Damaged("a line of it is no JSON object")
    return found


def _source(place: str, line: str, *, named: bool) -> SourceEnd:
    if named and (match := re.match(r"([^:{\"]+):(.*)$", line, re.DOTALL)):
        place, line = match[1], match[2]
    if line.strip() in ("-", ""):
        return SourceEnd(place, "none")
    try:
        found = json.loads(line)
    except ValueError:
        raise Damaged("a source's line of it is no whole JSON") from None
    kind = _kind(found)
    return SourceEnd(place, kind, _kafka(line) if kind == "kafka" else {}, line)


def _kind(found: Any) -> SourceKind:
    if not isinstance(found, dict) or not found:
        return "other"
    if all(isinstance(parts, dict) and _all_numbers(parts) for parts in found.values()):
        return "kafka"
    if set(found) == {"logOffset"}:
        return "files"
    return "delta" if "reservoirVersion" in found else "other"


def _all_numbers(parts: dict[str, Any]) -> bool:
    return bool(parts) and all(part.isdecimal() and isinstance(at, int) for part, at in parts.items())


def _kafka(text: str) -> Positions:
    try:
        return positions_from_spark(text)
    except (ValueError, AttributeError, TypeError):
        raise Damaged("it does not hold Kafka offsets") from None
