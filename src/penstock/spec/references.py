"""References in a pipeline file: `${env:NAME}`, `${file:/run/secrets/x}` and `${var:NAME}`, filled in at load.

Messages show a reference as it was written, never what it stands for. In a secret field the reference stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from pydantic import BaseModel

from penstock.options import Wrong
from penstock.pipeline import Pipeline
from penstock.secret import Reference, pieces
from penstock.spec.problems import Path
from penstock.spec.shape import shape_at
from penstock.spec.tree import Found, Node, resolved
from penstock.spec.variables import Unknown, Variables

VAGUE = "is not what is needed here."


class Filled(NamedTuple):
    """What a reference brought in, and how it was written."""

    path: Path
    value: str
    written: str


class References:
    """Fills the references of one tree, in place."""

    def __init__(self, folder: FilePath, variables: Variables, root: type[BaseModel] = Pipeline) -> None:
        self.folder, self.variables, self.root = folder, variables, root
        self.untold: set[Path] = set()
        """Places without a value because a variable has none, which is told where the variable stands."""
        self.filled: list[Filled] = []

    def fill(self, node: Node, path: Path = ()) -> Iterator[Found]:
        """Fill every text below this node; what cannot be filled is a problem."""
        for key, child in node.children.items():
            yield from self.fill(child, (*path, key))
        if isinstance(node.value, str) and "$" in node.value:
            try:
                self._fill(node, path)
            except Wrong as wrong:
                yield node.place, path, wrong.what, wrong.remedy
            except Unknown:
                self.untold.add(path)

    def _fill(self, node: Node, path: Path) -> None:
        shape = shape_at(path, self.root)
        if shape and not shape.references:
            return
        if shape and shape.sort == "secret":
            node.value = self._secret(node.written)
            return
        parts = list(pieces(node.written))
        text = "".join(part if isinstance(part, str) else self._value(part) for part in parts)
        node.value = text
        if not all(isinstance(part, str) for part in parts):
            node.filled = True
            self.filled.append(Filled(path, text, node.written))
            read = resolved(text)
            node.value = read if shape and shape.reads(read) else text

    def _value(self, reference: Reference) -> str:
        return self.variables.text(reference.name, self._read) if reference.kind == "var" else self._read(reference)

    def _read(self, reference: Reference) -> str:
        return reference.read(self.folder)

    def _secret(self, written: str) -> str:
        """The reference that stays: a variable is replaced by what it says, a relative file gets its folder."""
        try:
            parts = [part for part in pieces(written) if part]
        except Wrong:
            return written  # a literal with a `${` in it: the secret's own type refuses it, and shows nothing of it
        if len(parts) != 1 or isinstance(parts[0], str):
            return written
        reference = parts[0]
        return self.variables.text(reference.name, self._kept) if reference.kind == "var" else self._kept(reference)

    def _kept(self, reference: Reference) -> str:
        if reference.kind != "file":
            return str(reference)
        return str(Reference("file", os.path.normpath(self.folder / reference.name)))

    def discreet(self, text: str, path: Path | None) -> str:
        """The text without anything that a reference brought in; empty if it cannot be told apart.

        What stands at `path`, or in the list there, is looked for piece by piece: a message may have cut it up.
        """
        for each in self.filled:
            text = text.replace(f"`{each.value}`", f"`{each.written}`") if each.value else text
        for each in self.filled:
            near = path is not None and path in (each.path, each.path[:-1])
            secrets = re.findall(r"\w{3,}", each.value) if near else [each.value] if len(each.value) > 5 else []
            if any(secret in text.replace(each.written, "") for secret in secrets):
                return ""
        return text
