"""Numbers with their nouns and units, as a person says them."""

from __future__ import annotations

UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def counted(count: int, noun: str, several: str = "") -> str:
    """`1 record`, `1,000 records`; `several` where more than one is not the noun with an `s`."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def spoken(seconds: float | None) -> str:
    """A length of time: `0.4 s`, `12 s`, `5 min`, `3.5 h`, `6 d`; `-` if nobody knows."""
    if seconds is None:
        return "-"
    for size, unit in UNITS:
        if seconds >= size:
            amount = seconds / size
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:,.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def size(count: float) -> str:
    """Bytes: `512 B`, `1.5 MB`."""
    for power, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= power:
            return f"{count / power:.1f} {unit}"
    return f"{count:.0f} B"
