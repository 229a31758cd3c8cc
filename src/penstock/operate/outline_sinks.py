"""The sinks of an outline: who commits and why, the table as it is and as it will be, what is not guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import PenstockError
from penstock.paths import is_catalog_name
from penstock.rows import DEAD_LETTER
from penstock.sinks.delta import Delta
from penstock.sinks.delta.columns import delta_fields, missing_from
from penstock.sinks.delta.handle import Handle
from penstock.sinks.delta.target import with_lineage
from penstock.sinks.delta.types import delta_type, sql
from penstock.sinks.kafka import Topic
from penstock.worker.desk import DEAD_LETTERS

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


def sinks_of(pipeline: Pipeline, columns: pa.Schema, committers: Mapping[str, Any]) -> list[SinkOutline]:
    """Every sink in the order of a batch's commits: dead letters, tables, topics. `committers` are the tables'."""
    tables = {name: sink for name, sink in pipeline.sinks.items() if isinstance(sink.to, Delta)}
    topics = {name: sink for name, sink in pipeline.sinks.items() if isinstance(sink.to, Topic)}
    letters = pipeline.dead_letters
    made = []
    if letters.delta:
        made.append(_table(committers[DEAD_LETTERS], letters.delta, None, with_lineage(DEAD_LETTER, None)))
    for name, sink in tables.items():
        made.append(_table(committers[name], sink.to.table, sink.where, with_lineage(columns, sink.to.lineage)))
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


def _table(committer: Any, path: str, where: str | None, columns: pa.Schema) -> SinkOutline:
    """A table, looked at and left alone. One of the catalog is not asked for: that would need Spark."""
    name = committer.name
    try:
        wanted = delta_fields(columns, name)
        state = None if is_catalog_name(path) else Handle(name, path).state()
        added = [one["name"] for one in missing_from(state, wanted, name)] if state else []
        by, why = committer.by, committer.why
    except PenstockError as error:
        return SinkOutline(name, "delta", path, "none", "", where, problem=str(error))
    exists = None if is_catalog_name(path) else state is not None
    fields = [*(state.fields if state else []), *(one for one in wanted if not state or one["name"] in added)]
    shown = {one["name"]: sql(one["type"]) + ("" if one["nullable"] else " NOT NULL") for one in fields}
    return SinkOutline(name, "delta", path, by, why, where, exists, shown, added)
