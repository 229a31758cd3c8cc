"""The proof of a proposal: the sample goes through the real decoder, and what it says is counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.authoring.evidence import Path, pointer
from penstock.authoring.sample import Sample
from penstock.formats.contract import FormatOptions
from penstock.formats.types import Field, Type
from penstock.rows import Verdict


@dataclass(frozen=True)
class Outcome:
    """What became of the sample."""

    records: int
    good: int
    codes: dict[str, int]
    """Reject code -> records."""
    places: dict[str, list[str]]
    """Reject code -> where the first three stand."""
    fields: dict[Path, dict[str, int]]
    """Declared field -> reject code -> records that failed there."""

    @property
    def rejected(self) -> int:
        return self.records - self.good

    def as_data(self) -> dict[str, Any]:
        by_field = {pointer(path): codes for path, codes in self.fields.items()}
        return {"good": self.good, "rejected": self.codes, "places": self.places, "by_field": by_field}


def judge(sample: Sample, decode: FormatOptions) -> Outcome:
    """Decode the sample as a run would."""
    values = pa.array([record.value for record in sample.records], pa.binary())
    verdicts = decode.decoder().decode(values).verdicts
    places: dict[str, list[str]] = {}
    fields: dict[Path, dict[str, int]] = {}
    for verdict in verdicts:
        found = places.setdefault(verdict.code, [])
        if len(found) < 3:
            found.append(sample.records[verdict.row].place)
        if path := _declared(verdict, getattr(decode, "fields", ())):
            codes = fields.setdefault(path, {})
            codes[verdict.code] = codes.get(verdict.code, 0) + 1
    codes = Counter(verdict.code for verdict in verdicts)
    return Outcome(len(values), len(values) - len(verdicts), dict(codes.most_common()), places, fields)


def _declared(verdict: Verdict, fields: tuple[Field, ...]) -> Path:
    """The field at fault as the evidence names it, `*` for elements; () if the schema declares none there."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in (verdict.field or "").split("/")[1:]]
    inside: Type | None = Type("STRUCT", fields=fields)
    path: list[str] = []
    for part in parts:
        if inside is not None and inside.element is not None:
            path.append("*")
            inside = inside.element
            continue
        inside = next((each.type for each in inside.fields if each.name == part), None) if inside else None
        if inside is None:
            break
        path.append(part)
    return tuple(path)
