"""Which tables the worker's files may go into: an allow-list of ours, because a log takes more than is right.

What a plain append would get wrong, tried on real tables: rows of a column-mapped table read back as NULL; CHECK, NOT
NULL, generated columns and VARCHAR(n) are not enforced. So everything that is not known to be right is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import SinkRefused
from penstock.sinks.delta.state import TableState

MAX_READER, MAX_WRITER, IDENTITY_WRITER = 3, 7, 6
FEATURES = {"appendOnly", "invariants", "changeDataFeed", "timestampNtz"}
"""Right for plain appends: they add no change files, and NOT NULL is the writer's to enforce."""
UNUSED_FEATURES = {"checkConstraints", "generatedColumns"}
"""Right as long as no constraint and no column makes use of them; that is checked by themselves."""
SWITCHES = {"delta.enableChangeDataFeed", "delta.enableExpiredLogCleanup", "delta.enableFullRetentionCheck"}
MAPPED = "column mapping"
"""Every column of such a table bears its mark: it is named once."""
FIELD_MARKS = {
    "delta.generationExpression": "a generated column",
    "delta.invariants": "an invariant (a condition on a column)",
    "delta.identity": "an identity column",
    "delta.columnMapping": MAPPED,
    "delta.typeChanges": "type widening",
    "__CHAR_VARCHAR_TYPE_STRING": "a CHAR or VARCHAR column",
    "CURRENT_DEFAULT": "a column default",
    "EXISTS_DEFAULT": "a column default",
    "__COLLATIONS": "a collation",
}
LATER = "Spark's writer takes such tables: give it a session, or use another table."


def check(state: TableState, sink: str) -> None:
    """Refuse a table that our files would make wrong or unreadable, naming every feature at fault."""
    found = objections(state)
    if found:
        raise SinkRefused(
            f"sink {sink}: table {state.table} has {', '.join(found)}, which penstock's writer does not honour.",
            data="penstock wrote nothing to it.",
            remedy=LATER,
        )


def check_properties(properties: dict[str, str], table: str, sink: str) -> None:
    """The same for the properties of a table that is yet to be made."""
    found = of_properties(properties)
    if found:
        raise SinkRefused(
            f"sink {sink}: the properties for the new table {table} ask for {', '.join(found)}, "
            "which penstock's writer does not honour.",
            data="The table was not created.",
            remedy=f"Leave them out of  sinks.{sink}.delta.properties . {LATER}",
        )


def of_properties(properties: dict[str, str]) -> list[str]:
    """What stands against our writing a table that is made with these properties."""
    return list(_properties(properties))


def objections(state: TableState) -> list[str]:
    """What stands against writing this table, in words; empty if nothing does."""
    marks = (mark for field in state.fields for mark in _marks(field, field["name"]))
    found = [*_protocol(state), *marks, *_properties(state.configuration)]
    return list(dict.fromkeys(found))


def _protocol(state: TableState) -> Iterator[str]:
    if state.reader > MAX_READER or state.writer > MAX_WRITER:
        yield f"the protocol version ({state.reader}, {state.writer})"
    if state.writer == IDENTITY_WRITER:
        yield "the writer version 6 (identity columns)"
    for feature in state.features:
        if feature not in FEATURES | UNUSED_FEATURES:
            yield f"the table feature `{feature}`"


def _properties(configuration: dict[str, str]) -> Iterator[str]:
    for name, value in sorted(configuration.items()):
        switched_on = value.strip().lower() == "true"
        if name.startswith("delta.constraints."):
            yield f"the CHECK constraint `{name.removeprefix('delta.constraints.')}`"
        elif name == "delta.columnMapping.mode" and value.strip().lower() != "none":
            yield MAPPED
        elif name == "delta.setTransactionRetentionDuration":
            yield f"`{name} = {value}` (it forgets which batches were committed, so that they could land twice)"
        elif (
            (name.startswith("delta.enable") and switched_on and name not in SWITCHES)
            or (name.startswith("delta.feature.") and name.removeprefix("delta.feature.") not in FEATURES)
            or (name == "delta.checkpointPolicy" and value.strip().lower() != "classic")
            or name.startswith(("delta.universalFormat.", "delta.coordinatedCommits."))
        ):
            yield f"the property `{name} = {value}`"


def _marks(field: dict[str, Any], at: str) -> Iterator[str]:
    for key in field.get("metadata") or {}:
        for prefix, what in FIELD_MARKS.items():
            if key.startswith(prefix):
                yield what if what == MAPPED else f"{what} (`{at}`)"
                break
        else:
            if key.startswith("delta."):
                yield f"the mark `{key}` on the column `{at}`"
    yield from _nested_marks(field["type"], at)


def _nested_marks(kind: Any, at: str) -> Iterator[str]:
    if not isinstance(kind, dict):
        return
    for inner in kind.get("fields", ()):
        yield from _marks(inner, f"{at}.{inner['name']}")
    for part in ("elementType", "keyType", "valueType"):
        yield from _nested_marks(kind.get(part), at)
