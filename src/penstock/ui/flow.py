"""Where records went, stage by stage: of a whole generation, or of one batch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from penstock.stages import OWN_CODES
from penstock.tally import Fates
from penstock.ui.models import Flow, SinkFlow, Stage, Writes

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

DEAD_LETTERS = ("dead_letters", "dead_letters_topic")


def flow_of(
    fates: Fates, pipeline: Pipeline | None, writes: list[Writes], receipts: dict[str, Any], topics: list[str]
) -> Flow:
    """The flow of these records. Without the pipeline's file it is not known which check or step had which part."""
    parts = _parts(pipeline)
    came = fates.seen
    stages = [_stage("source", "kafka", _listed(topics), came, Fates())]
    for kind, name, about, names in parts:
        mine = _share(fates, kind, names, alone=len(parts) == 1)
        stages.append(_stage(kind, name, about, came, mine))
        came = stages[-1].went
    targets = {each.sink: each for each in writes}
    known = [*(pipeline.sinks if pipeline else ()), *fates.written, *targets]
    sinks = [name for name in dict.fromkeys(known) if name not in DEAD_LETTERS]
    letters = next((targets[name].target for name in DEAD_LETTERS if name in targets), "")
    return Flow(
        read=fates.seen,
        stages=stages,
        sinks=[_sink(name, fates, targets.get(name), receipts.get(name, {}), pipeline) for name in sinks],
        rejected=fates.by_code(),
        dropped=dict(fates.dropped),
        dead_letters=letters,
    )


Kind = Literal["source", "decode", "checks", "steps", "work"]
Part = tuple[Kind, str, str, frozenset[str]]


def _parts(pipeline: Pipeline | None) -> list[Part]:
    """The stages between source and sinks: kind, name, what it is, and the names that it counts by."""
    if pipeline is None:
        return [("work", "decode, checks, steps", "give the pipeline file to see each", frozenset())]
    word = type(pipeline.decode).__name__.lower()
    parts: list[Part] = [("decode", "decode", word, frozenset())]
    if pipeline.checks:
        names = [check.name for check in pipeline.checks]
        parts.append(("checks", "checks", _listed(names), frozenset(names)))
    if pipeline.steps:
        steps = [step.name for step in pipeline.steps]
        told = [f"{step.kind} {step.name}" for step in pipeline.steps]
        parts.append(("steps", "steps", _listed(told), frozenset({*steps, "step_failed"})))
    return parts


def _share(fates: Fates, kind: Kind, names: frozenset[str], *, alone: bool) -> Fates:
    """What of these fates was decided in this stage. A check's name is its code; decode has codes of penstock's own."""

    def mine(code: str) -> bool:
        if alone:
            return True
        return code in names or (kind == "decode" and code in OWN_CODES and code != "step_failed")

    share = Fates()
    for name in ("rejected", "dropped", "warned"):
        counts: Counter[str] = getattr(fates, name)
        setattr(share, name, Counter({code: count for code, count in counts.items() if mine(code)}))
    return share


def _stage(kind: Kind, name: str, about: str, came: int, fates: Fates) -> Stage:
    gone = fates.rejected.total() + fates.dropped.total()
    return Stage(
        kind=kind,
        name=name,
        about=about,
        came=came,
        went=came - gone,
        rejected=dict(fates.rejected),
        dropped=dict(fates.dropped),
        warned=dict(fates.warned),
    )


def _sink(name: str, fates: Fates, to: Writes | None, receipt: dict[str, Any], pipeline: Pipeline | None) -> SinkFlow:
    options = pipeline.sinks[name].to if pipeline and name in pipeline.sinks else None
    sort = to.committer if to else type(options).__name__.lower() if options is not None else ""
    target = to.target if to else str(getattr(options, "table", "") or getattr(options, "topic", "") or "")
    return SinkFlow(
        name=name,
        sort=sort,
        target=target,
        written=fates.written[name],
        rows=fates.rows[name],
        not_routed=fates.not_routed[name],
        refused=dict(fates.refused.get(name, {})),
        version=receipt.get("version"),
        how=receipt.get("how", ""),
    )


def _listed(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
