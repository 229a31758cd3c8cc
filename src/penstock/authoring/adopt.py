"""Fields that a declared JSON schema does not name: found in the newest records, with types and examples; adopted.

`init` infers with the same code. What no type takes is shown and left alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.authoring.infer import infer
from penstock.authoring.values import parse, problem_with
from penstock.errors import PenstockError
from penstock.formats.json import Json
from penstock.formats.schemas import parse_ddl
from penstock.formats.types import Field, to_ddl
from penstock.pipeline import Pipeline
from penstock.spec.load import Document, read_file, read_text
from penstock.spec.tree import Node

LONGEST = 60
"""Letters of an example that are shown."""


@dataclass(frozen=True)
class Undeclared:
    """A field that the schema does not name."""

    name: str
    type: str
    """As DDL spells it; empty where no type takes its values."""
    seen: int
    example: str
    why: str = ""
    """Why no type was found."""

    @property
    def ddl(self) -> str:
        return f"{self.name} {self.type}" if self.type else f"{self.name} (left alone: {self.why})"


@dataclass(frozen=True)
class Found:
    records: int
    fields: tuple[Undeclared, ...]

    @property
    def typed(self) -> tuple[Undeclared, ...]:
        return tuple(field for field in self.fields if field.type)


def undeclared(pipeline: Pipeline, values: Iterable[bytes | None]) -> Found:
    """The top-level fields of these records that the pipeline's schema does not name."""
    if not isinstance(pipeline.decode, Json):
        raise PenstockError(
            f"{pipeline.name}: only a declared JSON schema is adopted into.",
            remedy="With a registry new fields are taken by `schema_changes`:  penstock schema list",
        )
    declared = {field.name for field in pipeline.decode.fields}
    objects = [made for value in values if value and not problem_with(value) and (made := parse(value)) is not None]
    strange = [{name: value for name, value in each.items() if name not in declared} for each in objects]
    fields = [
        Undeclared(
            each.name,
            "" if each.type is None else str(each.type),
            each.present,
            next(iter(each.shape.examples), "null")[:LONGEST],
            each.shape.why,
        )
        for each in infer(strange)
    ]
    return Found(len(objects), tuple(sorted(fields, key=lambda field: -field.seen)))


def adopted(file: Path, pipeline: Pipeline, found: Found) -> str:
    """The text of the pipeline file with these fields behind the others in its schema. Nothing else is changed."""
    document = read_file(file)
    node = _schema_of(document)
    more = [Field(field.name, parse_ddl(f"`{field.name}` {field.type}")[0].type) for field in found.typed]
    first, last = node.span
    written = document.text[first:last]
    if node.style in ("|", ">"):
        body = written.rstrip()
        indent = " " * (len(body.splitlines()[-1]) - len(body.splitlines()[-1].lstrip()))
        made = f"{body},\n{indent}{to_ddl(tuple(more))}{written[len(body) :]}"
    elif node.style in ("'", '"'):
        made = f"{written[:-1]}, {to_ddl(tuple(more))}{written[-1]}"
    else:
        made = json.dumps(f"{node.written}, {to_ddl(tuple(more))}", ensure_ascii=False)  # now it may hold a `:`
    text = document.text[:first] + made + document.text[last:]
    _is_what_was_meant(text, file, (*pipeline.decode.fields, *more))
    return text


def _schema_of(document: Document) -> Node:
    return document.root.children["decode"].children["json"].children["schema"]


def _is_what_was_meant(text: str, file: Path, wanted: tuple[Field, ...]) -> None:
    """The file must read back as the same schema with the new fields: one with an alias or folded lines may not."""
    document = read_text(text.encode(), str(file), file.absolute().parent)
    if parse_ddl(_schema_of(document).value) != wanted:
        raise PenstockError(
            f"{file}: its schema cannot be changed by a machine.",
            data="The file is as it was.",
            remedy=f"Add to it by hand:  {to_ddl(wanted)}",
        )
