"""A document -> the Pipeline it describes, or every problem found, each at its line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from penstock.errors import InvalidPipeline
from penstock.options import Wrong
from penstock.pipeline import Pipeline
from penstock.spec import models, words
from penstock.spec.load import Document
from penstock.spec.problems import Path, Place
from penstock.spec.references import VAGUE, References
from penstock.spec.tree import NO_VALUE, Found, Node
from penstock.spec.variables import FileKeys, take_variables


def check(document: Document, env: str | None = None, given: Mapping[str, str] | None = None) -> Pipeline:
    """The pipeline that this document describes, in this environment and with these variables set.

    Raises InvalidPipeline with every problem, in file order.
    """
    early = [*_with_bare_words(document), *_python_only(document.root), *_file_keys(document)]
    variables = take_variables(document.root, env, given or {})
    references = References(document.folder, variables)
    early += [*references.fill(document.root), *variables.found]
    try:
        tree = {**document.root.plain(), "folder": document.folder}
        pipeline = Pipeline.model_validate(tree, by_alias=True, by_name=False)
    except ValidationError as error:
        told = {path for _, path, _, _ in early} | references.untold
        raise _invalid(document, early + list(_Late(document, told, references).problems(error))) from None
    if early:
        raise _invalid(document, early)
    return pipeline


def _invalid(document: Document, found: list[Found]) -> InvalidPipeline:
    ordered = sorted(dict.fromkeys(found), key=lambda each: each[0])
    return InvalidPipeline([document.problem(each) for each in ordered])


def _with_bare_words(document: Document) -> Iterator[Found]:
    """The problems of the tree; a part without settings is told to stand alone instead of getting a value."""
    for place, path, message, remedy in document.problems:
        word = models.bare_word(path) if message == NO_VALUE else ""
        yield place, path, message, f"Write it like  {path[-2]}: {word}" if word else remedy


def _python_only(root: Node) -> Iterator[Found]:
    """`folder` is a keyword of Python's Pipeline, `to` of its Sink: no keys of a file."""
    sections: list[tuple[Path, Node, str]] = [((), root, "folder")]
    if "sinks" in root.children:
        sections += [(("sinks", name), sink, "to") for name, sink in root.children["sinks"].children.items()]
    for path, node, key in sections:
        if key in node.children:
            del node.children[key]
            yield node.keys[key], (*path, key), *models.no_such_option((*path, key))


def _file_keys(document: Document) -> Iterator[Found]:
    """What is wrong with `vars` and `environments` themselves."""
    nodes = {key: node for key, node in document.root.children.items() if key in FileKeys.model_fields}
    try:
        if nodes:
            FileKeys.model_validate({key: node.plain() for key, node in nodes.items()})
    except ValidationError as error:
        yield from _Late(document, set()).problems(error)


