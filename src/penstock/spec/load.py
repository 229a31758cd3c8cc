"""A pipeline file -> its text and its tree, or the problems that keep it from being read.

Nothing of the file is trusted: size, encoding, depth, aliases and tags are all bounded before anything is built.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from penstock.errors import InvalidPipeline
from penstock.spec.problems import Place, Problem, spelled
from penstock.spec.tree import Builder, Found, Node, Unreadable

LARGEST = 1_000_000
"""Bytes of a pipeline file."""

_IN_WORDS = {
    "mapping values are not allowed here": "a `:` cannot stand here. Is a line indented too far, or a text not quoted?",
    "could not find expected ':'": "a `:` is missing after a key, or a line is not indented enough.",
    "found character '\\t' that cannot start any token": "a tab cannot indent a line. Use spaces.",
    "found unexpected end of stream": "a quoted text is not closed.",
    "found unknown escape character": "in double quotes a `\\` begins an escape. Use single quotes, or double it.",
    "expected the node content, but found '-'": "a `-` cannot stand here: a list begins on a line of its own.",
    "expected <block end>": "this line is indented otherwise than the lines it belongs to.",
    "expected ',' or ']'": "a `[` is not closed, or a `,` is missing.",
    "expected ',' or '}'": "a `{` is not closed, or a `,` is missing.",
}
"""How ruamel's text begins -> the same for a person."""


@dataclass(frozen=True)
class Document:
    """A file that could be read: its tree, and what was wrong with it so far."""

    file: str
    folder: FilePath
    text: str
    root: Node
    problems: tuple[Found, ...]

    def problem(self, found: Found) -> Problem:
        return _problem(self.file, found)


def read_file(path: str | FilePath) -> Document:
    """The document in this file. Raises InvalidPipeline."""
    file = FilePath(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise _invalid(str(path), (Place(0, 0), (), *_cannot_open(error))) from None
    return read_text(data, str(path), file.absolute().parent)


def read_text(data: bytes, file: str, folder: FilePath) -> Document:
    """The document in these bytes. `file` is what messages call it; `folder` is where its paths begin."""
    text = _decoded(data, file)
    builder = Builder(iter(YAML(typ="safe", pure=True).parse(text)))
    try:
        root = builder.document()
    except Unreadable as error:
        raise _invalid(file, *builder.problems, error.found) from None
    except MarkedYAMLError as error:
        raise _invalid(file, *builder.problems, _syntax(error, text)) from None
    except (YAMLError, ValueError, OverflowError, IndexError, AttributeError, TypeError, KeyError):
        # ruamel lets a few slips of its own through, and without a place: `\UFFFFFFFF`, `%YAML x`
        raise _invalid(file, _slip(text)) from None
    if root is None or (root.kind == "scalar" and root.value is None):
        raise _invalid(file, (Place(1, 1), (), "is empty.", "Begin with  pipeline: orders"))
    if root.kind != "map":
        message = f"needs keys and values, but holds a {'list' if root.kind == 'list' else 'text or number'}."
        raise _invalid(file, (root.place, (), message, "Begin with  pipeline: orders"))
    return Document(file, folder, text, root, tuple(builder.problems))


def _decoded(data: bytes, file: str) -> str:
    """The text of these bytes: UTF-8, not too large, nothing unprintable."""
    if len(data) > LARGEST:
        raise _invalid(file, (Place(0, 0), (), f"is larger than {LARGEST // 1_000_000} MB.", "Is it the right file?"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _place_in(data[: error.start].decode("utf-8-sig", "replace"))
        raise _invalid(file, (place, (), f"byte 0x{data[error.start]:02x} is not UTF-8.", "Save as UTF-8.")) from None
    if odd := re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]", text):
        message = f"the control character U+{ord(odd[0]):04X} cannot stand in a pipeline file."
        raise _invalid(file, (_place_in(text[: odd.start()]), (), message, "Take it out."))
    return text


def _place_in(before: str) -> Place:
    lines = re.split(r"\r\n|\r|\n", before)
    return Place(len(lines), len(lines[-1]) + 1)


def _cannot_open(error: Exception) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError):
        return "there is no such file.", ""
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a file.", "Name the file in it, like  orders.yaml"
    if isinstance(error, PermissionError):
        return "may not be read by this user.", "Check its permissions."
    return f"cannot be read: {getattr(error, 'strerror', None) or error}.", ""


def _syntax(error: MarkedYAMLError, text: str) -> Found:
    mark: Any = error.problem_mark or error.context_mark
    place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
    what = str(error.problem or error.context or "unknown").strip().splitlines()[0]
    since = error.context_mark
    remedy = ""
    if since is not None and since.line + 1 < place.line:
        remedy = f"What it belongs to begins at line {since.line + 1}, column {since.column + 1}."
    if "${" in [*text.splitlines(), ""][min(place.line - 1, text.count("\n"))]:
        remedy = 'Inside `[ ]` and `{ }` a reference needs quotes, like  ["${env:BROKERS}"]'
    words = next((words for begin, words in _IN_WORDS.items() if what.startswith(begin)), what.rstrip(".") + ".")
    return (place, (), f"is not valid YAML: {words}", remedy)


def _slip(text: str) -> Found:
    for escape in re.finditer(r"\\U([0-9A-Fa-f]{8})", text):
        if int(escape[1], 16) > sys.maxunicode:
            return (
                _place_in(text[: escape.start()]),
                (),
                f"is not valid YAML: there is no character `{escape[0]}`.",
                "",
            )
    return (Place(1, 1), (), "is not valid YAML.", "Look for a `%` at the start of a line, or an odd escape.")


def _problem(file: str, found: Found) -> Problem:
    place, path, message, remedy = found
    return Problem(file, place.line, place.column, spelled(path), message, remedy)


def _invalid(file: str, *found: Found) -> InvalidPipeline:
    return InvalidPipeline([_problem(file, each) for each in sorted(found, key=lambda each: each[0])])
