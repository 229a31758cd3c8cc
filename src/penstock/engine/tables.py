"""The committers of a pipeline's tables: dead letters first, then every sink in the order of the file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.engine.session import session_of
from penstock.pipeline import Pipeline
from penstock.sinks.contract import Committer
from penstock.sinks.delta import Delta
from penstock.sinks.delta.choose import committer
from penstock.worker.desk import DEAD_LETTERS

if TYPE_CHECKING:
    from penstock.sinks.delta.place import Session


def committers(pipeline: Pipeline, session: Session | None = None) -> dict[str, Committer]:
    """Every table of the pipeline, in the order in which a batch is committed to them.

    `session` gives Spark to those tables that only Spark can write; left out, one is made when it is first needed.
    Each committer says in `by` and `why` who writes its table next, and for what reason.
    """

    spark = session or partial(session_of, pipeline)
    letters = pipeline.dead_letters.delta
    first = {DEAD_LETTERS: committer(DEAD_LETTERS, letters, spark, lineage=None)} if letters else {}
    tables = {name: sink.to for name, sink in pipeline.sinks.items() if isinstance(sink.to, Delta)}
    return {**first, **{name: table.committer(name, spark) for name, table in tables.items()}}
