"""The verbs of a pipeline in Python: those of the command line, as methods of the value.

    from penstock import load_pipeline
    pipeline = load_pipeline("orders.yaml")
    pipeline.preview(100)      # in a notebook: what the newest records become, and why some are rejected
    pipeline.plan()            # what it would do
    pipeline.run(spark)        # in the session that is there

The value is also the handle: this is the one place that reaches up, and only when a verb is called.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    import threading

    from pyspark.sql import SparkSession

    from penstock.observe.events import Emit
    from penstock.operate.audit import Verdict
    from penstock.operate.looking import Look
    from penstock.operate.outline import Outline
    from penstock.operate.preview import Preview
    from penstock.pipeline import Pipeline


class Verbs:
    """What a pipeline can be asked for."""

    def validate(self) -> Self:
        """Check it again, as a whole. A value that was made is right already; a copy that was changed may not be."""
        return type(self)(**{name: getattr(self, name) for name in type(self._it).model_fields})

    def to_yaml(self) -> str:
        """The pipeline file of this value; what it gives loads as the same value."""
        from penstock.spec import to_yaml

        return to_yaml(self._it)

    def plan(self, spark: SparkSession | None = None, *, offline: bool = False) -> Outline:
        """What it would do: stages, sinks, what the next batch would read. Nothing is written."""
        return self._look(spark, ask=not offline).outline()

    def preview(self, rows: int = 100, spark: SparkSession | None = None) -> Preview:
        """What becomes of the newest records of its topics. No state is touched."""
        return self._look(spark, ask=True).preview(rows)

    def explain(self, spark: SparkSession | None = None) -> str:
        """Spark's own plan of one batch, as text."""
        return self._look(spark, ask=False).explain()

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        once: bool = False,
        accept_loss: bool = False,
        emit: Emit | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        """Run it until it is done or `stopping` is set. Events go to `emit`; without one they are printed."""
        from penstock.engine.run import RunOptions, run
        from penstock.observe.logs import lines_to

        told = emit or lines_to(sys.stdout, as_json=False)
        options = RunOptions(once=once, accept_loss=accept_loss)
        run(self._it, options, told, stopping, spark)

    def audit(
        self,
        *,
        deep: bool = False,
        since: str | None = None,
        sink: str | None = None,
        spark: SparkSession | None = None,
    ) -> Verdict:
        """Is every record in every sink exactly once? `deep` counts every row. Nothing is written."""
        from penstock.operate.audit import audit

        return audit(self._it, deep=deep, since=since, sink=sink, spark=spark)

    def _repr_html_(self) -> str:
        """For a notebook: the file of this value."""
        from html import escape

        return f"<pre>{escape(self.to_yaml())}</pre>"

    def _look(self, spark: SparkSession | None, *, ask: bool) -> Look:
        from penstock.operate.looking import Look
        from penstock.operate.reaching import bootstrap_of

        return Look(self._it, bootstrap_of(self._it) if ask else None, spark)

    @property
    def _it(self) -> Pipeline:
        return cast("Pipeline", self)
