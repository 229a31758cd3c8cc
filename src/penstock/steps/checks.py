"""Checks in Spark: the first rule that is not TRUE decides; rules that only warn leave their name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.stages import Check
from penstock.steps.attempt import attempt
from penstock.steps.frame import LIVE, Frame, column, out
from penstock.worker.crossing import BETWEEN_NAMES

if TYPE_CHECKING:
    from pyspark.sql import Column

STAGE = "check"


def failed(check: Check) -> str:
    """What the dead letter says where the rule is not TRUE."""
    return f"Not true: {check.rule}"[:300]


def raised(check: Check) -> str:
    """What it says where the rule raises."""
    return f"The rule of check {check.name} raised an error on this record."


def checked(frame: Frame, checks: Sequence[Check]) -> Frame:
    """The same rows; those that fail a check are marked."""
    from pyspark.sql import functions as F  # noqa: N812

    tried = F.struct(*(_tried(check).alias(f"c{number}") for number, check in enumerate(checks)))
    judged = frame.scope().select(*map(column, frame.rows.columns), F.when(F.expr(LIVE), tried).alias("__checks"))
    mark = _mark(checks)
    given = {"__out": mark, "__warned": F.when(mark.isNull(), _warnings(checks))}
    kept = [given[name].alias(name) if name in given else column(name) for name in frame.rows.columns]
    return Frame(judged.select(*kept), frame.columns)


def _tried(check: Check) -> Column:
    """A struct with the rule's verdict, NULL where the rule raises. A rule that gives NULL fails."""
    from pyspark.sql import functions as F  # noqa: N812

    return attempt(F.struct(F.coalesce(F.expr(check.rule), F.lit(False)).alias("ok")))


def _mark(checks: Sequence[Check]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    mark = F.when(column("__out").isNotNull(), column("__out"))
    for number, check in enumerate(checks):
        mark = mark.when(column("__checks", f"c{number}").isNull(), out(STAGE, "step_failed", raised(check)))
        if check.on_fail != "warn":
            verdict = out(STAGE, check.name, failed(check), check.on_fail)
            mark = mark.when(~column("__checks", f"c{number}", "ok"), verdict)
    return mark


def _warnings(checks: Sequence[Check]) -> Column:
    """The names of the checks that only warn and that the row fails."""
    from pyspark.sql import functions as F  # noqa: N812

    names = [
        F.when(~column("__checks", f"c{number}", "ok"), F.lit(check.name))
        for number, check in enumerate(checks)
        if check.on_fail == "warn"
    ]
    return F.nullif(F.concat_ws(BETWEEN_NAMES, *names), F.lit("")) if names else F.lit(None).cast("string")
