"""The corpus of JSON records as it is read: every case, and those that can share a decoder."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.formats.json import Json
from penstock.options import Size

FILE = Path(__file__).parent.parent / "corpus" / "json.jsonl"


@dataclasses.dataclass(frozen=True)
class Case:
    """One record: its schema and options, its bytes, and what must become of it."""

    schema: str
    value: bytes | None
    code: str | None = None
    field: str | None = None
    drop: bool = False
    good: dict[str, Any] | None = None
    length: int | None = None
    """For a text too long to write down: only its length is expected."""
    unknown: dict[str, int] = dataclasses.field(default_factory=dict)
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        start = "null" if self.value is None else self.value[:60].decode("utf-8", "replace")
        return f"{start} -> {self.code or 'good'}"

    def format(self) -> Json:
        size = {"max_bytes": Size(self.options["max_bytes"])} if "max_bytes" in self.options else {}
        return Json(schema=self.schema, **{**self.options, **size})


def read_case(raw: dict[str, Any]) -> Case:
    """A line of the corpus; `value` is text, or parts with how often each is repeated."""
    text = raw.pop("value", None)
    if isinstance(text, list):
        text = "".join(part * times for part, times in text)
    value = base64.b64decode(raw.pop("base64")) if "base64" in raw else text
    return Case(value=value.encode() if isinstance(value, str) else value, **raw)


CASES = [read_case(json.loads(line)) for line in FILE.read_text("utf-8").splitlines()]


def groups() -> list[Any]:
    """The cases by schema and options: those that can share a decoder."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        found.setdefault(f"{case.schema} {case.options}", []).append(case)
    return [pytest.param(group, id=name) for name, group in found.items()]
