"""Where a pipeline's state is: a folder of this machine, or one that only Spark's JVM can reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine.session import session_of
from penstock.files import Place, Remote
from penstock.paths import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline


def place_of(pipeline: Pipeline, session: Callable[[], SparkSession] | None = None) -> Place:
    """The pipeline's state. For one on another file system this starts Spark, unless `session` has it running.

    Its Hadoop settings are those of the pipeline's `spark` section (`spark.hadoop.*`) and of HADOOP_CONF_DIR.
    """
    if not is_remote(pipeline.state):
        return Path(pipeline.state)
    from penstock.hadoop import HadoopFiles

    spark = session() if session else session_of(pipeline)
    return Remote(pipeline.state, HadoopFiles(spark, pipeline.state), pipeline.workplace)
