"""Brings both sets of jars into the cache. Ends with 10 if it had to fetch, 11 if there is no Java, 1 if it failed."""

import sys

from penstock.engine import jars
from penstock.engine.java import java_home
from penstock.errors import PenstockError

said: list[str] = []


def say(line: str) -> None:
    said.append(line)
    print(f"setup: {line}", flush=True)


try:
    java_home()
except PenstockError:
    sys.exit(11)
try:
    for name in jars.LOCKS:
        jars.ensure(name, say)
except PenstockError as error:
    sys.exit(f"setup: {error}")
sys.exit(10 if said else 0)
