"""The sinks of an outline: who commits and why, the table as it is and as it will be, what is not guaranteed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.desk import DEAD_LETTERS
from penstock.errors import PenstockError
from penstock.rows import DEAD_LETTER
from penstock.sinks.delta import Delta
from penstock.sinks.delta.allow import objections
from penstock.sinks.delta.columns import delta_fields, missing_from
from penstock.sinks.delta.handle import Handle
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.target import with_lineage
from penstock.sinks.delta.types import delta_type, sql
from penstock.sinks.kafka import Topic

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline


@dataclass(frozen=True)
class SinkOutline:
    """One sink."""

    name: str
    kind: str
    target: str
    committer: str
    why: str
    where: str | None = None
    exists: bool | None = None
    """Is the table there? None where that is not asked."""
    columns: dict[str, str] = field(default_factory=dict)
    """As they will be: name -> type."""
    added: list[str] = field(default_factory=list)
    """Columns that an existing table gains."""
    problem: str = ""
    """Why the first batch would be refused."""
    not_guaranteed: list[str] = field(default_factory=list)


def sinks_of(pipeline: Pipeline, columns: pa.Schema) -> list[SinkOutline]:
    """Every sink in the order of a batch's commits: dead letters, tables, topics."""
    tables = {name: sink for name, sink in pipeline.sinks.items() if isinstance(sink.to, Delta)}
    topics = {name: sink for name, sink in pipeline.sinks.items() if isinstance(sink.to, Topic)}
    letters = pipeline.dead_letters
    made = []
    if letters.delta:
        made.append(_table(DEAD_LETTERS, Delta.model_construct(table=letters.delta), None, DEAD_LETTER, lineage=False))
    made += [_table(name, sink.to, sink.where, columns) for name, sink in tables.items()]
    if letters.kafka is not None:
        made.append(SinkOutline(DEAD_LETTERS, "kafka", letters.kafka.topic, *_ONE_TRANSACTION))
    return made + [_topic(name, sink.to, sink.where, columns) for name, sink in topics.items()]


_ONE_TRANSACTION = ("transaction", "all topics of a cluster in one transaction with the batch's marker")


def _topic(name: str, topic: Topic, where: str | None, columns: pa.Schema) -> SinkOutline:
    target = topic.topic or f"by row: {topic.topic_from}"
    as_json = topic.value == "json"
    shown = {one.name: sql(delta_type(one.type)) for one in columns} if as_json else {"value": "the incoming bytes"}
    if topic.delivery == "exactly_once":
        return SinkOutline(name, "kafka", target, *_ONE_TRANSACTION, where, columns=shown)
    loose = f"sink {name}: after a crash its topic may hold rows of one batch twice (delivery: at_least_once)."
    why = "delivery: at_least_once asks for no transaction"
    return SinkOutline(name, "kafka", target, "producer", why, where, columns=shown, not_guaranteed=[loose])


def _table(name: str, delta: Any, where: str | None, columns: pa.Schema, *, lineage: bool = True) -> SinkOutline:
    """A table, looked at and left alone."""
    path = str(delta.table)
    try:
        wanted = delta_fields(with_lineage(columns, delta.lineage if lineage else None), name)
        state = Handle(name, path).state() if "/" in path else None
        added = [one["name"] for one in missing_from(state, wanted, name)] if state else []
    except PenstockError as error:
        return SinkOutline(name, "delta", path, "none", "", where, problem=str(error))
    committer, why = _committer(delta, state)
    fields = [*(state.fields if state else []), *(one for one in wanted if not state or one["name"] in added)]
    shown = {one["name"]: sql(one["type"]) + ("" if one["nullable"] else " NOT NULL") for one in fields}
    return SinkOutline(name, "delta", path, committer, why, where, state is not None, shown, added)


def _committer(delta: Any, state: TableState | None) -> tuple[str, str]:
    """Who would commit to this table, and why."""
    if getattr(delta, "writer", "auto") == "spark":
        return "spark", "writer: spark says so"
    if "/" not in str(delta.table):
        return "spark", "a catalog table: Spark knows where it lies"
    found = objections(state) if state else []
    if found:
        return "spark", "delta-rs would write this table wrongly: " + "; ".join(found)
    return "delta-rs", "files by the worker, one commit a batch by delta-rs: the table has nothing it cannot write"
