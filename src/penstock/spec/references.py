"""References in a pipeline file: `${env:NAME}` and `${file:/run/secrets/x}`, filled in where the file is loaded.

`$$` is a dollar; a single `$` that opens no reference stays what it is, because regular expressions end in one.
Messages show the reference as it was written, never what it stands for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path as FilePath

from penstock.options import Wrong
from penstock.spec.problems import Path, shortened
from penstock.spec.tree import Found, Node

_REFERENCE = re.compile(r"\$\$|\$\{([^}]*)(\}?)")
_LARGEST = 1_000_000
UNTOUCHED: set[Path] = {("decode", "json", "schema")}
"""Texts in a language of their own take no references."""


def fill(node: Node, folder: FilePath, path: Path = ()) -> Iterator[Found]:
    """Fill the references of every text below this node, in place; what cannot be filled is a problem."""
    for key, child in node.children.items():
        yield from fill(child, folder, (*path, key))
    if isinstance(node.value, str) and "$" in node.value and path not in UNTOUCHED:
        try:
            node.value = _REFERENCE.sub(lambda match: _value(match, folder), node.written)
        except Wrong as wrong:
            yield node.place, path, wrong.what, wrong.remedy


def _value(match: re.Match[str], folder: FilePath) -> str:
    if match[0] == "$$":
        return "$"
    kind, colon, name = match[1].partition(":")
    if not match[2]:
        raise Wrong("a reference is not closed: a `}` is missing.", "For a dollar write  $$")
    if kind == "env" and name:
        return _variable(name)
    if kind == "file" and name:
        return _content(name, folder)
    if kind == "var" and colon:
        raise Wrong("`${var:...}` comes with a later version.", "Use  ${env:NAME}  until then.")
    guess = f"Did you mean  ${{env:{kind}}}?" if not colon and kind.isidentifier() else "For a dollar write  $$"
    written = shortened(match[0])
    raise Wrong(f"`{written}` is no reference: there is `${{env:NAME}}` and `${{file:/path}}`.", guess)


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise Wrong(
            f"the environment variable `{shortened(name)}` is not set.", f"Set it:  export {shortened(name)}=..."
        )
    return value


def _content(name: str, folder: FilePath) -> str:
    """The file's text without its trailing newline."""
    try:
        with (folder / name).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise Wrong(f"the file `{shortened(name)}` cannot be read: {why}.") from None
    if len(data) > _LARGEST:
        raise Wrong(f"the file `{shortened(name)}` is larger than 1 MB.")
    return text.removesuffix("\n").removesuffix("\r")
