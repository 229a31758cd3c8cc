"""A job's rows come to Python through a file that only we may open, not through a port that serves whoever asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.util import _load_from_socket

from penstock.testing.harness import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_a_job_collects_waits_in_our_folder(spark: SparkSession) -> None:
    served = spark.range(3)._jdf.collectToPython()
    folder = Path(served[0]).parent
    assert folder.stat().st_mode & 0o077 == 0
    assert str(folder) == spark.conf.get("spark.python.unix.domain.socket.dir")
    with _load_from_socket(served, BatchedSerializer(CPickleSerializer())) as rows:
        assert [row.id for row in rows] == [0, 1, 2]


def test_a_hundred_jobs_leave_no_files_behind(spark: SparkSession) -> None:
    folder = Path(str(spark.conf.get("spark.python.unix.domain.socket.dir")))
    before = set(folder.iterdir())
    for _ in range(100):
        spark.range(3).collect()
    wait_until(lambda: set(folder.iterdir()) <= before, "the JVM has removed the file of each job")
