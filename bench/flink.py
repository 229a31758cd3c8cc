"""The main job in PyFlink: the topic as a table, parsed by Python, the tables by deltalake.

Flink has no Delta sink for this version, and Python cannot write sinks of its own: so a function at the end gathers
the rows. It must know how many records there are: of what it wrote in `close()` nothing was there after some runs.
Every drain starts a Flink of its own inside the JVM; that is in its figure.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.job import Job
from bench.peers import Tables, parsed, waiting

CONNECTOR = "connector-kafka.jar"
"""What it is called in the environment of Flink: `bench.peers_environment` puts it there."""
SOURCE = """
CREATE TEMPORARY TABLE payments (`value` BYTES, `partition` INT METADATA, `offset` BIGINT METADATA) WITH (
  'connector' = 'kafka',
  'topic' = '{job.topic}',
  'properties.bootstrap.servers' = '{job.bootstrap}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'value.format' = 'raw'
)
"""


def pyflink(job: Job) -> None:
    from pyflink.common import Configuration, Types
    from pyflink.datastream import FlatMapFunction, StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment

    records = waiting(job)

    class Sink(FlatMapFunction):  # type: ignore[misc]
        def open(self, _context: Any) -> None:
            self.tables, self.seen = Tables(job), 0

        def flat_map(self, row: Any) -> tuple[()]:
            value, partition, offset = row
            self.tables.add(parsed(value), value, (job.topic, partition, offset))
            self.seen += 1
            if self.seen == records:
                self.tables.flush()
            return ()

    settings = Configuration()
    settings.set_string("python.executable", sys.executable)
    settings.set_string("pipeline.jars", (Path(sys.prefix) / CONNECTOR).as_uri())
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    tables.execute_sql(SOURCE.format(job=job))
    stream = tables.to_data_stream(tables.from_path("payments"))
    stream.flat_map(Sink(), output_type=Types.INT()).print()
    environment.execute()
