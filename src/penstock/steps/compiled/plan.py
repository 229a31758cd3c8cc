"""The stages of a pipeline as compiled ones, as far as they can be: made before the first batch, with Spark's help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.sql.values import RowQuery
from penstock.stages import Check
from penstock.steps.checks import STAGE, failed, raised
from penstock.steps.compiled.compile import compiled
from penstock.steps.compiled.ops import NotCompiled, Op
from penstock.steps.compiled.stages import CompiledCheck, CompiledChecks, CompiledQuery, CompiledRoute, CompiledRoutes
from penstock.steps.compiled.types import is_plain
from penstock.steps.frame import Frame
from penstock.steps.queries import RAISED, columns_of
from penstock.steps.routes import Route, as_bytes

if TYPE_CHECKING:
    from pyspark.sql import Column


def compiled_checks(frame: Frame, columns: pa.Schema, checks: Sequence[Check]) -> CompiledChecks:
    """Raises NotCompiled, as all of these do, with the first expression that is Spark's."""
    from pyspark.sql import functions as F  # noqa: N812

    rules = compiled(frame.scope(), [(check.rule, F.expr(check.rule)) for check in checks], columns)
    for check, rule in zip(checks, rules, strict=True):
        _as_learned(check.rule, rule, pa.bool_())
    made = (
        CompiledCheck(check.name, rule, check.on_fail, failed(check), raised(check))
        for check, rule in zip(checks, rules, strict=True)
    )
    return CompiledChecks(tuple(made), STAGE)


def compiled_query(frame: Frame, columns: pa.Schema, query: RowQuery, step: str, made: pa.Schema) -> CompiledQuery:
    """`made`: the columns behind the step, as Spark's analysis has them."""
    from pyspark.sql import functions as F  # noqa: N812

    if query.generator is not None:
        raise NotCompiled(f"`{query.generator.function}`: it makes rows")
    texts = {item.name: item.text for item in query.items}
    named = columns_of(frame, query.items, query.alias)
    asked = [(texts.get(name, name), value) for name, value in named]
    where = [] if query.where is None else [(query.where.text, F.expr(query.where.text))]
    ops = compiled(frame.scope(query.alias), [*asked, *where], columns)
    items = tuple((name, op) for (name, _), op in zip(named, ops[: len(named)], strict=True))
    for name, op in items:
        _as_learned(texts.get(name, name), op, made.field(name).type)
    return CompiledQuery(step, items, ops[-1] if where else None, RAISED)


def _as_learned(text: str, op: Op, kind: pa.DataType) -> None:
    """The second lock: what is worked out here must be of the type that Spark says."""
    if is_plain(op.type) != is_plain(kind) or (is_plain(kind) and op.type != kind) or pa.types.is_null(kind):
        raise NotCompiled(f"`{text}`: Spark makes it {kind}")


def compiled_routes(frame: Frame, columns: pa.Schema, routes: Mapping[str, Route]) -> CompiledRoutes:
    asked = [each for route in routes.values() for each in _asked(route)]
    ready = compiled(frame.scope(), [(text, value) for text, value, _ in asked], columns)
    for (text, _, kind), op in zip(asked, ready, strict=True):
        _as_learned(text, op, kind)
    ops, made = iter(ready), []
    for name, route in routes.items():
        where, key, topic = (None if text is None else next(ops) for text in (route.where, route.key, route.topic))
        headers = tuple((header, next(ops)) for header in route.headers)
        made.append((name, CompiledRoute(where, key, topic, headers)))
    return CompiledRoutes(tuple(made))


def _asked(route: Route) -> list[tuple[str, Column, pa.DataType]]:
    """Its expressions in the order `where`, `key`, `topic`, headers: text, expression, type."""
    from pyspark.sql import functions as F  # noqa: N812

    found = []
    if route.where is not None:
        found.append((route.where, F.expr(route.where), pa.bool_()))
    if route.key is not None:
        found.append((route.key, as_bytes(route, route.key).cast("binary"), pa.binary()))
    if route.topic is not None:
        found.append((route.topic, F.expr(route.topic).cast("string"), pa.string()))
    return [*found, *((text, as_bytes(route, text).cast("binary"), pa.binary()) for text in route.headers.values())]
