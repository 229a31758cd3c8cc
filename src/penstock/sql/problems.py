"""What is wrong with a SQL text, each problem at its place in the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class SqlProblem(NamedTuple):
    """What is wrong at one place of a SQL text, and what to write instead. Rows and columns count from 1."""

    row: int
    column: int
    message: str
    remedy: str = ""


class SqlWrong(ValueError):
    """The SQL text cannot be taken. `problems` holds every one, in the order of the text."""

    def __init__(self, problems: Iterable[SqlProblem]) -> None:
        self.problems = sorted(dict.fromkeys(problems))
        told = (f"line {each.row}, column {each.column}: {each.message} {each.remedy}" for each in self.problems)
        super().__init__("; ".join(text.strip() for text in told))
