"""Problem: one thing that is wrong with a pipeline file, where it stands and how to mend it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_SECRET = re.compile(r"secret|password|token|credential|passwd|(^|[._-])key$", re.IGNORECASE)

Path = tuple[str | int, ...]
"""The keys and list places that lead to a value: `("source", "kafka", "topics", 0)`."""


class Place(NamedTuple):
    """Line and column, from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Problem:
    """Where, what was found, and what to do."""

    file: str
    line: int
    column: int
    path: str
    """The keys that lead there: `source.kafka.topics[0]`; empty for the file as a whole."""
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else f"{self.file}"
        head = f"{where} {self.path}: {self.message}" if self.path else f"{where}: {self.message}"
        return f"{head}\n  {self.remedy}" if self.remedy else head


def spelled(path: Path) -> str:
    """The path as people write it: `spark.`spark.speculation``, `topics[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if re.fullmatch(r"[\w-]+", part) else f"`{shortened(part)}`")
    return text


def may_be_secret(key: str | int) -> bool:
    """Does this key look as if it held a password? What it holds is not shown then."""
    return bool(_SECRET.search(str(key)))


def shortened(text: str, limit: int = 60) -> str:
    """One line of at most this many characters, without control characters."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
