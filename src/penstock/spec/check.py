"""A document -> the Pipeline it describes, or every problem found, each at its line and column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from penstock.choice import Choice, did_you_mean
from penstock.errors import InvalidPipeline
from penstock.pipeline import Pipeline, Sink
from penstock.spec import words
from penstock.spec.load import Document
from penstock.spec.problems import Path, Place
from penstock.spec.references import fill
from penstock.spec.tree import Found, Node

_NO_PROBLEM_OF_ITS_OWN = {"default_factory_not_called"}
"""Told only because another field is wrong."""
PYTHON_ONLY = {Pipeline: "folder", Sink: "to"}
"""Keywords of Python that are no keys of a file."""


def check(document: Document) -> Pipeline:
    """The pipeline that this document describes. Raises InvalidPipeline with every problem, in file order."""
    early = [*document.problems, *fill(document.root, document.folder), *_python_only(document.root)]
    pipeline, late = _validated(document, {path for _, path, _, _ in early})
    found = early + late
    if pipeline is None or found:
        ordered = sorted(dict.fromkeys(found), key=lambda each: each[0])
        raise InvalidPipeline([document.problem(each) for each in ordered])
    return pipeline


def _validated(document: Document, told: set[Path]) -> tuple[Pipeline | None, list[Found]]:
    tree = {**document.root.plain(), "folder": document.folder}
    try:
        return Pipeline.model_validate(tree, by_alias=True, by_name=False), []
    except ValidationError as error:
        lines: Any = error.errors(include_url=False, include_input=False)
        late = [each for line in lines for each in _found(document, line, told)]
        return None, late


def _python_only(root: Node) -> Iterator[Found]:
    """`name` and `folder` are keywords of Python's Pipeline, `to` of its Sink: no keys of a file."""
    sections: list[tuple[Path, Node, str]] = [((), root, "folder")]
    if "sinks" in root.children:
        sections += [(("sinks", name), sink, "to") for name, sink in root.children["sinks"].children.items()]
    for path, node, key in sections:
        if key in node.children:
            del node.children[key]
            yield node.keys[key], (*path, key), *_no_such_option((*path, key))


def _found(document: Document, line: dict[str, Any], told: set[Path]) -> Iterator[Found]:
    """The problem, or the problems, that one line error of pydantic's stands for."""
    kind, ctx = line["type"], line.get("ctx", {})
    spot = _Spot(document.root, line["loc"])
    below_told = any(path[: len(spot.path)] == spot.path for path in told)
    if kind in _NO_PROBLEM_OF_ITS_OWN or spot.path in told or (kind != "extra_forbidden" and below_told):
        return
    if kind == "extra_forbidden":
        message, remedy = _no_such_option(spot.path)
        if spot.path == ("name",):
            message, remedy = "no such option. Did you mean `pipeline`?", ""
        yield spot.key, spot.path, message, remedy
    elif kind == "missing":
        yield from _missing(spot)
    elif hasattr(ctx.get("error"), "problems") and spot.node:
        for row, column, message, remedy in ctx["error"].problems:
            yield _inside(document.text, spot.node, row, column), spot.path, message, remedy
    else:
        yield spot.place, spot.path, *words.said(kind, ctx, spot.node, spot.path)


class _Spot:
    """Where a line error of pydantic's points to in the tree."""

    def __init__(self, root: Node, loc: Path) -> None:
        self.path: Path = ()
        self.node: Node | None = root
        self.section = root
        self.key = root.place
        self.on_key = False
        for part in loc:
            if part == "[key]":
                self.on_key = True
            elif self.node is not None and (part in self.node.keys or not self._inner(part)):
                self._down(part)

    def _inner(self, part: str | int) -> bool:
        """Names that pydantic's path has and the file has not."""
        return part == "to" and self.path[:1] == ("sinks",) and len(self.path) == 2

    def _down(self, part: str | int) -> None:
        assert self.node is not None
        self.path = (*self.path, part)
        self.section, self.key = self.node, self.node.keys.get(part, self.key)
        self.node = self.node.children.get(part)

    @property
    def place(self) -> Place:
        """The key of a section, the value of a scalar or of a list's item."""
        if self.on_key or self.node is None or self.node.kind != "scalar":
            return self.key
        return self.node.place


def _missing(spot: _Spot) -> Iterator[Found]:
    """A required key that is not there: its section is shown."""
    if spot.path[:1] == ("sinks",) and len(spot.path) == 2:  # Sink.to, written as the sink's only sort
        strange = spot.node is not None and bool(spot.node.children)
        if not strange:
            yield spot.key, spot.path, "needs a sort of sink.", "Write it like  {delta: {table: ./lake/orders}}"
        return
    model = _model_at(spot.path[:-1])
    field = next((f for f in _fields(model).values() if (f.alias or "") == spot.path[-1]), None)
    field = field or _fields(model).get(str(spot.path[-1]))
    yield spot.key, spot.path, "is required, and missing.", (field and field.description) or ""


def _no_such_option(path: Path) -> tuple[str, str]:
    """For a key that nothing knows: the nearest one, or the list of those that are known here."""
    model = _model_at(path[:-1])
    known = [field.alias or name for name, field in _fields(model).items()]
    if model is Sink:
        known = [*Sink.model_fields["to"].metadata[0].kind, *known]
    known = [name for name in known if name != PYTHON_ONLY.get(model)]  # type: ignore[arg-type]
    hint = did_you_mean(path[-1], known)
    if "Did you mean" in hint:
        return f"no such option.{hint}", ""
    return "no such option.", hint.strip()


def _fields(model: type[BaseModel] | None) -> dict[str, Any]:
    return {} if model is None else dict(model.model_fields)


def _model_at(path: Path) -> type[BaseModel] | None:
    """The options model whose settings stand at this path, or None."""
    model: type[BaseModel] | None = Pipeline
    rest = list(path)
    while rest and model is not None:
        field = Sink.model_fields["to"] if model is Sink else _fields(model).get(str(rest.pop(0)))
        if field is None:
            return None
        choice = next((mark for mark in field.metadata if isinstance(mark, Choice)), None)
        if choice is not None:
            word = str(rest.pop(0)) if rest else ""
            model = choice.kind[word] if word in choice.kind else None
        else:
            model = _model_in(field.annotation, rest)
    return model


def _model_in(annotation: Any, rest: list[str | int]) -> type[BaseModel] | None:
    """The model that an annotation holds: itself, or the values of a map (whose key is taken off the path)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = [each for each in get_args(annotation) if isinstance(each, type) and issubclass(each, BaseModel)]
    if models and rest and getattr(annotation, "__origin__", None) is dict:
        rest.pop(0)
    return models[0] if models else None


def _inside(text: str, node: Node, row: int, column: int) -> Place:
    """The place in the file of a place in a text value; the value's start where that cannot be told."""
    begin, end = node.span
    written = text[begin:end]
    if node.style == "|":
        lines = text.split("\n")
        at = node.place.line + row - 1
        content = node.written.split("\n")[row - 1] if row <= node.written.count("\n") + 1 else ""
        if at < len(lines) and content and lines[at].rstrip("\r").endswith(content):
            return Place(at + 1, len(lines[at].rstrip("\r")) - len(content) + column)
    quoted = node.style in ("'", '"')
    if row == 1 and "\n" not in written and (written[1:-1] if quoted else written) == node.written:
        return Place(node.place.line, node.place.column + quoted + column - 1)
    return node.place
