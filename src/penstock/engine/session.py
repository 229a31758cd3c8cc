"""The Spark session: one place builds it, with defaults that were tested.

A session that is running already, or a cluster master, is used as given.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine import archive, collector, compiler, jars, java, sockets
from penstock.engine import jvm as jvms
from penstock.engine.jvm import Jvm, JvmEnded
from penstock.errors import SetupFailed
from penstock.paths import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline

CHECKPOINT_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"
ON_DISK = f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"
ELSEWHERE = f"{_MANAGERS}.FileContextBasedCheckpointFileManager"
"""Renames without overwriting in one step, which the other one does in two: two drivers could each think to be first.
On a local disk it would run a shell for every file."""
HIDE = "(?i)secret|password|token|access[.]?key|sasl|jaas|pem|private[ ._]?key|credential"
LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd'T'HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


ALLOCATING = {"TRIM_THRESHOLD_": 64 << 20, "MMAP_THRESHOLD_": 32 << 20, "TOP_PAD_": 16 << 20}
"""What glibc's allocator keeps in a Python worker. By itself it gives the memory of a decoded batch back to the system
and asks for it anew in the next one: a tenth of the worker's CPU went into page faults."""


def defaults(cores: int | None = None) -> dict[str, str]:
    """The settings every local session starts from; the pipeline's `spark:` section is laid over them."""
    slots = cores or os.cpu_count() or 2
    return {
        "spark.master": f"local[{slots},4]",  # without the 4, local mode never retries a task
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.speculation": "false",
        "spark.redaction.regex": HIDE,
        "spark.sql.redaction.options.regex": f"(?i)url|{HIDE.removeprefix('(?i)')}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": str(2 * slots),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",  # the default runs 50 tasks to read a small table
        "spark.sql.execution.arrow.maxRecordsPerBatch": "16000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
        **{f"spark.executorEnv.MALLOC_{name}": str(size) for name, size in ALLOCATING.items()},
        CHECKPOINT_MANAGER: ON_DISK,
        "spark.sql.streaming.metricsEnabled": "false",
    }


def session_of(pipeline: Pipeline, jvm: Jvm | None = None) -> SparkSession:
    """The Spark session of this pipeline, as `session` gives it; in this JVM, if one was started ahead."""
    return session(pipeline.name, _overrides(pipeline), _log(pipeline), jvm)


@contextmanager
def ahead(pipeline: Pipeline) -> Iterator[Jvm | None]:
    """Start the JVM now, for a session of the pipeline's that comes later. Nobody else may write into its logs yet."""
    jvm = None
    with suppress(OSError):  # the run will meet it as well, and say what it means
        settings = prepared(pipeline.name, _overrides(pipeline), _log(pipeline))
        jvm = Jvm(settings, _output(_log(pipeline))) if jvms.knows(settings) else None
    try:
        yield jvm
    finally:
        if jvm:
            jvm.end()


def session(name: str, overrides: dict[str, str], log: Path, jvm: Jvm | None = None) -> SparkSession:
    """The Spark session for this pipeline: the running one as it is, or a new one with our defaults."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    settings = jvm.settings if jvm else prepared(name, overrides, log)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it would print a batch's error a second time
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        if jvm is None and SparkContext._gateway is None and jvms.knows(settings):
            jvm = Jvm(settings, _output(log))
        with jvm.offered() if jvm else _output_to(_output(log)), _own_interrupt():
            return builder.getOrCreate()
    except (PySparkRuntimeError, JvmEnded) as error:
        raise SetupFailed(
            f"{name}: Spark's JVM did not start: {error}",
            data="Nothing was read or written.",
            remedy=f"What it said is at the end of {_output(log)}. Is there memory for it, and is it "
            "Java 17 or newer? Then run again.",
        ) from error


def prepared(name: str, overrides: dict[str, str], log: Path) -> dict[str, str]:
    """The settings of a new session; what of them belongs into this process's environment is put there."""
    settings = {**defaults(), "spark.app.name": f"penstock {name}", **overrides}
    if settings["spark.master"].startswith("local"):
        settings = {**_local_jars(), **sockets.settings(), **settings}
    settings["spark.driver.extraJavaOptions"] = _java_options(settings, log)
    os.environ["JAVA_HOME"] = str(java.java_home())
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return settings


def _overrides(pipeline: Pipeline) -> dict[str, str]:
    manager = {CHECKPOINT_MANAGER: ELSEWHERE} if is_remote(pipeline.state) else {}
    return {**manager, **pipeline.spark}


def _log(pipeline: Pipeline) -> Path:
    return pipeline.workplace / "logs" / "spark.log"


def _output(log: Path) -> Path:
    """What the JVM says that is no log line."""
    return log.with_name("spark.out")


def _local_jars() -> dict[str, str]:
    """On the class path: unlike `spark.jars`, that copies nothing at start-up."""
    return {"spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars.ensure("spark"))}


def _java_options(settings: dict[str, str], log: Path) -> str:
    log.parent.mkdir(parents=True, exist_ok=True)
    config = log.with_name("log4j2.properties")
    config.write_text(LOG4J.format(log=log))
    # Derby, the catalog's own store, would leave a log where the process stands; a path with a blank would not do
    own = f"-Dlog4j2.configurationFile={config.as_uri()} -Dderby.stream.error.file={os.devnull}"
    given = settings.get("spark.driver.extraJavaOptions", "")
    ours = [collector.java_options(settings), compiler.java_options(settings), archive.java_options()]
    return " ".join(filter(None, [own, *ours, given]))


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep our Ctrl-C: Spark's context would put its own in place, which cancels the batch in hand."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, ours)


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Let a child that starts now inherit `path` as its output: the terminal is ours, not the JVM's."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    target = jvms.output_to(path)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for handle in (*saved, target):
            os.close(handle)
