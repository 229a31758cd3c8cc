"""Checks and steps as a pipeline names them: rules on decoded fields, and row-wise transformations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, PositiveInt

from penstock.options import Field, Name, Options, Wrong
from penstock.sql.fields import ItemText, QueryText, RuleText

KINDS = ("select", "sql", "python")
OWN_CODES = frozenset(
    {
        *("empty", "tombstone", "too_large", "invalid_utf8", "invalid_json", "truncated_json", "trailing_data"),
        *("not_an_object", "duplicate_key", "too_deep", "wrong_type", "overflow", "inexact_decimal", "not_finite"),
        *("missing_field", "unknown_field", "bad_frame", "unknown_schema", "bad_payload", "schema_parked"),
        *("schema_violation", "step_failed", "too_large_out", "unknown_topic", "does_not_fit"),
    }
)
"""Reject codes that penstock gives itself: no check may be named like one."""


class Check(Options):
    """A rule that every good record satisfies."""

    name: Name = Field(description="The reject code, and the counter's name.")
    rule: RuleText = Field(description="True for a good record; NULL fails. The first rule that fails decides.")
    on_fail: Literal["reject", "drop", "warn", "stop"] = Field(
        "reject",
        description="`reject`: to the dead letters. `drop`, `warn`: counted by name. `stop`: nothing of the batch "
        "becomes visible, exit 1.",
    )


def _function(text: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", text):
        raise Wrong("needs a module and a function in it.", "Write it like  shop.steps:normalise_currency")
    return text


class Step(Options):
    """A row-wise transformation: exactly one of `select`, `sql`, `python`."""

    select: tuple[ItemText, ...] | None = Field(
        None,
        strict=False,
        min_length=1,
        description="Expressions, each with a name (`expression AS name`) or a column, or `*`. One row stays one row.",
    )
    sql: QueryText | None = Field(
        None, description="One `SELECT ... FROM rows`, row-wise: expressions, `WHERE`, `explode`."
    )
    python: Annotated[str, AfterValidator(_function)] | None = Field(
        None,
        description="`module:function`. Its first parameter, annotated `pyarrow.RecordBatch` or "
        "`pyspark.sql.DataFrame`, says what it takes and gives. Keeps `_topic, _partition, _offset`.",
    )
    name: Name = Field("", validate_default=False, description="For counters and errors. Default `step<n>`.")

    tasks: PositiveInt | None = Field(
        None,
        description="Spread the rows over so many tasks in front of this step: for a heavy one. Costs a shuffle. "
        "Default `as the source`.",
    )

    exactly_one: ClassVar = KINDS

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        found = [f"`{kind}`" for kind in KINDS if given.get(kind) is not None]
        if len(found) != 1:
            remedy = f"Found {' and '.join(found) or 'none'}."
            yield Wrong("needs exactly one of `select`, `sql` and `python`.", remedy)

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)


def named(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same steps; those without a name get `step<n>`, by their place."""
    return tuple(
        step if step.name else step.model_copy(update={"name": f"step{number}"})
        for number, step in enumerate(steps, start=1)
    )
