"""A pipeline's stages, learned before the first batch: every expression analysed by Spark, every function called on
zero rows. What cannot work is refused here, with the place in the pipeline and Spark's own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import StepRefused
from penstock.pipeline import Pipeline
from penstock.rows import RECORD, SOURCE, Rows
from penstock.sql.expression import read_expression
from penstock.sql.query import read_query
from penstock.sql.scope import penstock_columns
from penstock.sql.values import RowQuery
from penstock.stages import Step
from penstock.steps.checks import checked
from penstock.steps.compiled.ops import NotCompiled
from penstock.steps.compiled.plan import compiled_checks, compiled_query, compiled_routes
from penstock.steps.flow import Flow, Stage, spark_schema
from penstock.steps.frame import Frame, column
from penstock.steps.functions import NOTHING, find, takes
from penstock.steps.python import PythonStep, visible
from penstock.steps.queries import columns_of, queried
from penstock.steps.routes import Route, learned, routed
from penstock.steps.staged import StagedStep, seen, shaped
from penstock.worker.crossing import with_form
from penstock.worker.task import ArrowStage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.formats.contract import FormatOptions

THERE_ALREADY = "the rows are in Spark already"
Session = Callable[[], "SparkSession"]
"""Gives the session. Asked for only where a stage needs Spark."""


def learn(pipeline: Pipeline, session: Session, decode: FormatOptions | None = None) -> Flow:
    """The pipeline's stages. Raises StepRefused where one cannot work.

    `decode` is the format with its columns, where the pipeline file alone does not know them.
    """
    return Learner(pipeline, session, decode).flow()


class Learner:
    """Goes through the stages in order; `columns` is what the next one sees."""

    def __init__(self, pipeline: Pipeline, session: Session, decode: FormatOptions | None = None) -> None:
        self.pipeline, self.session = pipeline, session
        self.decode: FormatOptions = decode or pipeline.decode
        self.columns: pa.Schema = self.decode.columns()
        self.stages: list[Stage] = []
        self._frames: dict[tuple[pa.Schema, bool], Frame] = {}

    def flow(self) -> Flow:
        if self.pipeline.checks:
            self._checks()
        for number, step in enumerate(self.pipeline.steps):
            with _at(f"steps[{number}] `{step.name}`"):
                self._step(step)
                self._spread(step)
        wanted = self._routes()
        return Flow(self.decode, tuple(self.stages), wanted)

    def _checks(self) -> None:
        for number, check in enumerate(self.pipeline.checks):
            with _at(f"checks[{number}] `{check.name}`"):
                _must_be(self._type_of(check.rule), "boolean", check.rule)
        apply = partial(checked, checks=self.pipeline.checks)
        compile_ = partial(compiled_checks, columns=self.columns, checks=self.pipeline.checks)
        self._sql(Stage("checks", "spark", self.columns, spark=apply), compile_)

    def _step(self, step: Step) -> None:
        if step.python is not None:
            self._python(step, step.python)
            return
        query = read_query(step.sql) if step.sql is not None else _as_query(step)
        apply = partial(queried, query=query, step=step.name)
        given, before = self._empty(), self.columns
        self.columns = self._after(apply, query)
        stage = Stage(step.name, "spark", self.columns, spark=apply, multiplies=query.generator is not None)
        compile_ = partial(compiled_query, columns=before, query=query, step=step.name, made=self.columns)
        self._sql(stage, compile_, given)

    def _spread(self, step: Step) -> None:
        """The stage of this step, with the tasks that it asks for."""
        if step.tasks is None:
            return
        stage = self.stages[-1]
        if stage.staged is not None:
            raise StepRefused(
                f"step {step.name}: `tasks` is for SQL and for functions over Arrow batches; this one is given a "
                "DataFrame.",
                data="Nothing was written.",
                remedy="Spread its rows yourself:  rows.repartition(8)",
            )
        self.stages[-1] = replace(stage, tasks=step.tasks)

    def _python(self, step: Step, reference: str) -> None:
        folder = str(self.pipeline.folder)
        if takes(reference, folder) == "spark":
            self._staged(step.name, reference, folder)
            return
        self.columns = columns_given(reference, folder, self.columns, step.name)
        stage = PythonStep(step.name, reference, folder, self.columns)
        self.stages.append(Stage(step.name, "arrow", self.columns, arrow=stage, multiplies=True))

    def _staged(self, name: str, reference: str, folder: str) -> None:
        """A step over DataFrames, called on zero rows. Raises StepRefused if it gives none, or without lineage."""
        from pyspark.errors import PySparkException
        from pyspark.sql.pandas.types import to_arrow_schema

        given = self.columns
        try:
            made = shaped(find(reference, folder)(seen(self._empty(strict=True))), reference)
        except (StepRefused, PySparkException):
            raise
        except Exception as error:
            raise raised_on_nothing(reference, error) from error
        self.columns = to_arrow_schema(made.drop(*RECORD).schema, timezone="UTC")
        step = StagedStep(name, reference, folder, given, self.columns)
        self.stages.append(Stage(name, "staged", self.columns, staged=step, multiplies=True))

    def _routes(self) -> tuple[str, ...]:
        """The sinks with expressions of their own; they are worked out in one Spark stage in front of the write."""
        routes = {name: route for name, route in routes_of(self.pipeline).items() if route}
        for name, route in [*routes.items()]:
            with _at(f"sinks.{name}"):
                if route.where is not None:
                    _must_be(self._type_of(route.where), "boolean", route.where)
                if route.topic is not None:
                    _must_be(self._type_of(route.topic), "string", route.topic)
                routes[name] = learned(route, self._type_of)
                routed(self._empty(), {name: routes[name]})
        if routes:
            compile_ = partial(compiled_routes, columns=self.columns, routes=routes)
            self._sql(Stage("routes", "spark", self.columns, spark=partial(routed, routes=routes)), compile_)
        return tuple(routes)

    def _sql(self, stage: Stage, compile_: Callable[[Frame], ArrowStage], given: Frame | None = None) -> None:
        """A stage of SQL: in the worker if all of it can be compiled and the rows are there, else in Spark."""
        if self.stages and self.stages[-1].runs_in != "arrow":
            self.stages.append(replace(stage, why=THERE_ALREADY))
            return
        try:
            with _without_its_log():
                arrow = compile_(given or self._empty())
            self.stages.append(replace(stage, runs_in="arrow", arrow=arrow, spark=None, compiled=True))
        except NotCompiled as error:
            self.stages.append(replace(stage, why=str(error)))

    def _empty(self, *, strict: bool = False) -> Frame:
        """No rows, in the columns as they are here. `strict`: with NOT NULL where it holds for records on their way."""
        key = (self.columns, strict)
        if key not in self._frames:
            form = with_form(self.columns)
            if strict:
                form = pa.schema([*self.columns, *(field for field in form if field.name not in self.columns.names)])
            rows: DataFrame = self.session().createDataFrame([], spark_schema(form))
            self._frames[key] = Frame(rows, tuple(self.columns.names))
        return self._frames[key]

    def _type_of(self, text: str) -> str:
        from pyspark.sql import functions as F  # noqa: N812

        return str(self._empty().scope().select(F.expr(text)).schema[0].dataType.simpleString())

    def _after(self, apply: Callable[[Frame], Frame], query: RowQuery) -> pa.Schema:
        """The data columns behind a Spark stage, NOT NULL where that is sure for every record on its way."""
        from pyspark.sql.pandas.types import to_arrow_schema

        made = apply(self._empty())
        sure = self._never_null(query)
        given = to_arrow_schema(made.rows.select(*map(column, made.columns)).schema, timezone="UTC")
        return _refuse_own_names(pa.schema([field.with_nullable(field.name not in sure) for field in given]))

    def _never_null(self, query: RowQuery) -> set[str]:
        """The output columns that cannot be null, by Spark's own analysis of records that are on their way."""
        if query.generator is not None:
            return set()
        frame = self._empty(strict=True)
        values = [value.alias(name) for name, value in columns_of(frame, query.items, query.alias)]
        return {field.name for field in frame.scope(query.alias).select(*values).schema if not field.nullable}


