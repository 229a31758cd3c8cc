"""What a table asks of its rows beyond types: conditions that the writer must hold, columns that Spark fills in.

Spark enforces all of it at the commit, where one bad row costs its whole batch, again and again. So each demand is
either judged in the task, where a row that breaks it is rejected by itself, or the table is refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.errors import SinkRefused
from penstock.sinks.delta.conditions import Condition, TooComplex, at_most, read
from penstock.sinks.delta.ready import FORGETS
from penstock.sinks.delta.state import TableState

GENERATED, IDENTITY, DEFAULT = "delta.generationExpression", "delta.identity.start", "CURRENT_DEFAULT"
EXPLICIT, INVARIANTS, BOUNDED = "delta.identity.allowExplicitInsert", "delta.invariants", "__CHAR_VARCHAR_TYPE_STRING"
CONSTRAINT = "delta.constraints."
ELSEWHERE = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")
"""Features under which commits need not be in the table's own log."""


def check(state: TableState, columns: pa.Schema, sink: str) -> tuple[Condition, ...]:
    """Every condition that the writer has to hold. Refuses what can be held neither by it nor by Spark."""
    found: list[Condition] = []
    against = [*never(state), *_filled(state, columns)]
    for what, text, field in _stated(state):
        if field is not None and field not in columns.names:
            continue  # it will be null, and a null is never too long
        try:
            found.append(Condition(what, _tree(text, field, columns), field))
        except TooComplex as error:
            against.append(f"{what}, which only Spark can judge: {error}")
    if against:
        raise SinkRefused(
            f"sink {sink}: table {state.table} has {'; '.join(against)}.",
            data="penstock wrote nothing to it: a row that breaks this would stop its whole batch at the commit.",
            remedy="Change the table, drop the column in a step, or say the same in `checks` and write to a table "
            "without it.",
        )
    return tuple(found)


def never(state: TableState) -> Iterator[str]:
    """What stands against writing the table, whoever writes it."""
    if FORGETS in state.configuration:
        value = state.configuration[FORGETS]
        yield f"`{FORGETS} = {value}` (it forgets which batches were committed, so that they could land twice)"
    for feature in (name for name in state.features if name in ELSEWHERE):
        yield f"the table feature `{feature}` (its commits may stand outside of its log)"


def texts(state: TableState) -> dict[str, str]:
    """Every demand on rows by name, as the table states it: tells whether one is new since a batch was frozen."""
    return {what: text for what, text, _ in _stated(state)}


def without_filled(state: TableState) -> TableState:
    """The same table as far as a batch must bring its columns: those that Spark fills in may be missing."""
    fields = tuple({**field, "nullable": True} if _fills(field) else field for field in state.fields)
    return replace(state, fields=fields)


def _fills(field: dict[str, Any]) -> bool:
    return not {GENERATED, IDENTITY, DEFAULT}.isdisjoint(field.get("metadata") or {})


def _stated(state: TableState) -> Iterator[tuple[str, str, str | None]]:
    """Each demand: in words, as text, and the column it is about."""
    for name, text in sorted(state.configuration.items()):
        if name.startswith(CONSTRAINT):
            yield f"the CHECK constraint `{name.removeprefix(CONSTRAINT)}` ({text})", text, None
    for field in state.fields:
        marks = field.get("metadata") or {}
        if BOUNDED in marks:
            yield f"{marks[BOUNDED].upper()} (`{field['name']}`)", marks[BOUNDED], field["name"]
        if INVARIANTS in marks:
            text = json.loads(marks[INVARIANTS])["expression"]["expression"]
            yield f"the invariant ({text}) of column `{field['name']}`", text, None


def _tree(text: str, field: str | None, columns: pa.Schema) -> tuple[Any, ...]:
    if field is None:
        return read(text, columns)
    bounded = re.fullmatch(r"(?:var)?char\((\d+)\)", text)
    if bounded is None:
        raise TooComplex("it stands inside another type")
    return at_most(field, int(bounded[1]))


def _filled(state: TableState, columns: pa.Schema) -> Iterator[str]:
    """Columns that Spark fills in, and that the batch must not bring, or that may come out NULL where none may."""
    for field in state.fields:
        marks, given = field.get("metadata") or {}, field["name"] in columns.names
        if GENERATED in marks and given:
            yield f"the generated column `{field['name']}`, which the batch brings as well"
        elif GENERATED in marks and not field["nullable"]:
            yield f"the generated column `{field['name']}`, which is NOT NULL"
        elif IDENTITY in marks and given and not marks.get(EXPLICIT):
            yield f"the identity column `{field['name']}`, which the batch brings as well"
