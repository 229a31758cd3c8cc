"""Spark's JVM, started by us: in less time than PySpark takes, and before the rest of a run is loaded and checked.

PySpark asks a JVM of its own for the command, and only then starts the real one. The command below is what Spark's
launcher says for this version (a test holds it to that). Where more than we know of goes into it, PySpark may ask.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from penstock.engine import java

KNOWN = "4.2.0"
"""The PySpark whose launcher was asked."""
OPENED = {
    "java.base": (
        *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util"),
        *("java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs"),
        *("sun.security.action", "sun.util.calendar"),
    ),
    "java.security.jgss": ("sun.security.krb5",),
}
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens={module}/{package}=ALL-UNNAMED" for module, all_ in OPENED.items() for package in all_),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
SPARKS, OURS = ("SPARK_", "PYSPARK_SUBMIT", "PYSPARK_GATEWAY"), {"SPARK_LOCAL_IP"}
"""What may change the command, or be a JVM that is there already; and what of it does neither."""
UNKNOWN = ("spark.driver.defaultJavaOptions", "spark.driver.extraLibraryPath")


class JvmEnded(Exception):
    """It ended before it was ready."""


class Jvm:
    """Spark's JVM from its start until PySpark has it. It ends when this process does, however that ends."""

    def __init__(self, settings: Mapping[str, str], output: Path) -> None:
        self.settings, self.taken = settings, False
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-jvm-"))
        output.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(output_to(output), "ab") as told:
            self.process = subprocess.Popen(
                command(settings),
                stdin=subprocess.PIPE,  # it ends when this breaks
                stdout=told,
                stderr=told,
                env={**os.environ, **environment(), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told)},
                process_group=0,  # Ctrl-C is for us: the batch in hand is finished first
            )

    @contextmanager
    def offered(self) -> Iterator[None]:
        """While the block runs, a context that PySpark makes is made in this JVM."""
        port, secret = self._gateway()
        os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        try:
            yield
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        from pyspark import SparkContext

        self.taken = True
        SparkContext._gateway.proc = self.process  # type: ignore[union-attr]  # where PySpark keeps its own

    def end(self) -> None:
        """End it, if nobody has taken it."""
        if not self.taken:
            self.process.kill()
            self.process.communicate()
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _told(self) -> Path:
        return self._folder / "gateway"

    def _gateway(self) -> tuple[int, str]:
        """Port and secret; the JVM puts them down, in one rename, when it is ready."""
        try:
            while not self._told.is_file():
                if self.process.poll() is not None:
                    raise JvmEnded(f"it ended with code {self.process.returncode}")
                time.sleep(0.02)
            with self._told.open("rb") as file:
                (port,) = struct.unpack("!i", file.read(4))
                return port, _text(file)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def knows(settings: Mapping[str, str]) -> bool:
    """Whether the command for these settings, in this environment, is the one that we know."""
    home = spark_home()
    strange = [name for name in os.environ if name.startswith(SPARKS) and name not in OURS]
    files = [name for name in ("spark-env.sh", "spark-defaults.conf", "java-opts") if (home / "conf" / name).exists()]
    unknown = [key for key in UNKNOWN if key in settings]
    local = settings["spark.master"].startswith("local") and os.name == "posix"
    return local and version("pyspark") == KNOWN and not (strange or files or unknown)


def command(settings: Mapping[str, str]) -> list[str]:
    """What starts the JVM, as Spark's launcher would say it."""
    jars = spark_home() / "jars"
    first = sorted(str(jar) for jar in jars.glob("slf4j-api-*.jar"))
    extra = [path for path in settings.get("spark.driver.extraClassPath", "").split(os.pathsep) if path]
    path = os.pathsep.join([*extra, f"{jars.parent / 'conf'}", *first, f"{jars}/*"])
    given = shlex.split(settings.get("spark.driver.extraJavaOptions", ""))
    told = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    memory = f"-Xmx{settings.get('spark.driver.memory', '1g')}"
    submit = ["org.apache.spark.deploy.SparkSubmit", *told, "pyspark-shell"]
    return [str(java.java()), "-cp", path, memory, *given, *OPTIONS, *submit]


def environment() -> dict[str, str]:
    """What Spark's scripts put into the environment."""
    home = spark_home()
    return {
        "PYTHONHASHSEED": "0",
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(home / "conf"),
        "SPARK_ENV_LOADED": "1",
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_CONNECT_MODE": "0",
    }


def output_to(path: Path) -> int:
    """A descriptor for what a JVM says; only for its owner: it may say anything."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def spark_home() -> Path:
    """Where PySpark is installed, with its jars; it is not imported for that."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("!i", file.read(4))
    return file.read(length).decode()
