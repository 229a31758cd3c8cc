"""How soon the JVM of a local session gives a method to its second compiler.

Java has two: one that is quick, and one that makes quicker code and takes much longer over it. Spark's driver runs
through a great many methods, each a few thousand times in a run of minutes, and the second compiler never earns what it
spends on them. What every record goes through is called millions of times: it gets there as well, a moment later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

THRESHOLDS = {"Invocation": 20_000, "MinInvocation": 2_400, "Compile": 60_000, "BackEdge": 160_000}
"""Four times Java's own. With sixteen times what records go through is slower; the first runs take a little less."""


def java_options(settings: Mapping[str, str]) -> str:
    """The thresholds; nothing where the user has said anything of the kind."""
    given = " ".join(settings.get(f"spark.driver.{which}JavaOptions", "") for which in ("extra", "default"))
    if re.search(r"-XX:[+-]?\w*(Tier|CompileThreshold|JVMCI)|-Xint|-Xcomp", given):
        return ""
    return " ".join(f"-XX:Tier4{name}Threshold={count}" for name, count in THRESHOLDS.items())
