"""The committers of a pipeline: dead letters first, then every sink in the order of the file."""

from __future__ import annotations

from penstock.desk import DEAD_LETTERS
from penstock.pipeline import Pipeline
from penstock.sinks.contract import Committer
from penstock.sinks.delta import Delta
from penstock.sinks.delta.committer import DeltaCommitter


def committers(pipeline: Pipeline) -> dict[str, Committer]:
    """Every table of the pipeline, in the order in which a batch is committed to them."""
    table = pipeline.dead_letters.delta
    letters: dict[str, Committer] = {DEAD_LETTERS: DeltaCommitter(DEAD_LETTERS, table, lineage=None)} if table else {}
    tables = {name: sink.to for name, sink in pipeline.sinks.items() if isinstance(sink.to, Delta)}
    return {**letters, **{name: table.committer(name) for name, table in tables.items()}}
