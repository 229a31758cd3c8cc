"""The committers of a pipeline: dead letters first, then every sink in the order of the file."""

from __future__ import annotations

from penstock.desk import DEAD_LETTERS
from penstock.pipeline import Pipeline
from penstock.sinks.delta.committer import DeltaCommitter


def committers(pipeline: Pipeline) -> dict[str, DeltaCommitter]:
    """Every table of the pipeline, in the order in which a batch is committed to them."""
    dead_letters = DeltaCommitter(DEAD_LETTERS, pipeline.dead_letters.delta, lineage=None)
    return {DEAD_LETTERS: dead_letters, **{name: sink.to.committer(name) for name, sink in pipeline.sinks.items()}}
