"""What a SQL text says, as far as it can be known without Spark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ref:
    """A top-level column that an expression names: `a` of `a.b.c`, `a` of `rows.a`.

    Row and column count from 1, in the text that was read: for a piece of a query, in the whole query.
    """

    name: str
    row: int
    column: int
    field: str = ""
    """The field of it that is meant: `b` of `a.b.c`. Only Spark knows whether there is one."""


@dataclass(frozen=True)
class Expression:
    """One expression. Spark is handed `text`, exactly as the user wrote it."""

    text: str
    """The user's own words, alias included."""
    columns: tuple[Ref, ...] = ()
    """Every column that it names, in the order of the text."""
    maybe: tuple[str, ...] = ()
    """Words that are syntax, or columns if there are such: `year` in `extract(year FROM at)`, `current_date`."""
    name: str | None = None
    """Output name: the alias, or a plain reference's own name (`a`, and `b` of `a.b`); None for anything else."""
    alias: bool = False
    """Is `name` an alias (`... AS name`)?"""
    star: bool = False
    """Is it `*` or `rows.*`: all columns of the stage before?"""
    except_: tuple[str, ...] = ()
    """The columns that `* EXCEPT (a, b)` leaves out."""
    spread: bool = False
    """Is it `a.*`: the fields of a struct, whose names only Spark knows?"""
    functions: tuple[str, ...] = ()
    """Functions it calls, in lower case, without operators."""
    row: int = 1
    column: int = 1
    """Where `text` begins in the text that was read."""


@dataclass(frozen=True)
class Generator:
    """The one function of a query that turns a row into 0 to n rows."""

    function: str
    """`explode`, `posexplode` or `inline`, or its `_outer` form; in lower case."""
    argument: Expression
    names: tuple[str, ...] | None
    """Output columns; by default `col`, or `pos, col`; None for an `inline` without names: the struct's own fields."""
    named: bool
    """Did the user write the names? If not, `explode` of a map gives `key, value` whatever `names` says."""
    item: int | None
    """Index of the select item it stands in; None for a LATERAL VIEW."""
    outer: bool
    """Does a row without elements stay, with nulls: `explode_outer`, or LATERAL VIEW OUTER?"""
    table: str | None = None
    """Name of the LATERAL VIEW: `t` in `LATERAL VIEW explode(items) t AS item`."""
    row: int = 1
    column: int = 1


@dataclass(frozen=True)
class RowQuery:
    """`SELECT items FROM rows [LATERAL VIEW generator] [WHERE where]`."""

    text: str
    items: tuple[Expression, ...]
    where: Expression | None = None
    generator: Generator | None = None
    alias: str = "rows"
    """The name that the query gives its rows: `r` in `FROM rows AS r`, and then `r.amount` is a column."""
