"""What sqlglot's tree of one expression says about columns and names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from penstock.sql.functions import WITHOUT_BRACKETS
from penstock.sql.reading import Reading
from penstock.sql.words import TYPED, Word, in_types

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Tree

REFUSED = ("Query", "Subquery", "Table", "Window", "Placeholder", "Parameter", "Command", "Hint", "DDL", "DML")
"""Kinds of sqlglot's nodes that no expression holds. The words were looked at before: this is the second lock."""


@dataclass
class Found:
    columns: list[tuple[str, int, str]] = field(default_factory=list)
    """Name, where it begins, and the field of it that is meant."""
    maybe: tuple[str, ...] = ()
    name: str | None = None
    alias: Word | None = None
    star: bool = False
    except_: tuple[str, ...] = ()
    spread: bool = False


def look(reading: Reading, given: Sequence[Word], tree: Tree, qualifiers: frozenset[str]) -> Found:
    """Columns in the order of the text, and the output's name."""
    from sqlglot import expressions as e

    _second_lock(reading, given, tree)
    found, whole = Found(), tree
    if isinstance(tree, e.Alias | e.Aliases):
        _alias(found, tree, {word.start: word for word in given})
        tree = tree.this
    else:
        found.name = _own_name(tree)
    if isinstance(tree, e.Star) or (isinstance(tree, e.Column) and isinstance(tree.this, e.Star)):
        _star(reading, given, found, tree, qualifiers)
    _columns(found, tree, qualifiers)
    found.maybe = _maybe(given, whole, found)
    return found


def _second_lock(reading: Reading, given: Sequence[Word], tree: Tree) -> None:
    from sqlglot import expressions as e

    kinds = tuple(getattr(e, name) for name in REFUSED)
    for node in tree.walk():
        if isinstance(node, kinds):
            reading.stop(given[0].start, "holds more than an expression.", "Write one expression over the columns.")


def _alias(found: Found, tree: Tree, by_start: dict[int, Word]) -> None:
    names = tree.args.get("expressions") or [tree.args["alias"]]
    word = by_start.get(names[0].meta.get("start", -1))
    found.alias = word or next(iter(by_start.values()))
    found.name = names[0].name if len(names) == 1 else None


def _own_name(tree: Tree) -> str | None:
    """`a` of the reference `a`, `c` of `a.b.c`; nothing for anything else."""
    from sqlglot import expressions as e

    last: Any = tree.expression if isinstance(tree, e.Dot) else tree.this if isinstance(tree, e.Column) else None
    while isinstance(tree, e.Dot) and isinstance(tree.expression, e.Identifier):
        tree = tree.this
    return str(last.name) if isinstance(tree, e.Column) and isinstance(last, e.Identifier) else None


def _star(reading: Reading, given: Sequence[Word], found: Found, tree: Tree, qualifiers: frozenset[str]) -> None:
    from sqlglot import expressions as e

    star: Any = tree if isinstance(tree, e.Star) else tree.this
    owners = [part.name.lower() for part in tree.parts[:-1]] if isinstance(tree, e.Column) else []
    found.name, found.star = None, not owners or (len(owners) == 1 and owners[0] in qualifiers)
    found.spread = not found.star
    if star.args.get("replace") or star.args.get("rename"):
        reading.stop(given[0].start, "`*` takes EXCEPT only.", "Write  * EXCEPT (a), f(a) AS a")
    left_out = star.args.get("except_") or []
    if any(not isinstance(each, e.Column) or len(each.parts) > 1 for each in left_out):
        reading.stop(given[0].start, "EXCEPT takes columns, not fields of them.", "Write  * EXCEPT (a, b)")
    found.except_ = tuple(each.name for each in left_out)


def _columns(found: Found, tree: Tree, qualifiers: frozenset[str]) -> None:
    from sqlglot import expressions as e

    seen, variables = {}, _in_lambdas(tree)
    for column in tree.find_all(e.Column):
        parts = [part for part in column.parts if isinstance(part, e.Identifier)]
        if column.parent and isinstance(column.parent, e.Dot):
            parts += _fields(column)
        if not parts or id(column) in variables:
            continue
        first = 1 if len(parts) > 1 and parts[0].name.lower() in qualifiers else 0
        if found.star and parts[0].name.lower() in qualifiers and len(parts) == 1 and isinstance(column.this, e.Star):
            continue
        inside = str(parts[first + 1].name) if len(parts) > first + 1 else ""
        seen[parts[first].meta.get("start", 0)] = (str(parts[first].name), inside)
    found.columns = [(name, at, inside) for at, (name, inside) in sorted(seen.items())]


def _fields(column: Any) -> Iterator[Any]:
    """Identifiers after the fourth part: sqlglot hangs those above the column."""
    from sqlglot import expressions as e

    node = column.parent
    while isinstance(node, e.Dot) and isinstance(node.expression, e.Identifier):
        yield node.expression
        node = node.parent


def _in_lambdas(tree: Tree) -> set[int]:
    """Columns (by id) that are variables of a lambda function around them. Spark takes their names in any case."""
    from sqlglot import expressions as e

    inside = set()
    for each in tree.find_all(e.Lambda):
        names = {name.name.lower() for name in each.expressions}
        inside |= {id(column) for column in each.find_all(e.Column) if column.parts[0].name.lower() in names}
    return inside


def _maybe(given: Sequence[Word], tree: Tree, found: Found) -> tuple[str, ...]:
    """Words that the tree does not have as names: units, types. And functions that need no brackets."""
    from sqlglot import expressions as e

    known = {node.meta.get("start") for node in tree.find_all(e.Identifier)}
    types = in_types(given)
    words = [word for word, typed in zip(given, types, strict=True) if word.is_name and word.says and not typed]
    known |= {a.start for a, b in pairwise(given) if b.says == "(" or _typed(a, b)}
    bare = [name for name, _, inside in found.columns if name.lower() in WITHOUT_BRACKETS and not inside]
    found.columns = [each for each in found.columns if each[2] or each[0].lower() not in WITHOUT_BRACKETS]
    return tuple(dict.fromkeys([*(word.called for word in words if word.start not in known), *bare]))


def _typed(word: Word, after: Word) -> bool:
    return word.says in TYPED and after.kind == "text"
