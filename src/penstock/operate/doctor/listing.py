"""The list of diagnoses as a table, for the documentation."""

from __future__ import annotations

import re

from penstock.operate.doctor.finding import DIAGNOSES

BEGIN, END = "<!-- diagnoses -->", "<!-- end of diagnoses -->"
_BETWEEN = re.compile(f"{BEGIN}\n.*{END}", re.DOTALL)


def table() -> str:
    """Every diagnosis: its code, its harm, when it is found. The most harmful first."""
    rows = sorted(DIAGNOSES, key=lambda each: (-each.harm, each.code))
    lines = [f"| `{each.code}` | {each.harm.word} | {each.about} |" for each in rows]
    return "\n".join(["| code | harm | found when |", "|---|---|---|", *lines])


def page(text: str) -> str:
    """The page with a fresh table between its marks."""
    assert BEGIN in text, f"the page has no mark {BEGIN}"
    assert END in text, f"the page has no mark {END}"
    return _BETWEEN.sub(lambda _match: f"{BEGIN}\n{table()}\n{END}", text)
