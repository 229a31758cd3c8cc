"""The allow-list on tables that no Spark of today makes: what is not known is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.sinks.delta.allow import objections
from penstock.sinks.delta.state import TableState


def table(**changed: Any) -> TableState:
    plain: dict[str, Any] = {
        "table": "lake/orders", "id": "1", "version": 3, "reader": 1, "writer": 2, "features": (),
        "configuration": {}, "partition_by": (), "fields": (),
    }  # fmt: skip
    return TableState(**{**plain, **changed})


def column(metadata: dict[str, Any], kind: Any = "string") -> dict[str, Any]:
    return {"name": "c", "type": kind, "nullable": True, "metadata": metadata}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"reader": 4, "writer": 8}, "the protocol version (4, 8)"),
        ({"reader": 3, "writer": 7, "features": ("teleport",)}, "the table feature `teleport`"),
        ({"configuration": {"delta.enableTeleport": "true"}}, "the property `delta.enableTeleport = true`"),
        ({"configuration": {"delta.columnMapping.mode": "id"}}, "column mapping"),
        ({"fields": (column({"delta.teleport": 1}),)}, "the mark `delta.teleport` on the column `c`"),
        ({"fields": (column({"delta.invariants": "{}"}),)}, "an invariant (a condition on a column) (`c`)"),
        ({"fields": (column({"__COLLATIONS": {}}),)}, "a collation (`c`)"),
        (
            {"fields": (column({}, {"type": "array", "elementType": {"type": "struct", "fields": [
                column({"delta.generationExpression": "1"})]}, "containsNull": True}),)},
            "a generated column (`c.c`)",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_to_be_right_is_named(changed: dict[str, Any], says: str) -> None:
    assert objections(table(**changed)) == [says]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"reader": 2, "writer": 5, "configuration": {"delta.columnMapping.mode": "none"}},
        {"writer": 7, "features": ("appendOnly", "checkConstraints", "generatedColumns", "invariants")},
        {"configuration": {"delta.enableTeleport": "false", "delta.enableChangeDataFeed": "true", "owner": "me"}},
        {"configuration": {"delta.randomizeFilePrefixes": "true", "delta.logRetentionDuration": "interval 1 day"}},
        {"fields": (column({"comment": "a remark"}),)},
    ],
)
def test_what_plain_appends_cannot_violate_is_taken(changed: dict[str, Any]) -> None:
    assert objections(table(**changed)) == []
