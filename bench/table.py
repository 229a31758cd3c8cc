"""The figures of a benchmark as a Markdown table and as an SVG chart."""

from __future__ import annotations

import os
from html import escape
from typing import Any

from bench.lane import CORES, HEAP
from bench.topic import PARTITIONS

Told = dict[str, Any]
BAR, GAP, LEFT, WIDE = 18, 10, 330, 420


def markdown(told: Told, bases: tuple[str, ...]) -> str:
    """One line a variant, the ratios with their spread, and what each took for good that was broken."""
    names = [base for base in bases if base in told["variants"]]
    head = (
        f"Kafka to Delta, {told['events']:,} payments in {PARTITIONS} partitions, {told['broken']:,} of them broken; "
    )
    lines = [
        head + f"{CORES} cores, {HEAP} heap, {told['rounds']} rounds after warm-up, median (least to most).",
        "",
        "| variant | CPU-s | k rows/CPU-s | wall s | peak MB |" + "".join(f" CPU of {n} / its own |" for n in names),
        "|---|---|---|---|---|" + "---|" * len(names),
        *(_line(name, each, names) for name, each in told["variants"].items()),
        "",
        f"Load of the machine at the end: {told['load']:.1f} on {os.cpu_count()} cores.",
        "",
        "Broken events that ended in the table as if they were good:",
        *(f"- {name}: {_counts(each['accepted'])}" for name, each in told["variants"].items()),
    ]
    return "\n".join(lines)


def _line(name: str, each: Told, bases: list[str]) -> str:
    ratios = [f"**{shown(each['against'][base])}**" if base in each["against"] else "" for base in bases]
    cells = [
        f"{name}: {each['title']}",
        shown(each["cpu_seconds"]),
        f"{each['rows_per_cpu_second'] / 1000:.0f}",
        shown(each["wall_seconds"]),
        f"{each['peak_bytes'] / 1e6:.0f}",
        *ratios,
    ]
    return f"| {' | '.join(cells)} |"


def shown(spread: dict[str, float]) -> str:
    return f"{spread['median']:.1f} ({spread['least']:.1f} to {spread['most']:.1f})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{code} {count:,}" for code, count in sorted(counts.items())) or "none"


def chart(told: Told) -> str:
    """Rows per CPU-second, a bar for each variant. Readable on a light and on a dark page."""
    rates = {name: each["rows_per_cpu_second"] / 1000 for name, each in told["variants"].items()}
    most, height = max(rates.values()), GAP + len(rates) * (BAR + GAP) + 24
    bars = []
    for number, (name, rate) in enumerate(rates.items()):
        top, width = GAP + number * (BAR + GAP), WIDE * rate / most
        fill = "#0f766e" if name.startswith("P") else "#94a3b8"
        title = escape(f"{name}: {told['variants'][name]['title']}")
        bars += [
            f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end">{title}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="3" fill="{fill}"/>',
            f'<text x="{LEFT + width + 6:.1f}" y="{top + 13}">{rate:.0f}</text>',
        ]
    foot = f'<text x="{LEFT}" y="{height - 6}" opacity="0.7">thousand rows per CPU-second; more is better</text>'
    style = "<style>text{font:12px system-ui,sans-serif;fill:#64748b}</style>"
    size = f'viewBox="0 0 {LEFT + WIDE + 60} {height}" width="{LEFT + WIDE + 60}" height="{height}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', style, *bars, foot, "</svg>", ""])
