"""Brings both sets of jars into the cache; ends with 10 when it had to fetch, 1 with a message when it could not."""

import sys

from penstock.engine import jars
from penstock.errors import PenstockError

said: list[str] = []


def say(line: str) -> None:
    said.append(line)
    print(f"setup: {line}", flush=True)


try:
    for name in jars.LOCKS:
        jars.ensure(name, say)
except PenstockError as error:
    sys.exit(f"setup: {error}")
sys.exit(10 if said else 0)