def _as_query(step: Step) -> RowQuery:
    """A `select` list as the query it is."""
    return RowQuery("", tuple(read_expression(text) for text in step.select or ()))


def columns_given(reference: str, folder: str, columns: pa.Schema, name: str) -> pa.Schema:
    """The data columns that a Python step gives, learned from a call on zero rows."""
    nothing = Rows(pa.RecordBatch.from_pylist([], SOURCE), pa.RecordBatch.from_pylist([], columns))
    try:
        made = find(reference, folder)(visible(nothing))
    except StepRefused:
        raise
    except Exception as error:
        raise raised_on_nothing(reference, error) from error
    if not isinstance(made, pa.RecordBatch):
        given = pa.schema([])
    else:
        given = pa.schema([field for field in made.schema if not field.name.startswith("_")])
    PythonStep(name, reference, folder, given).shaped(made)  # refuses what is no batch, or has lost its lineage
    strange = [field.name for field in made.schema if field.name.startswith("_") and field.name not in penstock_columns]
    if strange:
        raise StepRefused(
            f"python step {reference}: it makes {', '.join(strange)}; names that begin with `_` are penstock's own.",
            data=NOTHING,
            remedy=f"Name it otherwise. It must keep {', '.join(RECORD)} and may keep the rest of penstock's columns.",
        )
    return given


