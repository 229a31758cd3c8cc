"""The class archive: the classes that a run loads, laid out for the JVM once, so that it starts in less time.

Java calls it class-data sharing. An archive fits one Java and one class path; its name says which, and where it does
not fit after all the JVM goes on without it. `penstock.dev.training` makes it, at set-up.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from importlib.metadata import version
from pathlib import Path

from penstock.engine import jars, java
from penstock.engine.cache import cache_home

TRAINING = "PENSTOCK_CLASS_ARCHIVE_TO"
"""In the environment of the run that an archive is made of: where to put it when the JVM ends."""


def place() -> Path:
    """Where the archive for this Java, this PySpark and these jars is, or would be."""
    home = java.java_home()
    release = home / "release"
    told = release.read_text(errors="replace") if release.is_file() else ""
    sums = [jar.sha256 for jar in jars.lock("spark")]
    pyspark = importlib.util.find_spec("pyspark")
    parts = [str(home), told, version("pyspark"), str(pyspark and pyspark.origin), *sums]
    return cache_home() / "classes" / f"{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:16]}.jsa"


def java_options() -> str:
    """What tells the JVM of it; nothing where there is none."""
    if to := os.environ.get(TRAINING):
        return f"-XX:ArchiveClassesAtExit={to}"
    archive = place()
    if " " in str(archive) or not archive.is_file():
        return ""
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
