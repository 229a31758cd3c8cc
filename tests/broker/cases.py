"""Small pipelines for the tests of this folder: one column `id`, values that count up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.dev.oracle import rows
from penstock.testing.harness import Case


def ids_case(folder: Path, bootstrap: str, topic: str | None = None, **settings: Any) -> Case:
    """A pipeline of `id BIGINT`; `source=` is laid over the Kafka section, the rest over the file."""
    source = {"brokers": [bootstrap], **({"topics": [topic]} if topic else {}), **settings.pop("source", {})}
    spec = {
        "pipeline": "p",
        "source": {"kafka": source},
        "decode": {"json": {"schema": "id BIGINT NOT NULL"}},
        "sinks": {"lake": {"delta": {"table": "./lake/t"}}},
        "trigger": "as_fast_as_possible",
        **settings,
    }
    return Case(folder, spec)


def values(start: int, end: int) -> list[bytes]:
    return [b'{"id": %d}' % number for number in range(start, end)]


def ids(case: Case) -> list[int]:
    """Every id in the table, sorted: a doubled row shows."""
    return sorted(row[0] for row in rows(case.table(), "id"))
