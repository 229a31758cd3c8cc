"""Brings both sets of jars into the cache, and makes the class archive.

Ends with 10 if it had something to do, 11 if there is no Java, 1 if it failed.
"""

import sys

from penstock.dev import training
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
    training.ensure(say)
except PenstockError as error:
    sys.exit(f"setup: {error}")
sys.exit(10 if said else 0)
