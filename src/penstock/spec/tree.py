"""YAML events -> a tree in which every key and every value knows its place.

ruamel reads the syntax; what a plain scalar means is decided here, by the core schema of YAML 1.2: `yes` and
`2026-11-01` are text. A tree holds no null: a key without a value is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import events as yaml

from penstock.spec.problems import Path, Place, may_be_secret, shortened

MOST_NODES = 20_000
"""Aliases counted as often as they are used: a file that unfolds to more is an attack or a mistake."""
DEEPEST = 50
NO_VALUE = "has no value."
_LONGEST_NUMBER = 40
ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""What an escape can bring in though a file cannot hold it: nothing that could be printed or stored later."""

Found = tuple[Place, Path, str, str]
"""Place, path, message, remedy."""


class Unreadable(Exception):
    """The rest of the file cannot be made sense of."""

    def __init__(self, found: Found) -> None:
        super().__init__(found[2])
        self.found = found


class WrittenInt(int):
    """A whole number that remembers how it was written."""

    written: str


class WrittenFloat(float):
    """A number that remembers how it was written."""

    written: str


@dataclass
class Node:
    """A value of the file: a scalar, a list or a map."""

    place: Place
    value: Any = None
    """The scalar's value; None for lists and maps."""
    written: str = ""
    style: str = ""
    """`|`, `>`, `"`, `'` or nothing, for a scalar."""
    span: tuple[int, int] = (0, 0)
    kind: str = "scalar"
    children: dict[str | int, Node] = field(default_factory=dict)
    keys: dict[str | int, Place] = field(default_factory=dict)
    size: int = 1
    filled: bool = False
    """Does the value hold what a reference stands for? Then it is never shown: it may be a secret."""

    def plain(self) -> Any:
        """The value without places, as pydantic takes it."""
        if self.kind == "list":
            return [child.plain() for child in self.children.values()]
        if self.kind == "map":
            return {key: child.plain() for key, child in self.children.items()}
        return self.value


