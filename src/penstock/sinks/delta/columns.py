"""The data's columns against the table's: the same, a few more, or a reason to stop."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import SinkRefused
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.types import DeltaType, NoSuchType, delta_field, sql

Fields = Sequence[dict[str, Any]]
FORBIDDEN = set(" ,;{}()\n\t=")
"""Characters that Parquet files of a Delta table without column mapping cannot have in a column's name."""
CANNOT_PARTITION = {"binary"}
WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
"""Types that Delta's type widening turns a column of the one type into."""


def delta_fields(columns: pa.Schema, sink: str) -> list[dict[str, Any]]:
    """The columns as a table's log would write them. Refuses types and names that no table can have."""
    try:
        fields = [delta_field(field) for field in columns]
    except NoSuchType as error:
        raise _refused(
            sink, f"a column has the type {error}, which a Delta table does not know.", "Cast it."
        ) from error
    problems = [*_twice(fields), *_names(fields)]
    if problems:
        raise _refused(sink, " ".join(problems), "Rename the columns in the schema or in a step.")
    return fields


def missing_from(state: TableState, wanted: Fields, sink: str, *, widen: bool = False) -> list[dict[str, Any]]:
    """The columns that the table lacks, nullable; and those of its own whose structs have more fields in the batch.

    `widen`: also those whose type becomes a wider one. Refuses what the table cannot take.
    """
    problems = [*_spelled_otherwise(state.fields, wanted), *_typed_otherwise(state.fields, wanted, widen)]
    known, given = {field["name"] for field in state.fields}, {field["name"] for field in wanted}
    for field in state.fields:
        if field["name"] not in given and not field["nullable"]:
            problems.append(f"The table's column `{field['name']}` is NOT NULL, and the batch does not have it.")
    if problems:
        raise _refused(
            sink,
            f"the batch does not fit table {state.table}. {' '.join(problems)}",
            "Make the schema of the pipeline say what the table says, or write to another table.",
        )
    theirs = {field["name"]: field for field in state.fields}
    new = [{**field, "nullable": True} for field in wanted if field["name"] not in known]
    return [*new, *(grown for field in wanted if (grown := _grown_field(theirs.get(field["name"]), field)))]


def new_columns(
    state: TableState, wanted: Fields, schema: str, sink: str, *, widen: bool = False
) -> tuple[dict[str, Any], ...]:
    """The columns that the table is to gain; none may be new where the schema is fixed."""
    added = tuple(missing_from(state, wanted, sink, widen=widen))
    if added and schema == "fixed":
        names = ", ".join(f"`{field['name']}`" for field in added)
        raise _refused(
            sink,
            f"the batch has columns that table {state.table} does not: {names}.",
            f"Drop them in a step, or let the table grow:  sinks.{sink}.delta.schema: evolve",
        )
    return added


def same_partitioning(state: TableState, partition_by: Sequence[str], sink: str) -> None:
    """Refuse a table that is partitioned otherwise than the pipeline file says, if it says anything."""
    check_partitioning(state.fields, state.partition_by, sink)
    if partition_by and tuple(partition_by) != state.partition_by:
        is_now = f"by {', '.join(state.partition_by)}" if state.partition_by else "not at all"
        raise _refused(
            sink,
            f"partition_by is {', '.join(partition_by)}, but table {state.table} is partitioned {is_now}.",
            "Say what the table says, leave partition_by out, or write to another table.",
        )


def check_partitioning(state_or_new: Fields, partition_by: Sequence[str], sink: str) -> None:
    """Refuse partition columns that are not there or whose values have no text in the log."""
    types = {field["name"]: field["type"] for field in state_or_new}
    for name in partition_by:
        if name not in types:
            raise _refused(sink, f"partition_by names `{name}`, and there is no such column.", "Correct the name.")
        if isinstance(types[name], dict) or types[name] in CANNOT_PARTITION:
            raise _refused(
                sink, f"`{name}` is {sql(types[name])}: no table can be partitioned by it.", "Choose another."
            )
    if len(set(partition_by)) == len(types):
        raise _refused(sink, "every column is a partition column, so the files would be empty.", "Leave one out.")


def difference(table: DeltaType, data: DeltaType) -> str | None:
    """How two types differ, or None. The order of a struct's fields and what may be null do not count."""
    if isinstance(table, str) or isinstance(data, str) or table["type"] != data["type"]:
        return None if table == data else f"{sql(table)} in the table, {sql(data)} in the batch"
    if table["type"] == "struct":
        mine = {field["name"]: field["type"] for field in data["fields"]}
        theirs = {field["name"]: field["type"] for field in table["fields"]}
        if mine.keys() != theirs.keys():
            return f"{sql(table)} in the table, {sql(data)} in the batch"
        pairs = [(theirs[name], mine[name]) for name in theirs]
    else:
        pairs = [(table[part], data[part]) for part in ("elementType", "keyType", "valueType") if part in table]
    return next((found for pair in pairs if (found := difference(*pair))), None)


