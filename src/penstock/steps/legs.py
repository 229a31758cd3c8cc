"""The pass over a batch, leg by leg. Nearly always there is one leg, from the source to the sinks.

A Python step over DataFrames begins another: what goes into it was staged at the end of the leg before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.rows import READ
from penstock.steps.flow import Builder, Flow, Stage, collected
from penstock.steps.frame import Frame
from penstock.steps.hunt import Record, hunt
from penstock.steps.staged import StagedStep
from penstock.steps.weighing import in_smaller_batches, small_alone, unweighed
from penstock.worker.intake import FromSource
from penstock.worker.task import ToSinks, ToStage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Pass:
    """One pass over one batch; `folder` is the batch's own."""

    def __init__(
        self,
        flow: Flow,
        batch_id: int,
        end: ToSinks,
        folder: Path,
        topic: str | None = None,
        *,
        weighed: bool = True,
    ) -> None:
        self.flow, self.batch_id, self.end, self.folder = flow, batch_id, end, folder
        self.topic = topic
        """Of every record, where there is but one."""
        self.through_spark = any(stage.runs_in != "arrow" for stage in flow.stages)
        self.weighed = weighed or self.through_spark

    def over(self, source: DataFrame) -> list[str]:
        """Source rows in, every task's report out."""
        with self._bounds(source.sparkSession):
            return self._over(source)

    def _bounds(self, session: SparkSession) -> AbstractContextManager[None]:
        """Of the Arrow batches of this pass."""
        if self.through_spark:
            return in_smaller_batches(session)
        return nullcontext() if self.weighed else unweighed(session)

    def _over(self, source: DataFrame) -> list[str]:
        first, *later = legs_of(self.flow.stages)
        decode = self.flow.decode
        intake, needed = FromSource(decode, self.topic, self.weighed), self._needed()
        given = source.select(*needed) if self.weighed else small_alone(source, needed)
        builder = Builder(given, intake, decode.columns(), self.batch_id)
        builder.add_all(first)
        newest = self._finish(builder, last=not later)
        reports = list(newest)
        for number, leg in enumerate(later, start=1):
            newest = self._leg(source, leg, _staged_files(newest), last=number == len(later))
            reports += newest
        return reports

    def _needed(self) -> list[str]:
        """The columns that must cross into the worker: each costs CPU for every record."""
        plain = all(stage.compiled for stage in self.flow.stages)  # then nobody reads it
        spared = {"timestamp_type"} if plain else set()
        if self.topic is not None:
            spared.add("topic")
        return [name for name in READ if name not in spared]

    def _finish(self, builder: Builder, *, last: bool) -> list[str]:
        if last:
            return collected(builder.finish(self.end, self.flow.routed))
        return collected(builder.finish(ToStage(self.end.sender, self.end.letters, self.folder)))

    def _leg(self, source: DataFrame, leg: Sequence[Stage], files: list[str], *, last: bool) -> list[str]:
        """A leg that begins with a staged step; if that raises, once more without the records on which it does."""
        step = leg[0].staged
        assert step is not None, "a later leg begins with a staged step"
        staged = step.read(source.sparkSession, [Path(file) for file in files])
        try:
            return self._finish(self._builder(step, staged, leg, []), last=last)
        except Exception:
            failed = hunt(staged.rows, lambda rows: _works(step, rows), step.name)
            if not failed:
                raise
        return self._finish(self._builder(step, staged, leg, failed), last=last)

    def _builder(self, step: StagedStep, staged: Frame, leg: Sequence[Stage], failed: list[Record]) -> Builder:
        builder = Builder(step.over(staged, failed).rows, None, step.columns, self.batch_id)
        builder.multiplied = True
        builder.add_all(leg[1:])
        return builder


def legs_of(stages: Sequence[Stage]) -> list[list[Stage]]:
    """The stages in legs; each but the first begins with a staged step."""
    legs: list[list[Stage]] = [[]]
    for stage in stages:
        if stage.staged is not None:
            legs.append([])
        legs[-1].append(stage)
    return legs


def _staged_files(reports: Sequence[str]) -> list[str]:
    """The files that a leg left for the next."""
    return [file for report in reports for file in json.loads(report).get("staged", ())]


def _works(step: StagedStep, rows: DataFrame) -> bool:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        step.made(rows).write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JError):
        return False
    return True
