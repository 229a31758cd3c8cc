"""Each sink's own expressions, in Spark, in front of the write: which rows it takes, their key, topic and headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.errors import StepRefused
from penstock.steps.attempt import attempt
from penstock.steps.frame import LIVE, Frame, column
from penstock.worker.crossing import ROUTE_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import Column

HEADERS_TYPE = "ARRAY<STRUCT<key: STRING, value: BINARY>>"


@dataclass(frozen=True)
class Route:
    """What one sink asks of each row."""

    where: str | None = None
    key: str | None = None
    topic: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    binary: frozenset[str] = frozenset()
    """Those of its expressions that give BINARY, which is taken as it is. Learned before the first batch."""

    def __bool__(self) -> bool:
        return bool(self.where or self.key or self.topic or self.headers)


def routed(frame: Frame, routes: Mapping[str, Route]) -> Frame:
    """The rows with one more column for each of these sinks."""
    from pyspark.sql import functions as F  # noqa: N812

    scope = frame.scope()
    made = [F.when(F.expr(LIVE), attempt(_struct(route))).alias(ROUTE_PREFIX + name) for name, route in routes.items()]
    return Frame(scope.select(*map(column, frame.rows.columns), *made), frame.columns)


def _struct(route: Route) -> Column:
    """Does the sink take the row; and if so, its key, topic and headers."""
    from pyspark.sql import functions as F  # noqa: N812

    take = F.lit(True) if route.where is None else F.coalesce(F.expr(route.where), F.lit(False))
    key = F.lit(None) if route.key is None else as_bytes(route, route.key)
    topic = F.lit(None) if route.topic is None else F.expr(route.topic)
    headers = [
        F.struct(F.lit(name).alias("key"), as_bytes(route, text).alias("value")) for name, text in route.headers.items()
    ]
    listed = F.array(*headers).cast(HEADERS_TYPE)
    values = {"key": key.cast("binary"), "topic": topic.cast("string"), "headers": listed}
    if route.where is not None:  # headers of a sink that has none stay empty: NULL would be slow, see crossing.FORM
        values |= {name: F.when(take, value) for name, value in values.items() if headers or name != "headers"}
    return F.struct(take.alias("take"), *(value.alias(name) for name, value in values.items()))


def as_bytes(route: Route, text: str) -> Column:
    """The expression's value: BINARY as it is, anything else as its text."""
    from pyspark.sql import functions as F  # noqa: N812

    value = F.expr(text)
    return value if text in route.binary else value.cast("string").cast("binary")


def learned(route: Route, type_of: Callable[[str], str]) -> Route:
    """The route, knowing which of its expressions give BINARY. Refuses one that gives no single value."""
    texts = {"kafka.key": route.key, **{f"kafka.headers.{name}": text for name, text in route.headers.items()}}
    kinds = {where: type_of(text).partition("<")[0] for where, text in texts.items() if text is not None}
    for where, kind in kinds.items():
        if kind in ("array", "map", "struct"):
            raise StepRefused(
                f"{where}: `{texts[where]}` is of type {kind}; it must be one value.",
                data="Nothing was written.",
                remedy="Take a field of it, or turn it into text:  to_json(...)",
            )
    return replace(route, binary=frozenset(str(texts[where]) for where, kind in kinds.items() if kind == "binary"))
