"""Checks, queries and routes as stages of the worker: the verdicts that Spark's form of each stage gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import HEADERS, Mask, Rows, Verdict
from penstock.steps.compiled.ops import Op, Scope, Value, all_rows, mask_of
from penstock.steps.compiled.settle import with_verdicts
from penstock.worker.crossing import FLAGS, ROUTE


@dataclass(frozen=True)
class CompiledCheck:
    """One rule, and what becomes of a row for which it is not TRUE."""

    name: str
    rule: Op
    on_fail: str
    failed: str
    """What the dead letter says where the rule is not TRUE."""
    raised: str
    """What it says where the rule raised."""


@dataclass(frozen=True)
class CompiledChecks:
    """The first rule that is not TRUE decides; rules that only warn are counted."""

    checks: tuple[CompiledCheck, ...]
    stage: str

    def over(self, rows: Rows) -> Rows:
        scope, alive = Scope(rows), rows.good.copy()
        verdicts: list[Verdict] = []
        warnings: dict[str, Mask] = {}
        for check in self.checks:
            value = check.rule.of(scope)
            failed = alive & ~mask_of(all_rows(value.data, len(rows)))
            if value.raised is not None:
                raised = alive & value.raised
                verdicts += self._verdicts(raised, "step_failed", check.raised, "reject")
                alive, failed = alive & ~raised, failed & ~raised
            if check.on_fail == "warn":
                warnings[check.name] = failed
                continue
            if failed.any():
                verdicts += self._verdicts(failed, check.name, check.failed, check.on_fail)
                alive &= ~failed
        counts = {name: rows.count(mask & alive) for name, mask in warnings.items()}
        return with_verdicts(_warned(rows, counts), verdicts)

    def _verdicts(self, mask: Mask, code: str, detail: str, fate: str) -> Iterable[Verdict]:
        drop, stop = FLAGS[fate]
        return [Verdict(row, code, None, detail, self.stage, drop, stop) for row in np.flatnonzero(mask).tolist()]


def _warned(rows: Rows, counts: dict[str, int]) -> Rows:
    told = Counter(rows.warned)
    told.update({name: count for name, count in counts.items() if count})
    return replace(rows, warned=dict(told)) if told else rows


@dataclass(frozen=True)
class CompiledQuery:
    """A `select` or `sql` step: WHERE decides whether a row goes on, the items are its new columns."""

    name: str
    items: tuple[tuple[str, Op], ...]
    where: Op | None
    raised: str
    """What the dead letter says where the SQL raised."""

    def over(self, rows: Rows) -> Rows:
        scope, good = Scope(rows), rows.good
        kept, wrong = _asked(self.where, scope)
        values = [op.of(scope) for _, op in self.items]
        wrong = _also(wrong, kept, values) & good
        dropped = good & ~kept & ~wrong
        stage = f"step:{self.name}"
        verdicts = [Verdict(row, "step_failed", None, self.raised, stage) for row in np.flatnonzero(wrong).tolist()]
        verdicts += [Verdict(row, self.name, None, None, stage, True) for row in np.flatnonzero(dropped).tolist()]
        arrays = [all_rows(value.data, len(rows)) for value in values]
        fields = [pa.field(name, array.type) for (name, _), array in zip(self.items, arrays, strict=True)]
        data = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        return with_verdicts(replace(rows, data=data), verdicts)


@dataclass(frozen=True)
class CompiledRoute:
    """What one sink asks of each row."""

    where: Op | None
    key: Op | None
    topic: Op | None
    headers: tuple[tuple[str, Op], ...]

    def of(self, scope: Scope) -> pa.StructArray:
        count = len(scope)
        take, wrong = _asked(self.where, scope)
        key, topic = (None if op is None else op.of(scope) for op in (self.key, self.topic))
        headers = [(name, op.of(scope)) for name, op in self.headers]
        given = [value for value in (key, topic, *(value for _, value in headers)) if value is not None]
        wrong = _also(wrong, take, given)
        arrays = [
            pa.array(take),
            pa.nulls(count, pa.binary()) if key is None else all_rows(key.data, count),
            pa.nulls(count, pa.string()) if topic is None else all_rows(topic.data, count),
            _headers(headers, count),
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(ROUTE), mask=pa.array(wrong))


@dataclass(frozen=True)
class CompiledRoutes:
    """The expressions of every sink that has some."""

    routes: tuple[tuple[str, CompiledRoute], ...]

    def over(self, rows: Rows) -> Rows:
        scope = Scope(rows)
        return replace(rows, routes={name: route.of(scope) for name, route in self.routes})


def _asked(where: Op | None, scope: Scope) -> tuple[Mask, Mask]:
    """Where the condition is TRUE, and where it raised."""
    if where is None:
        return np.ones(len(scope), dtype=np.bool_), np.zeros(len(scope), dtype=np.bool_)
    value = where.of(scope)
    raised = np.zeros(len(scope), dtype=np.bool_) if value.raised is None else value.raised
    return mask_of(all_rows(value.data, len(scope))) & ~raised, np.broadcast_to(raised, len(scope))


def _also(wrong: Mask, kept: Mask, values: Iterable[Value]) -> Mask:
    """Rows on which the condition raised, or, where it keeps the row, any of the values."""
    for value in values:
        if value.raised is not None:
            wrong = wrong | (value.raised & kept)
    return wrong


def _headers(headers: list[tuple[str, Value]], count: int) -> pa.Array:
    """A list of all the headers for each row."""
    if not headers:
        return pa.nulls(count, HEADERS)
    width = len(headers)
    values = pa.concat_arrays([all_rows(value.data, count) for _, value in headers])
    by_row = np.arange(width * count).reshape(width, count).T.ravel()
    names = pa.array([name for name, _ in headers], pa.string()).take(pa.array(np.tile(np.arange(width), count)))
    pairs = pa.StructArray.from_arrays([names, values.take(pa.array(by_row))], fields=list(HEADERS.value_type))
    return pc.cast(pa.ListArray.from_arrays(pa.array(np.arange(count + 1) * width, pa.int32()), pairs), HEADERS)
