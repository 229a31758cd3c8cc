"""Which columns a stage sees and which it gives, followed through a pipeline without a JVM."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.sql.functions import WITHOUT_BRACKETS
from penstock.sql.outputs import needs_name, outputs
from penstock.sql.problems import SqlProblem
from penstock.sql.values import Expression, Ref, RowQuery

penstock_columns = (
    "_topic", "_partition", "_offset", "_timestamp", "_timestamp_type", "_key", "_headers", "_schema_id",
)  # fmt: skip
"""Columns that every stage sees and none can make; they are not among `Columns.names`."""
INNER = {"data", "value", "meta", "reject", "payload", "record", "json"}
"""Names that people expect the decoded record under."""
SHOWN = 12


@dataclass(frozen=True)
class Columns:
    """The user's columns at one place of a pipeline, in order. As in Spark, a name's case makes no difference."""

    names: tuple[str, ...] = ()
    complete: bool = True
    """False where there may be more: after a Python step, or where only Spark knows the fields of a struct."""

    def __contains__(self, name: str) -> bool:
        return name.lower() in {each.lower() for each in self.names}

    def without(self, names: Sequence[str]) -> Columns:
        out = {name.lower() for name in names}
        return Columns(tuple(each for each in self.names if each.lower() not in out), self.complete)

    def plus(self, names: Sequence[str], complete: bool = True) -> Columns:
        return Columns((*self.names, *names), self.complete and complete)


UNKNOWN = Columns(complete=False)
"""After a Python step: its columns are learned when it is called."""


def check_columns(expression: Expression, columns: Columns, made: Collection[str] = ()) -> list[SqlProblem]:
    """The columns that the expression names and that are not there. `made`: names that its own step gives."""
    known = {name.lower() for name in (*columns.names, *penstock_columns)}
    missing = [ref for ref in expression.columns if ref.name.lower() not in known]
    told = [_missing(ref, columns, made) for ref in missing if columns.complete or ref.name.startswith("_")]
    kept = {name.lower() for name in expression.except_} & set(penstock_columns)
    return told + [_kept(ref) for ref in expression.columns if ref.name.lower() in kept]


def check_select(items: Sequence[Expression], columns: Columns) -> list[tuple[int, SqlProblem]]:
    """What is wrong with a `select` list over these columns: index of the item, and the problem in its text."""
    made = _made(items)
    told = [(index, each) for index, item in enumerate(items) for each in check_columns(item, columns, made)]
    told += outputs(items)
    told += _list(items, columns)
    if items and not told and after_select(items, columns) == Columns():
        told.append((0, _nothing(items[0])))
    return sorted(dict.fromkeys(told))


def check_query(query: RowQuery, columns: Columns) -> list[SqlProblem]:
    """What is wrong with a query over these columns."""
    made, inner = _made(query.items), _inner(query, columns)
    told = _view(query, columns)
    for piece in (*query.items, *([query.where] if query.where else [])):
        told += check_columns(piece, inner, made)
    told += [problem for _, problem in _list(query.items, inner)]
    if not told and after_query(query, columns) == Columns():
        told.append(_nothing(query.items[0]))
    return sorted(dict.fromkeys(told))


def after_select(items: Sequence[Expression], columns: Columns) -> Columns:
    """What the next stage sees after a `select` step."""
    given = Columns()
    for item in items:
        if item.star:
            rest = columns.without(item.except_)
            given = given.plus(rest.names, rest.complete)
        else:
            given = given.plus([item.name] if item.name else [], not item.spread)
    return given


def after_query(query: RowQuery, columns: Columns) -> Columns:
    """What the next stage sees after a `sql` step."""
    inner, generator, given = _inner(query, columns), query.generator, Columns()
    for index, item in enumerate(query.items):
        if generator and generator.item == index:
            given = given.plus(generator.names or (), generator.named)
        else:
            one = after_select([item], inner)
            given = given.plus(one.names, one.complete)
    return given


def _inner(query: RowQuery, columns: Columns) -> Columns:
    """What the items and the condition of a query see: its rows, and what a LATERAL VIEW adds."""
    view = query.generator
    if view is None or view.item is not None:
        return columns
    return columns.plus(view.names or (), view.named)


def _view(query: RowQuery, columns: Columns) -> list[SqlProblem]:
    view = query.generator
    if view is None or view.item is not None:
        return []
    told = check_columns(view.argument, columns)
    for name in view.names or ():
        if name in columns:
            message = f"the LATERAL VIEW makes a column `{name}`, and there is one already."
            told.append(SqlProblem(view.row, view.column, message, f"Give it another name:  AS {name}_2"))
    return told


def _made(items: Sequence[Expression]) -> set[str]:
    return {item.name.lower() for item in items if item.alias and item.name}


def _list(items: Sequence[Expression], columns: Columns) -> list[tuple[int, SqlProblem]]:
    """Items whose name `*` gives already, and functions without brackets that would be a column's name."""
    stars = [columns.without(item.except_) for item in items if item.star]
    told = []
    for index, item in enumerate(items):
        if item.star or not item.name:
            continue
        if any(item.name in star for star in stars):
            message = f"`*` gives a column `{item.name}` already."
            remedy = f"Leave that one out:  * EXCEPT ({quoted(item.name)})"
            told.append((index, SqlProblem(item.row, item.column, message, remedy)))
        if not item.alias and item.name.lower() in WITHOUT_BRACKETS and item.name not in columns and columns.complete:
            told.append((index, needs_name(item)))
    if len(stars) > 1:
        index = [at for at, item in enumerate(items) if item.star][1]
        message = "`*` stands for all columns, and once is enough."
        told.append((index, SqlProblem(items[index].row, items[index].column, message, "Take it out.")))
    return told


