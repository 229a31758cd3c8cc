"""The pipeline in Python: the same value as the file's, with the verbs of the command line as methods.

from penstock import load_pipeline
pipeline = load_pipeline("orders.yaml")
pipeline.preview(100)      # in a notebook: what the newest records become, and why some are rejected
pipeline.plan()            # what it would do
pipeline.run(spark)        # in the session that is there
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from penstock import pipeline as value
from penstock import spec
from penstock.errors import InvalidPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.observe.events import Emit
    from penstock.operate.looking import Look
    from penstock.operate.outline import Outline
    from penstock.operate.preview import Preview


class Pipeline(value.Pipeline):
    """A whole pipeline. Each key of the file is a keyword; `pipeline:` is `name`."""

    def __init__(self, **sections: Any) -> None:
        try:
            super().__init__(**sections)
        except ValidationError as error:
            raise InvalidPipeline(list(spec.problems_of(error))) from None

    @classmethod
    def of(cls, made: value.Pipeline) -> Pipeline:
        """The value that the loader made, with its verbs."""
        fields = {name: getattr(made, name) for name in value.Pipeline.model_fields}
        return Pipeline.model_construct(made.model_fields_set, **fields)

    def validate(self) -> Self:  # type: ignore[override]  # pydantic's own is of its first version, and deprecated
        """Check it again, as a whole. A value that was made is right already; a copy that was changed may not be."""
        return type(self)(**{name: getattr(self, name) for name in value.Pipeline.model_fields})

    def to_yaml(self) -> str:
        """The pipeline file of this value; what it gives loads as the same value."""
        return spec.to_yaml(self)

    def plan(self, spark: SparkSession | None = None, *, offline: bool = False) -> Outline:
        """What it would do: stages, sinks, what the next batch would read. Nothing is written."""
        return self._look(spark, None if offline else self._bootstrap()).outline()

    def preview(self, rows: int = 100, spark: SparkSession | None = None) -> Preview:
        """What becomes of the newest records of its topics. No state is touched."""
        return self._look(spark, self._bootstrap()).preview(rows)

    def explain(self, spark: SparkSession | None = None) -> str:
        """Spark's own plan of one batch, as text."""
        return self._look(spark, None).explain()

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
        from penstock.observe.logs import lines_to, to_all
        from penstock.observe.status import progress_to

        told = emit or lines_to(sys.stdout, as_json=False)
        options = RunOptions(once=once, accept_loss=accept_loss)
        run(self, options, to_all(told, progress_to(Path(self.state))), stopping, spark)

    def _look(self, spark: SparkSession | None, bootstrap: str | None) -> Look:
        from penstock.operate.looking import Look

        return Look(self, bootstrap, spark)

    def _bootstrap(self) -> str:
        from penstock.operate.reaching import bootstrap_of

        return bootstrap_of(self)

    def _repr_html_(self) -> str:
        """For a notebook: the file of this value."""
        from html import escape

        return f"<pre>{escape(self.to_yaml())}</pre>"


def load_pipeline(path: str | Path, env: str | None = None, set: Mapping[str, str] | None = None) -> Pipeline:
    """The pipeline of a file. Raises InvalidPipeline with every problem, each at its line."""
    return Pipeline.of(spec.load_pipeline(path, env, set))
