"""A real HDFS of one name node and one data node, from Hadoop's own jar, for tests of create-once files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from penstock.dev.launcher import die_with_this_process
from penstock.dev.ports import free_port
from penstock.engine import ivy
from penstock.engine.cache import cache_home, locked
from penstock.engine.jars import Jar, sha256_of
from penstock.engine.java import java

JAR = Jar(
    "org.apache.hadoop",
    "hadoop-client-minicluster",
    "3.5.0",
    "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
)
"""The servers; the rest of Hadoop is PySpark's. 56 MB, fetched once into the cache that all projects share."""
SERVERS = "org.apache.hadoop.hdfs.server"


def kill_name_node(folder: Path) -> None:
    """End the name node of the file system in this folder as a crash would."""
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if f"{SERVERS}.namenode.NameNode" in line and any(part.startswith(f"{folder}:") for part in line):
            process.kill()
            process.wait(30)


def start_name_node(folder: Path) -> subprocess.Popen[bytes]:
    """Start it again, with the names that it had."""
    with (folder / "hdfs.out").open("ab") as out:
        return subprocess.Popen(
            _command(folder, "namenode.NameNode"),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            preexec_fn=die_with_this_process,  # noqa: PLW1509 one thread
        )


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """The URI of an empty file system in this folder, while the block runs. It may need some seconds to answer."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    (folder / "hdfs-site.xml").write_text(_settings(folder, port), encoding="utf-8")
    with (folder / "hdfs.out").open("wb") as out:
        subprocess.run(_command(folder, "namenode.NameNode", "-format", "-force"), check=True, stdout=out, stderr=out)
        nodes = [
            subprocess.Popen(
                _command(folder, main),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=die_with_this_process,  # noqa: PLW1509 one thread
            )
            for main in ("namenode.NameNode", "datanode.DataNode")
        ]
    try:
        yield f"hdfs://127.0.0.1:{port}"
    finally:
        for node in nodes:
            node.kill()
            node.wait()


def _command(folder: Path, main: str, *arguments: str) -> list[str]:
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    classpath = f"{folder}:{_jar()}:{jars}/*"
    memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [str(java()), *memory, "-cp", classpath, f"{SERVERS}.{main}", *arguments]


def _jar() -> Path:
    place = cache_home() / "jars" / "hdfs-3.5.0"
    path = place / JAR.file
    with locked(place / ".lock"):
        if not path.exists():
            with TemporaryDirectory(dir=place) as fetched:
                ivy.fetch([JAR], Path(fetched), lambda _line: None)
                assert sha256_of(Path(fetched) / JAR.file) == JAR.sha256, "the jar is not the one that is meant"
                (Path(fetched) / JAR.file).replace(path)
    return path


def _settings(folder: Path, port: int) -> str:
    settings = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{port}",
        "dfs.namenode.name.dir": (folder / "names").as_uri(),
        "dfs.datanode.data.dir": (folder / "blocks").as_uri(),
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        **dict.fromkeys(
            (
                "dfs.namenode.http-address",
                "dfs.datanode.http.address",
                "dfs.datanode.address",
                "dfs.datanode.ipc.address",
            ),
            "127.0.0.1:0",
        ),
    }
    body = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    return f"<configuration>{body}</configuration>"
