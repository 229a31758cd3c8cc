"""The table of `penstock top`: a line for each pipeline, as wide as there is room, and below it what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.text import Text

from penstock.cli.tables import number
from penstock.counting import spoken
from penstock.observe.live.words import BLOCKS, Glyphs, column, interval, seconds, sparkline
from penstock.observe.logs import printable
from penstock.operate.standings import Standing

FINE, TROUBLE, NOTICE = "green", "red", "magenta"
STYLES = {"failed": TROUBLE, "dead": TROUBLE, "waiting": TROUBLE, "working": FINE, "idle": FINE, "paused": NOTICE}
"""Beside the word, which says the same."""
LEAST_NAME, MOST_NAME = 10, 28
LEAST_SPARK, MOST_SPARK = 8, 40
GAP = 2


class Column(NamedTuple):
    """One figure of each pipeline."""

    head: str
    of: Callable[[Standing], str]
    order: int
    """The highest goes first where there is no room."""


def _alerts(standing: Standing) -> str:
    return str(len(standing.alerts)) if standing.alerts else "-"


def _batch(standing: Standing) -> str:
    took, every = standing.batch_seconds, standing.every_seconds
    if took is None:
        return "-"
    return seconds(took) + (f" of {interval(every)}" if every else "")


COLUMNS = (
    Column("state", lambda each: each.state, 0),
    Column("fresh", lambda each: spoken(each.freshness_seconds), 1),
    Column("lag rows", lambda each: number(each.lag_rows), 2),
    Column("rows/s", lambda each: number(each.rows_per_second), 4),
    Column("batch", _batch, 5),
    Column("rejects/s", lambda each: number(each.rejects_per_second), 6),
    Column("alerts", _alerts, 3),
)


def table(
    standings: Sequence[Standing], width: int, glyphs: Glyphs = BLOCKS, selected: int | None = None
) -> list[Text]:
    """The head and a line for each pipeline. What has no room is left out whole: no figure is cut in two."""
    names = _names(standings, width)
    shown, widths = _fitting(standings, width - names - 2)
    room = width - 2 - names - sum(widths.values()) - GAP * (len(shown) + 1)
    spark = min(MOST_SPARK, room) if room >= LEAST_SPARK else 0
    head = Text("  " + column("pipeline", names, glyphs), "bold", no_wrap=True)
    for each in shown:
        head.append(" " * GAP + _aligned(each.head, each, widths))
    made = [head]
    for place, standing in enumerate(standings):
        made.append(_line(standing, names, shown, widths, spark, glyphs, chosen=place == selected))
    return made


def _line(
    standing: Standing,
    names: int,
    shown: Sequence[Column],
    widths: dict[str, int],
    spark: int,
    glyphs: Glyphs,
    *,
    chosen: bool,
) -> Text:
    line = Text("> " if chosen else "  ", "bold" if chosen else "", no_wrap=True)
    line.append(column(standing.name, names, glyphs), "bold" if chosen else "")
    for each in shown:
        line.append(" " * GAP).append(_aligned(each.of(standing), each, widths), _style(each, standing))
    if spark:
        line.append(" " * GAP + sparkline(standing.rates(spark), spark, glyphs), "blue")
    return line


def troubles(standings: Sequence[Standing]) -> Iterator[str]:
    """What is behind the words: a line for each alert, and for each pipeline that does not go on."""
    for each in standings:
        name = printable(each.name)
        if each.why:
            yield f"{name} ({each.state}): {printable(each.why)}"
        for alert in each.alerts:
            yield f"{name} (ALERT {printable(str(alert.get('alert')))}): {printable(str(alert.get('text')))}"


def as_lines(standings: Sequence[Standing], width: int) -> Iterator[str]:
    """The whole as plain text."""
    for line in table(standings, width):
        yield line.plain.rstrip()
    yield from (f"  {text}" for text in troubles(standings))


def as_json(standings: Sequence[Standing]) -> dict[str, Any]:
    """The same for scripts. Names are as they are, not as they are printed."""
    return {"at": standings[0].at if standings else None, "pipelines": [_as_json(each) for each in standings]}


def _as_json(each: Standing) -> dict[str, Any]:
    figures = ("running", "freshness_seconds", "lag_rows", "rows_per_second", "rejects_per_second", "batch_seconds")
    more = ("every_seconds", "generation", "silent_seconds")
    return {
        "pipeline": each.name,
        "file": each.subject.file or None,
        "folder": str(each.subject.state),
        "state": each.state,
        "why": each.why,
        **{name: getattr(each, name) for name in (*figures, *more)},
        "batch_id": each.last.batch_id if each.last else None,
        "alerts": list(each.alerts),
    }


def _names(standings: Sequence[Standing], width: int) -> int:
    """Cells for the names: a quarter of the width at most, for the figures tell more."""
    longest = max((Text(printable(each.name)).cell_len for each in standings), default=0)
    return min(max(LEAST_NAME, longest), max(LEAST_NAME, min(MOST_NAME, width // 4)))


def _fitting(standings: Sequence[Standing], room: int) -> tuple[list[Column], dict[str, int]]:
    """The columns that have room, and how wide each is; the least needed ones go first."""
    widths = {each.head: max([len(each.head), *(len(each.of(one)) for one in standings)]) for each in COLUMNS}
    kept = list(COLUMNS)
    while len(kept) > 1 and sum(widths[each.head] + GAP for each in kept) > room:
        kept.remove(max(kept, key=lambda each: each.order))
    return kept, {each.head: widths[each.head] for each in kept}


def _aligned(text: str, of: Column, widths: dict[str, int]) -> str:
    return text.ljust(widths[of.head]) if of.head == "state" else text.rjust(widths[of.head])


def _style(of: Column, standing: Standing) -> str:
    if of.head == "state":
        return STYLES.get(standing.state, "")
    return TROUBLE if of.head == "alerts" and standing.alerts else ""