def raised_on_nothing(reference: str, error: Exception) -> StepRefused:
    return StepRefused(
        f"python step {reference}: called on zero rows, to learn its columns, it raised "
        f"{type(error).__name__}: {error}",
        data=NOTHING,
        remedy="Let it return no rows, in the columns it gives, when it gets none.",
    )


def routes_of(pipeline: Pipeline) -> dict[str, Route]:
    """What each sink asks of every row."""
    routes = {}
    for name, sink in pipeline.sinks.items():
        part = sink.to
        routes[name] = Route(
            where=sink.where,
            key=getattr(part, "key", None),
            topic=getattr(part, "topic_from", None),
            headers=getattr(part, "headers", None) or {},
        )
    return routes


def _must_be(found: str, wanted: str, text: str) -> None:
    if found != wanted:
        raise StepRefused(
            f"`{text}` is of type {found}; it must be {wanted}.", data=NOTHING, remedy="Compare it with something."
        )


def _refuse_own_names(columns: pa.Schema) -> pa.Schema:
    own = [name for name in columns.names if name.startswith("_")]
    if own:
        raise StepRefused(
            f"it makes {', '.join(own)}; names that begin with `_` are penstock's own.",
            data=NOTHING,
            remedy="Give it another name with  AS",
        )
    return columns


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Errors of Spark's analysis and of ours, with the place in the pipeline."""
    from pyspark.errors import PySparkException

    try:
        with _without_its_log():
            yield
    except StepRefused as error:
        raise StepRefused(f"{place}: {error.what}", data=error.data, remedy=error.remedy) from error
    except PySparkException as error:
        said = _first_words(error)
        raise StepRefused(f"{place}: {said}", data=NOTHING, remedy="Spark cannot run it as it is written.") from error


@contextmanager
def _without_its_log() -> Iterator[None]:
    """PySpark logs every error of analysis with the JVM's stack, to the terminal. We tell it in words instead."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def _first_words(error: Any) -> str:
    """Spark's message without its error class, plan and SQLSTATE."""
    text = str(error).partition("SQLSTATE")[0].partition(";\n")[0].partition("== SQL")[0].strip()
    return re.sub(r"^\[[A-Z0-9_.]+\] ", "", " ".join(text.split())).rstrip(".") + "."
