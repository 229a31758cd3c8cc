"""The reference of the pipeline file as Markdown: one table for each section.

A key is described once, in its field. `make reference` puts these tables into docs/pipeline-file.md; a test fails when
the page and the models disagree.
"""

from __future__ import annotations

from penstock.spec.sections import Key, Section, sections

HEAD = "| key | type | default | meaning |\n|---|---|---|---|"
BEGIN, END = "<!-- made by scripts/reference.py: begin -->", "<!-- made by scripts/reference.py: end -->"


def tables() -> str:
    """Every section of the pipeline file, in the order of a file."""
    return "\n\n".join(map(_table, sections()))


def page(text: str) -> str:
    """The page with fresh tables between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the tables: it needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def _table(section: Section) -> str:
    return "\n".join([f"### {section.title}", "", section.about, "", HEAD, *map(_line, section.keys)])


def _line(key: Key) -> str:
    cells = (f"`{key.path}`", key.type, key.standing, key.meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
