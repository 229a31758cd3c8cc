"""Spark's own analysed expressions, as values: names resolved, types settled, every implicit cast written out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


PACKAGE = "org.apache.spark.sql.catalyst.expressions."


@dataclass(frozen=True)
class Node:
    """One node of the tree."""

    kind: str
    """The name of Spark's class; in full where it is none of its usual package."""
    fields: Mapping[str, Any]
    """Its parameters, as far as Spark writes them as JSON."""
    children: tuple[Node, ...]
    handle: Callable[[], Any]
    """Gives Spark's node itself."""

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for two nodes that mean the same."""
        own = (self.fields.get(name) for name in ("name", "value", "dataType", "ordinal"))
        return self.kind, json.dumps([*own]), *(child.key for child in self.children)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def trees(scope: DataFrame, values: Sequence[Column]) -> list[tuple[Node, str]]:
    """The trees of these expressions over the rows, each with its text as Spark would write it."""
    from pyspark.sql import functions as F  # noqa: N812

    struct = F.struct(*(value.alias(f"c{number}") for number, value in enumerate(values)))
    frame: Any = scope.select(struct.alias("made"))
    root = frame._jdf.queryExecution().analyzed().expressions().head()
    [made] = _node(iter(json.loads(root.toJSON())), lambda: root).children
    return [(value, str(value.handle().sql())) for value in made.children[1::2]]


def _node(flat: Iterator[Mapping[str, Any]], handle: Callable[[], Any]) -> Node:
    """The next node of the list, which holds the tree from the root down, each node before its children."""
    fields = next(flat)
    children = tuple(_node(flat, _child(handle, index)) for index in range(fields["num-children"]))
    return Node(fields["class"].removeprefix(PACKAGE), fields, children, handle)


def _child(parent: Callable[[], Any], index: int) -> Callable[[], Any]:
    return lambda: parent().children().apply(index)