def grown(table: DeltaType, data: DeltaType) -> DeltaType | None:
    """The table's type with the fields that the data's structs have beside its own, nullable; None if it cannot be."""
    if isinstance(table, str) or isinstance(data, str) or table["type"] != data["type"]:
        return table if table == data else None
    if table["type"] != "struct":
        parts = [part for part in ("elementType", "keyType", "valueType") if part in table]
        made: dict[str, DeltaType | None] = {part: grown(table[part], data[part]) for part in parts}
        return None if None in made.values() else {**table, **made}
    theirs = {field["name"]: field for field in table["fields"]}
    mine = {field["name"]: field for field in data["fields"]}
    spelled = {name.lower() for name in theirs}
    kept = [
        {**field, "type": grown(field["type"], mine[name]["type"])} for name, field in theirs.items() if name in mine
    ]
    new = [{**field, "nullable": True} for name, field in mine.items() if name not in theirs]
    clash = len(kept) < len(theirs) or any(field["name"].lower() in spelled for field in new)
    return None if clash or any(field["type"] is None for field in kept) else {**table, "fields": [*kept, *new]}


def _grown_field(table: dict[str, Any] | None, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The table's column as it is to become, if its structs gain fields or its type becomes wider; None if it stays."""
    if table is None or difference(table["type"], wanted["type"]) is None:
        return None
    wider = wanted["type"] if widens(table["type"], wanted["type"]) else None
    return {**table, "type": wider or grown(table["type"], wanted["type"])}


def still_to_add(target: dict[str, Any], state: TableState) -> list[dict[str, Any]]:
    """The columns of a frozen target that the table lacks, or has with fewer fields inside."""
    known = {field["name"]: field["type"] for field in state.fields}
    return [
        field
        for field in target["add_columns"]
        if field["name"] not in known or difference(known[field["name"]], field["type"]) is not None
    ]


def widens(one: DeltaType, other: DeltaType) -> bool:
    """Does every value of the one type fit the other unchanged?"""
    if difference(other, one) is None:
        return True
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    return other in WIDER.get(one, ()) or _more_digits(one, other)


def _more_digits(one: str, other: str) -> bool:
    """Are both decimals of one scale, and has the other at least as many digits?"""
    both = [re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", each) for each in (one, other)]
    narrow, wide = both
    return narrow is not None and wide is not None and narrow[2] == wide[2] and int(narrow[1]) <= int(wide[1])


def _typed_otherwise(table: Fields, wanted: Fields, widen: bool) -> Iterator[str]:
    types = {field["name"]: field["type"] for field in table}
    for field in wanted:
        known = types.get(field["name"])
        fine = known is None or grown(known, field["type"]) or (widen and widens(known, field["type"]))
        found = None if known is None or fine else difference(known, field["type"])
        if found:
            yield f"Column `{field['name']}` is {found}."


def _spelled_otherwise(table: Fields, wanted: Fields) -> Iterator[str]:
    names = {field["name"].lower(): field["name"] for field in table}
    for field in wanted:
        name = names.get(field["name"].lower(), field["name"])
        if name != field["name"]:
            yield f"The table's column `{name}` is spelled `{field['name']}` in the batch."


def _twice(fields: Fields) -> Iterator[str]:
    seen: dict[str, str] = {}
    for field in fields:
        first = seen.setdefault(field["name"].lower(), field["name"])
        if first is not field["name"]:
            yield f"There are two columns `{first}` and `{field['name']}`; a table does not tell them apart."
        yield from _inside(field["type"], _twice)


def _names(fields: Fields) -> Iterator[str]:
    for field in fields:
        if not field["name"] or FORBIDDEN & set(field["name"]):
            yield f"The name {field['name']!r} is not possible: it is empty or has one of ` ,;{{}}()=` or a line break."
        yield from _inside(field["type"], _names)


def _inside(kind: DeltaType, look: Any) -> Iterator[str]:
    """The same look at the structs inside a type."""
    if isinstance(kind, dict):
        if "fields" in kind:
            yield from look(kind["fields"])
        for part in ("elementType", "keyType", "valueType"):
            yield from _inside(kind.get(part, ""), look)


def _refused(sink: str, what: str, remedy: str) -> SinkRefused:
    return SinkRefused(f"sink {sink}: {what}", data="This sink wrote nothing.", remedy=remedy)
