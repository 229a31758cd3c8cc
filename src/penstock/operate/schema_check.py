"""What a producer's new schema would do to a pipeline, before it is registered: the brain of `penstock schema check`.

The same code judges it that the running pipeline uses. Nothing is written, nothing is registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import SchemaRefused
from penstock.schemas.contract import Change, Schema
from penstock.schemas.policy import Judgement, judge, spoken
from penstock.schemas.rowtype import joining, taking
from penstock.sql.expression import read_expression, read_value
from penstock.sql.query import read_query

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline
    from penstock.schemas.keeper import Keeper
    from penstock.sql.values import Expression

SUFFIXES: dict[str, Any] = {".avsc": "avro", ".proto": "protobuf", ".json": "json"}
UNREGISTERED = 2**31 - 1
"""The id of a schema that no registry has yet."""


@dataclass(frozen=True)
class Touched:
    """A change, and everything of the pipeline that names its column."""

    change: Change
    action: str
    """What the policy says to it: `evolve`, `ignore`, `park`, `stop`."""
    places: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What the schema would do to one pipeline, in one of its subjects."""

    pipeline: str
    file: str
    subject: str
    judged: Judgement
    touched: tuple[Touched, ...]
    columns: tuple[str, ...]
    """Columns that the tables would gain, as DDL."""
    registry: tuple[str, ...] = ()
    """Why the registry itself would refuse it."""

    @property
    def verdict(self) -> str:
        if self.registry:
            return "refused by the registry"
        if self.judged.action != "read":
            return {"park": "its records would be parked", "stop": "the pipeline would stop"}[self.judged.action]
        return "fine" if self.judged.changes else "no change"

    @property
    def fine(self) -> bool:
        return self.judged.action == "read" and not self.registry


def schema_in(file: Path) -> Schema:
    """The schema in a file: its format is told by its suffix."""
    if file.suffix not in SUFFIXES:
        raise SchemaRefused(
            f"{file}: a schema's file ends in {', '.join(SUFFIXES)}.", remedy="Rename it, so that its format is known."
        )
    try:
        return Schema(UNREGISTERED, SUFFIXES[file.suffix], file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaRefused(f"{file} cannot be read: {error}") from error


def checked(
    new: Schema, pipeline: Pipeline, keeper: Keeper, file: str, subject: str | None, current: Schema | None
) -> list[Finding]:
    """What this schema would do to the pipeline, in each subject of its format, or in this one."""
    subjects = [subject] if subject is not None else list(keeper.reader.readers)
    return [_finding(new, pipeline, keeper, file, each, current) for each in subjects]


def _finding(
    new: Schema, pipeline: Pipeline, keeper: Keeper, file: str, subject: str, current: Schema | None
) -> Finding:
    before = current or keeper.reader.readers.get(subject)
    try:
        if before is None:
            changes: Sequence[Change] = list(joining(keeper.reader.fields, keeper.codec.fields(new)))
        else:
            changes = keeper.codec.changes(before, new)
    except SchemaRefused as error:
        changes = [Change("incompatible", "", "", error.what)]
    judged = judge(changes, pipeline.schema_changes)
    touched = tuple(
        Touched(change, getattr(pipeline.schema_changes, change.kind), tuple(_places(change, pipeline)))
        for change in changes
    )
    refused = () if current is not None else tuple(keeper.registry.compatible(subject, new))
    return Finding(pipeline.name, file, subject, judged, touched, tuple(_gained(keeper, before, new, judged)), refused)


def _gained(keeper: Keeper, before: Schema | None, new: Schema, judged: Judgement) -> Iterator[str]:
    """The columns that would be new, or of another type."""
    if judged.action != "read":
        return
    mine = new if before is None else keeper.codec.evolved(before, new, judged.taken)
    known = {field.name: field.ddl() for field in keeper.reader.fields}
    had = None if before is None else keeper.codec.fields(before)
    for field in taking(keeper.reader.fields, had, keeper.codec.fields(mine), judged.ignored):
        if known.get(field.name) != field.ddl():
            yield field.ddl()


def _places(change: Change, pipeline: Pipeline) -> Iterator[str]:
    """Where the pipeline names the column of this change."""
    column = change.path.split("/")[1] if change.path.startswith("/") else ""
    if not column:
        return
    for check in pipeline.checks:
        if _names(read_value(check.rule), column):
            yield f"check {check.name}"
    for step in pipeline.steps:
        if any(_names(read_expression(text), column) for text in step.select or ()):
            yield f"step {step.name}"
        if step.sql is not None and _query_names(step.sql, column):
            yield f"step {step.name}"
        if step.python is not None:
            yield f"step {step.name} (Python: it sees every column)"
    yield from _sinks(column, pipeline)


def _sinks(column: str, pipeline: Pipeline) -> Iterator[str]:
    for name, sink in pipeline.sinks.items():
        if sink.where is not None and _names(read_value(sink.where), column):
            yield f"sink {name}, where"
        for path, text in getattr(sink.to, "expressions", dict)().items():
            if _names(read_value(text), column):
                yield f"sink {name}, {'.'.join(path[1:])}"
        if column in getattr(sink.to, "partition_by", ()):
            yield f"sink {name}, partition_by"
        if hasattr(sink.to, "table") and not pipeline.steps:
            yield f"table {sink.to.table}, column {column}"


def _names(expression: Expression, column: str) -> bool:
    return any(ref.name.lower() == column.lower() for ref in expression.columns)


def _query_names(text: str, column: str) -> bool:
    query = read_query(text)
    pieces = [*query.items, *([query.where] if query.where else [])]
    if query.generator is not None:
        pieces.append(query.generator.argument)
    return any(_names(piece, column) for piece in pieces)


def markdown(new: str, findings: Sequence[Finding]) -> str:
    """The report for a merge request."""
    bad = [finding for finding in findings if not finding.fine]
    head = "may be registered" if not bad else f"would harm {len(bad)} of {len(findings)}"
    lines = [f"# Schema check: `{new}` {head}", ""]
    lines += ["| pipeline | subject | verdict |", "|---|---|---|"]
    lines += [f"| {one.pipeline} (`{one.file}`) | {one.subject} | {one.verdict} |" for one in findings]
    for one in findings:
        lines += ["", f"## {one.pipeline}, {one.subject}: {one.verdict}", ""]
        lines += [f"- the registry itself would refuse it: {why}" for why in one.registry]
        lines += [_line(each) for each in one.touched] or ["No field changes."]
        lines += [f"- tables gain {column}" for column in one.columns]
    return "\n".join(lines) + "\n"


def _line(each: Touched) -> str:
    where = f"; named by {', '.join(each.places)}" if each.places else ""
    return f"- **{each.change.kind}** ({each.action}): {spoken(each.change)}{where}"
