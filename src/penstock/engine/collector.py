"""Which garbage collector the JVM of a local session gets.

Java's default, G1, lays every array of half a region or more aside as humongous, and what Kafka's client fetches are
such arrays: on the main job that took as much CPU as all the rest of the JVM. The parallel collector has no such
notion. It stops the program while it collects, which a small heap does not notice and a large one would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LARGE_HEAP = 8 << 30
"""From here on a whole collection would stop a batch for seconds: Java's own choice is then better."""
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def java_options(settings: Mapping[str, str]) -> str:
    """The collector for this heap; nothing where the user has named one (the JVM refuses two)."""
    given = " ".join(settings.get(f"spark.driver.{which}JavaOptions", "") for which in ("extra", "default"))
    if re.search(r"-XX:[+-]Use\w+GC\b", given) or _bytes(settings.get("spark.driver.memory", "")) >= LARGE_HEAP:
        return ""
    return "-XX:+UseParallelGC"


def _bytes(size: str) -> int:
    """`2g` as Spark reads it; a bare number counts in MiB. What cannot be read is Spark's to refuse."""
    found = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", size.strip().lower())
    if found is None:
        return 0
    return int(found[1]) * UNITS[found[2] or "m"]