def _missing(ref: Ref, columns: Columns, made: Collection[str]) -> SqlProblem:
    message, remedy = f"there is no column `{ref.name}`.", _remedy(ref.name, columns)
    if ref.name.lower() in made:
        message, remedy = f"`{ref.name}` is made by this step itself.", "Use it in the next step, or repeat what it is."
    elif ref.name.startswith("_"):
        close = difflib.get_close_matches(ref.name.lower()[:100], penstock_columns, n=1, cutoff=0.6)
        remedy = f"Did you mean  {close[0]}?" if close else "Penstock's columns are " + ", ".join(penstock_columns)
    elif ref.name.lower() in INNER:
        message = f"there is no column `{ref.name}`: the decoded fields are top-level columns."
        meant = ref.field or next(iter(columns.names), "amount")
        remedy = f"Write  {quoted(meant)}, not {ref.name}.{quoted(meant)}"
    return SqlProblem(ref.row, ref.column, message, remedy)


def _remedy(name: str, columns: Columns) -> str:
    lower = {each.lower(): each for each in columns.names}
    close = difflib.get_close_matches(name.lower()[:100], lower, n=1, cutoff=0.6)
    if close:
        return f"Did you mean  {quoted(lower[close[0]])}?"
    more = f" and {len(columns.names) - SHOWN} more" if len(columns.names) > SHOWN else ""
    return f"There are {', '.join(columns.names[:SHOWN])}{more}." if columns.names else "There are only penstock's own."


def quoted(name: str) -> str:
    """The name as SQL takes it: in backticks where it must be."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else "`" + name.replace("`", "``") + "`"


def _kept(ref: Ref) -> SqlProblem:
    message = f"`{ref.name}` is penstock's, and passes every step."
    return SqlProblem(ref.row, ref.column, message, "Take it out of EXCEPT; a table gets its lineage only.")


def _nothing(item: Expression) -> SqlProblem:
    return SqlProblem(item.row, item.column, "this step leaves no column.", "Keep one at least.")
