"""What has changed about a table since a batch was frozen for it, as far as it matters to the batch's files.

`changes` is for files that go into the table as they are; `obstacles` is for rows that Spark writes anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from penstock.sinks.delta import allow, demands
from penstock.sinks.delta.columns import difference, grown, widens
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.types import DeltaType


def changes(frozen: dict[str, Any], state: TableState) -> Iterator[str]:
    """Every reason, in words, why the frozen files must not be added to the table as it is now."""
    if state.id != frozen["table_id"]:
        yield f"it is another table now (id {state.id}, was {frozen['table_id']})"
        return
    if list(state.partition_by) != frozen["partition_by"]:
        was, now = (", ".join(names) or "nothing" for names in (frozen["partition_by"], state.partition_by))
        yield f"it is partitioned by {now}, was by {was}"
    for objection in allow.objections(state):
        yield f"it has {objection}"
    yield from _columns(frozen, state)


def obstacles(frozen: dict[str, Any], state: TableState) -> Iterator[str]:
    """Every reason why Spark cannot add the frozen rows to the table as it is now.

    Spark writes for the table as it finds it, so features, partitions and new nullable columns are none. Columns that
    are gone are: their values would be lost without a word.
    """
    if state.id != frozen["table_id"]:
        yield f"it is another table now (id {state.id}, was {frozen['table_id']})"
        return
    yield from (f"it has {what}" for what in demands.never(state))
    known = {field["name"]: field["type"] for field in state.fields}
    spelled = {name.lower() for name in known}
    new = {field["name"] for field in frozen["add_columns"]}
    for field in frozen["columns"]:
        name = field["name"]
        if name not in known and (name not in new or name.lower() in spelled):
            yield f"column `{name}` is gone" if name not in new else f"column `{name}` is spelled otherwise"
        elif name in known and not widens(field["type"], known[name]) and not _grows(known[name], field, new):
            yield f"column `{name}` is {difference(known[name], field['type'])}"
    written = {field["name"] for field in frozen["columns"]}
    for field in demands.without_filled(state).fields:
        if field["name"] not in written and not field["nullable"]:
            yield f"there is a column `{field['name']}` now that is NOT NULL"


def tightened(frozen: dict[str, Any], state: TableState) -> Iterator[str]:
    """What the table asks of its rows and did not ask when they were frozen."""
    before = frozen.get("demands", {})
    yield from (f"it has {what}" for what, text in demands.texts(state).items() if before.get(what) != text)
    known = {field["name"]: field for field in state.fields}
    for field in frozen["columns"]:
        if field["name"] in known and _stricter(known[field["name"]], field):
            yield f"column `{field['name']}` is NOT NULL now, or something in it is"


def _columns(frozen: dict[str, Any], state: TableState) -> Iterator[str]:
    known = {field["name"]: field for field in state.fields}
    spelled = {name.lower() for name in known}
    new = {field["name"] for field in frozen["add_columns"]}
    written = {field["name"] for field in frozen["columns"]}
    for field in frozen["columns"]:
        name = field["name"]
        if name in known and not _grows(known[name]["type"], field, new):
            yield from _column(known[name], field)
        elif name in known:
            continue
        elif name not in new:
            yield f"column `{name}` is gone"
        elif name.lower() in spelled:
            yield f"there is a column now that is spelled almost like the new `{name}`"
    for name, field in known.items():
        if name not in written and not field["nullable"]:
            yield f"there is a column `{name}` now that is NOT NULL"


def _grows(table: DeltaType, written: dict[str, Any], new: Collection[str]) -> bool:
    """Is this a column that the batch is to give more fields inside, or a wider type, and does that still go?"""
    kind = written["type"]
    found = difference(table, kind) is not None and written["name"] in new
    return found and (grown(table, kind) is not None or widens(table, kind))


def _column(table: dict[str, Any], written: dict[str, Any]) -> Iterator[str]:
    found = difference(table["type"], written["type"])
    if found:
        yield f"column `{table['name']}` is {found}"
    elif _stricter(table, written):
        yield f"column `{table['name']}` is NOT NULL now, or something in it is"


def _stricter(table: dict[str, Any], written: dict[str, Any]) -> bool:
    """May something be null in the files that may not be null in the table?"""
    return (written["nullable"] and not table["nullable"]) or _stricter_inside(table["type"], written["type"])


def _stricter_inside(table: DeltaType, written: DeltaType) -> bool:
    if isinstance(table, str) or isinstance(written, str):
        return False
    if table["type"] == "struct":
        mine = {field["name"]: field for field in written["fields"]}
        return any(_stricter(field, mine[field["name"]]) for field in table["fields"])
    part, null = ("elementType", "containsNull") if table["type"] == "array" else ("valueType", "valueContainsNull")
    return (written[null] and not table[null]) or _stricter_inside(table[part], written[part])