class _Late:
    """Line errors of pydantic's -> problems of the file, without those that only follow from another one."""

    def __init__(self, document: Document, told: set[Path], references: References | None = None) -> None:
        self.document, self.told, self.references = document, told, references
        self.meant: set[Path] = set()
        """Keys that an unknown key was probably meant to be: to call them missing as well would be noise."""

    def problems(self, error: ValidationError) -> Iterator[Found]:
        lines: Any = error.errors(include_url=False, include_input=False)
        strange = [line for line in lines if line["type"] == "extra_forbidden"]
        for line in strange:
            yield self._strange(Spot(self.document.root, line["loc"]))
        for line in lines:
            if line["type"] not in ("extra_forbidden", "default_factory_not_called"):
                yield from self._line(line["type"], line.get("ctx", {}), Spot(self.document.root, line["loc"]))

    def _strange(self, spot: Spot) -> Found:
        nearest = models.nearest(spot.path)
        if nearest:
            self.meant.add((*spot.path[:-1], nearest))
        return spot.key, spot.path, *models.no_such_option(spot.path)

    def _line(self, kind: str, ctx: dict[str, Any], spot: Spot) -> Iterator[Found]:
        error = ctx.get("error")
        if self._follows(kind, error, spot):
            return
        if kind == "missing":
            yield from self._missing(spot)
        elif isinstance(error, ValueError) and hasattr(error, "problems") and spot.node:
            inside = Inside(self.document.text, spot.node)
            for row, column, message, remedy in error.problems:
                yield inside.place(row, column), spot.path, message, remedy
        else:
            spot.on_key |= kind == "invalid_key"
            node = None if spot.on_key else spot.node
            yield spot.place, spot.path, *self._discreet(*words.said(kind, ctx, node, spot.path), spot)

    def _discreet(self, message: str, remedy: str, spot: Spot) -> tuple[str, str]:
        """The same words without what a reference brought in: it may be a secret."""
        if self.references is None:
            return message, remedy
        path = None if spot.on_key else spot.path
        safe, mend = (self.references.discreet(text, path) for text in (message, remedy))
        return safe or VAGUE, mend if mend or not remedy else words.found(spot.node, spot.path)

    def _follows(self, kind: str, error: object, spot: Spot) -> bool:
        """Does this only say what another problem says already?"""
        if any(path[: len(spot.path)] == spot.path for path in self.told if spot.path):
            return True
        if kind == "too_short" and spot.node is not None and spot.node.children:
            return True  # it holds something; that is wrong, and told at its own place
        if kind == "missing":
            return spot.path in self.meant
        meant_here = {path[-1] for path in self.meant if path[:-1] == spot.path}
        return isinstance(error, Wrong) and any(f"`{key}`" in error.what for key in meant_here)

    def _missing(self, spot: Spot) -> Iterator[Found]:
        """A required key that is not there: its section is shown."""
        if spot.path[:1] == ("sinks",) and len(spot.path) == 2:  # Sink.to, which a file writes as the sink's one sort
            if spot.node is not None and not spot.node.children:
                yield spot.key, spot.path, "needs a sort of sink.", "Write it like  {delta: {table: ./lake/orders}}"
            return
        yield spot.key, spot.path, "is required, and missing.", models.description(spot.path)


class Spot:
    """Where a line error of pydantic's points to in the tree."""

    def __init__(self, root: Node, loc: Path) -> None:
        self.path: Path = ()
        self.node: Node | None = root
        self.key = root.place
        self.on_key = False
        for part in loc:
            if part == "[key]":
                self.on_key = True
            elif self.node is not None and not self._only_pydantics(part):
                self._down(self.node, part)

    def _only_pydantics(self, part: str | int) -> bool:
        """Is this a step that pydantic's path has and the file has not?"""
        return part == "to" and self.path[:1] == ("sinks",) and len(self.path) == 2

    def _down(self, node: Node, part: str | int) -> None:
        self.path = (*self.path, part)
        self.key = node.keys.get(part, self.key)
        self.node = node.children.get(part)

    @property
    def place(self) -> Place:
        """The key of a section; the value, where it is a scalar."""
        if self.on_key or self.node is None or self.node.kind != "scalar":
            return self.key
        return self.node.place


class Inside:
    """Places within a text value -> places in the file; the value's start where that cannot be told."""

    def __init__(self, text: str, node: Node) -> None:
        self.node = node
        written, quoted = text[slice(*node.span)], node.style in ("'", '"')
        self.indent = int(quoted)
        self.one_line = "\n" not in written and (written[1:-1] if quoted else written) == node.written
        self.lines = text.splitlines() if node.style == "|" else []
        self.content = node.written.split("\n")

    def place(self, row: int, column: int) -> Place:
        first = self.node.place
        if self.one_line and row == 1:
            return Place(first.line, first.column + self.indent + column - 1)
        at = first.line + row - 1  # of `lines`: the block begins on the line below its `|`
        if at < len(self.lines) and row <= len(self.content):
            line, content = self.lines[at], self.content[row - 1]
            if content and line.endswith(content):
                return Place(at + 1, len(line) - len(content) + column)
        return first
