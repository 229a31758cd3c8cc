"""Numbers with their nouns, as a person says them."""

from __future__ import annotations


def counted(count: int, noun: str, several: str = "") -> str:
    """`1 record`, `1,000 records`; `several` where more than one is not the noun with an `s`."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
