"""The outline of a pipeline: what it would do, said before it does anything. `penstock plan` prints it.

Only looks: the broker is asked for offsets, tables for their schema. Nothing is created, nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, Unavailable
from penstock.files import Place
from penstock.ledger.checkpoint import Checkpoint
from penstock.operate.outline_sinks import SinkOutline, sinks_of
from penstock.operate.outline_text import lines
from penstock.ranges import Positions
from penstock.sources.position import first_positions
from penstock.steps.flow import Flow, Stage

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline
    from penstock.sources.cluster import Cluster


@dataclass(frozen=True)
class StageOutline:
    """One stage: where it runs and why, and what comes out of it."""

    name: str
    runs_in: str
    why: str
    segment: int
    """Stages of one segment share one crossing between Spark and Python."""
    columns: dict[str, str]


@dataclass(frozen=True)
class SourceOutline:
    """What the next batch would read, and from where."""

    topics: list[str]
    partitions: int
    batch_id: int
    first: bool
    rows: int | None
    """At most; None if no broker answers."""
    start: dict[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Outline:
    """Everything, in order."""

    pipeline: str
    state: str
    source: SourceOutline
    stages: list[StageOutline]
    sinks: list[SinkOutline]
    not_guaranteed: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def outline(
    pipeline: Pipeline, flow: Flow, cluster: Cluster | None, tables: Mapping[str, Any], state: Place | None = None
) -> Outline:
    """What the pipeline would do. `cluster` is None where no broker is to be asked; `tables` are the committers.

    `state` is where its state is, if that is not a folder of this machine.
    """
    sinks = sinks_of(pipeline, flow.columns, tables)
    return Outline(
        pipeline=pipeline.name,
        state=str(pipeline.state),
        source=source_of(pipeline, cluster, state or Path(pipeline.state)),
        stages=stages_of(flow),
        sinks=sinks,
        not_guaranteed=[warning for sink in sinks for warning in sink.not_guaranteed],
    )


SQL = {"checks": "rules", "routes": "`where`, keys and headers of sinks"}
"""What is SQL in these stages; in all others it is the step itself."""
COMPILED = "compiled to Arrow, in the Python worker"
PYTHON = "a Python function over Arrow batches"
STAGED = "a Python function over a DataFrame: the batch is staged in front of it and joined with what it gives"


def stages_of(flow: Flow) -> list[StageOutline]:
    """Decode, every stage, write; adjacent stages that run in the same place share a segment."""
    every = [("decode", "arrow", flow.decode.columns(), "bytes into columns, in the Python worker")]
    every += [(stage.name, stage.runs_in, stage.columns, _why(stage)) for stage in flow.stages]
    every.append(("write", "arrow", flow.columns, "files are written where the rows are"))
    made: list[StageOutline] = []
    for name, runs_in, columns, why in every:
        same = made and made[-1].runs_in == runs_in and runs_in != "staged"
        segment = made[-1].segment if same else (made[-1].segment + 1 if made else 1)
        shown = {field.name: str(field.type) + ("" if field.nullable else " not null") for field in columns}
        made.append(StageOutline(name, runs_in, why, segment, shown))
    return made


def _why(stage: Stage) -> str:
    """What the stage is, and why it runs where it does."""
    if stage.staged is not None:
        return STAGED
    if stage.arrow is not None:
        return f"{SQL.get(stage.name, 'SQL')}, {COMPILED}" if stage.compiled else PYTHON
    return f"{SQL.get(stage.name, 'SQL')}, in Spark: {stage.why}"


def source_of(pipeline: Pipeline, cluster: Cluster | None, state: Place) -> SourceOutline:
    """Where the next batch begins and how much it would read."""
    checkpoint = Checkpoint(state / "spark")
    batch_id = 0 if checkpoint.planned is None else checkpoint.planned + (checkpoint.planned == checkpoint.committed)
    first = checkpoint.planned is None
    topics = [*(pipeline.source.topics or pipeline.source.partitions or [f"like {pipeline.source.pattern}"])]
    if cluster is None:
        return SourceOutline(topics, 0, batch_id, first, None, note="No broker was asked.")
    try:
        begin, end = _reach(pipeline, cluster, checkpoint)
    except Unavailable as error:
        return SourceOutline(topics, 0, batch_id, first, None, note=error.what)
    except PenstockError as error:
        return SourceOutline(topics, 0, batch_id, first, None, note=str(error))
    rows = sum(max(0, end[part] - at) for part, at in begin.items())
    start = {f"{topic}-{number}": at for (topic, number), at in sorted(begin.items())}
    return SourceOutline(topics, len(begin), batch_id, first, min(rows, pipeline.pace.max_rows), start)


def _reach(pipeline: Pipeline, cluster: Cluster, checkpoint: Checkpoint) -> tuple[Positions, Positions]:
    partitions = cluster.read_by(pipeline.source)
    planned = checkpoint.planned
    begin = first_positions(pipeline.source, cluster, partitions)
    if planned is not None:
        begin = {**begin, **checkpoint.end_of(planned)}
    return {part: at for part, at in begin.items() if part in partitions}, cluster.latest(partitions)
