"""What is unread of a topic, as values: what a look into it found, and how long the topic keeps it."""

from __future__ import annotations

from dataclasses import dataclass

Part = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True)
class Probe:
    """What was found by reading one partition from a position on."""

    position: int
    first: int | None = None
    """Offset of the first record; None: up to `upto` there is none."""
    timestamp: float | None = None
    """When that record says it was written, in seconds since 1970."""
    counted: int = 0
    """Records from `position` up to `upto`."""
    upto: int = 0
    bytes: int = 0
    """Of the records that were counted: their keys and values."""


@dataclass(frozen=True)
class Retention:
    """How long, or up to which size, a topic keeps records. None: no such limit."""

    seconds: float | None = None
    bytes: int | None = None
    segment_bytes: int | None = None
    compacted: bool = False
    """Whether records are compacted: offsets may be empty."""