class Builder:
    """Builds the tree of one document and collects what is wrong with it on the way."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.problems: list[Found] = []
        self.nodes = 0
        self.anchors: dict[str, Node | None] = {}

    def document(self) -> Node | None:
        """The tree of the only document, or None if there is no document."""
        next(self.events)
        start = next(self.events)
        if isinstance(start, yaml.StreamEndEvent):
            return None
        if start.tags or start.version not in (None, (1, 2)):
            self._add(_place(start), (), "directives other than `%YAML 1.2` are not taken.", "Take the line out.")
        root = self._node(next(self.events), ())
        next(self.events)
        after = next(self.events)
        if isinstance(after, yaml.DocumentStartEvent):
            self._stop(
                _place(after), (), "a second document begins here.", "One file holds one pipeline: split the file."
            )
        return root

    def _node(self, event: Any, path: Path) -> Node:
        self._count(event, path, 1)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        if len(path) > DEEPEST:
            self._stop(_place(event), path[:3], f"the file is nested more than {DEEPEST} levels deep.")
        if event.tag is not None:
            self._add(_place(event), path, f"tags like `{_shown('!', event.tag, path)}` are not taken.", "Take it out.")
        if event.anchor:
            self.anchors[event.anchor] = None
        before = self.nodes
        node = self._scalar(event, path) if isinstance(event, yaml.ScalarEvent) else self._collection(event, path)
        node.size = 1 + self.nodes - before
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, path: Path) -> Node:
        name = _shown("", event.anchor, path)
        if event.anchor not in self.anchors:
            self._stop(_place(event), path, f"`*{name}` refers to nothing: there is no `&{name}` before it.")
        node = self.anchors[event.anchor]
        if node is None:
            self._stop(_place(event), path, f"`*{name}` contains itself.")
        assert node is not None
        self._count(event, path, node.size)
        return deepcopy(node)  # references are filled in place, and differently at each place

    def _count(self, event: Any, path: Path, more: int) -> None:
        self.nodes += more
        if self.nodes > MOST_NODES:
            self._stop(_place(event), path[:3], f"the file unfolds to more than {MOST_NODES} values.")

    def _collection(self, event: Any, path: Path) -> Node:
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(event, path)
        return self._map(event, path)

    def _list(self, event: Any, path: Path) -> Node:
        node = Node(_place(event), kind="list", span=_span(event))
        while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
            index = len(node.children)
            node.children[index] = child = self._node(item, (*path, index))
            node.keys[index] = child.place
            if child.kind == "scalar" and child.value is None:
                self._add(child.place, (*path, index), NO_VALUE, "Give it one, or take the `-` out.")
        return node

    def _map(self, event: Any, path: Path) -> Node:
        node = Node(_place(event), kind="map", span=_span(event))
        while not isinstance(key_event := next(self.events), yaml.MappingEndEvent):
            key = self._key(key_event, path)
            place = _place(key_event)
            child = self._node(next(self.events), (*path, "?" if key is None else key))
            if key is None:
                continue
            if key in node.keys:
                first = node.keys[key]
                remedy = f"The first is at line {first.line}, column {first.column}. Keep one."
                self._add(place, (*path, key), "is written twice.", remedy)
                continue
            node.keys[key] = place
            if child.kind == "scalar" and child.value is None:
                self._add(place, (*path, key), NO_VALUE, "Leave the key out, or give it a value.")
            else:
                node.children[key] = child
        return node

    def _key(self, event: Any, path: Path) -> str | int | None:
        """The key, or None where it cannot be one; the problem is noted."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._stop(_place(event), path, "a list or a map cannot be a key.", "A key is a word.")
        key = self._node(event, path)
        if key.written == "<<" and not key.style:
            self._add(_place(event), path, "merge keys (`<<`) are not taken.", "Write the keys out.")
        elif isinstance(key.value, str):
            return key.value
        elif isinstance(key.value, int) and not isinstance(key.value, bool):
            return int(key.value)
        else:
            found = shortened(key.written) if key.kind == "scalar" else f"a {key.kind}"
            self._add(_place(event), path, f"`{found}` cannot be a key.", "If it is meant as text, quote it.")
        return None

    def _scalar(self, event: Any, path: Path) -> Node:
        style = event.style or ""
        node = Node(_place(event), event.value, event.value, style, _span(event))
        if odd := ODD.search(event.value):
            message = f"the character U+{ord(odd[0]):04X} cannot stand in a pipeline file."
            self._add(node.place, path, message, "Take it out.")
        if not style and event.tag is None:
            node.value = resolved(event.value)
        if isinstance(node.value, int | float) and len(event.value) > _LONGEST_NUMBER:
            self._add(node.place, path, "is too long for a number.", "If it is meant as text, quote it.")
        return node

    def _add(self, place: Place, path: Path, message: str, remedy: str = "") -> None:
        self.problems.append((place, path, message, remedy))

    def _stop(self, place: Place, path: Path, message: str, remedy: str = "") -> None:
        raise Unreadable((place, path, message, remedy))


_CORE: list[tuple[str, Callable[[str], Any]]] = [
    (r"|~|null|Null|NULL", lambda text: None),
    (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    (r"[-+]?[0-9]+", lambda text: WrittenInt(int(text))),
    (r"0o[0-7]+|0x[0-9a-fA-F]+", lambda text: WrittenInt(int(text, 0))),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", lambda text: WrittenFloat(float(text))),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda text: WrittenFloat(float(text.replace(".", "")))),
]
"""The core schema of YAML 1.2: what a plain scalar looks like -> what it means. Everything else is text."""


def resolved(text: str) -> Any:
    """What a plain scalar means. What is longer than any number is text: Python would take its time to read it."""
    for pattern, read in _CORE if len(text) < 1000 else ():
        if re.fullmatch(pattern, text):
            return _remember(read(text), text)
    return text


def _remember(value: Any, text: str) -> Any:
    if isinstance(value, WrittenInt | WrittenFloat):
        value.written = text
    return value


def _shown(mark: str, text: object, path: Path) -> str:
    """A tag or an alias as it was written; not where a password that begins so was meant."""
    return f"{mark}..." if path and may_be_secret(path[-1]) else shortened(str(text))


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _span(event: Any) -> tuple[int, int]:
    return (event.start_mark.index, event.end_mark.index)
