"""README and docs as blocks: what kind each is, where it stands, what it says."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/**/*.md"))
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One fenced block of a page."""

    page: Path
    line: int
    kind: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path, *kinds: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match["kind"], textwrap.dedent(match["text"]))
        for match in FENCE.finditer(text)
        if not kinds or match["kind"] in kinds
    ]


def blocks(*kinds: str) -> list[Block]:
    """The blocks of these kinds on every page."""
    return [block for page in PAGES for block in blocks_of(page, *kinds)]


def prose_of(page: Path) -> str:
    """A page without its blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


class Command(NamedTuple):
    """A line that a person types, and what the page shows below it."""

    block: Block
    line: str
    shown: list[str]

    @property
    def programs(self) -> list[list[str]]:
        """Each program of the line with its arguments."""
        words = shlex.split(self.line, comments=True)
        cuts = [place for place, word in enumerate(words) if word in ("|", "&&")]
        return [words[a + 1 : b] for a, b in zip([-1, *cuts], [*cuts, len(words)], strict=True)]


def commands_of(block: Block) -> list[Command]:
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(block, line.removeprefix("$ "), []))
        else:
            assert found, f"{block.place}: a console block begins with a command"
            found[-1].shown.append(line)
    return found


def table_after(page: Path, head: str) -> list[list[str]]:
    """The cells of the table whose head begins so, row by row."""
    text = page.read_text(encoding="utf-8")
    assert text.count(f"\n{head}") == 1, f"{page.name} has the table {head!r} once"
    lines = text.partition(f"\n{head}")[2].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def bare(cell: str) -> str:
    """A cell without its backticks and spaces."""
    return cell.strip().strip("`")


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
