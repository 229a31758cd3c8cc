"""What was asked for: the names that the proposal does not infer."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """Names and places of the pipeline to be."""

    name: str
    brokers: tuple[str, ...]
    """Addresses; none is the embedded broker, `brokers: dev`."""
    topic: str
    table: str
    file: str


def pipeline_name(text: str) -> str:
    """A pipeline's name made of any text: `Shop.Orders` gives shop-orders."""
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_")[:63] or "pipeline"


def topic_name(text: str) -> str:
    """A topic's name made of any text."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:249] or "records"
