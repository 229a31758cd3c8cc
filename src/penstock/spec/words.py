"""pydantic's errors in plain words. Its own texts name Python's types, and may print what was written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.options import IN_WORDS, Wrong
from penstock.spec.problems import Path, may_be_secret, shortened
from penstock.spec.tree import Node

Context = Mapping[str, Any]

_TEXTS: dict[str, str] = {
    "model_type": "needs a map of settings.",
    "dict_type": "needs a map: keys and values.",
    "tuple_type": "needs a list.",
    "list_type": "needs a list.",
    "string_type": "needs text.",
    "int_type": "needs a whole number.",
    "int_from_float": "needs a whole number.",
    "bool_type": "needs true or false.",
    "invalid_key": "no such option: a number is no key here.",
    "recursion_loop": "contains itself.",
}
_MADE: dict[str, Callable[[Context], str]] = {
    "greater_than": lambda ctx: f"must be more than {ctx['gt']}.",
    "greater_than_equal": lambda ctx: f"must be {ctx['ge']} or more.",
    "less_than": lambda ctx: f"must be less than {ctx['lt']}.",
    "less_than_equal": lambda ctx: f"must be {ctx['le']} or less.",
    "too_short": lambda ctx: "needs at least one.",
    "string_pattern_mismatch": lambda ctx: IN_WORDS.get(ctx["pattern"], f"must match {ctx['pattern']}"),
    "literal_error": lambda ctx: "must be " + re.sub(r"'([^']*)'", r"`\1`", ctx["expected"]) + ".",
}


def said(kind: str, ctx: Context, node: Node | None, path: Path) -> tuple[str, str]:
    """Message and remedy for one error of pydantic's at this node."""
    error = ctx.get("error")
    if isinstance(error, Wrong):
        return error.what, " ".join(part for part in (found(node, path, error), error.remedy) if part)
    if isinstance(error, Exception):
        return str(error), ""
    message = _TEXTS.get(kind) or (_MADE[kind](ctx) if kind in _MADE else "is not what is needed here.")
    alien = kind in ("int_type", "float_type", "bool_type", "int_from_float")
    return message, " ".join(part for part in (found(node, path, alien=alien), _rewrite(kind, node)) if part)


def found(node: Node | None, path: Path, error: Wrong | None = None, *, alien: bool = False) -> str:
    """What was found, as it was written; nothing where the message says it, or where it may be a secret.

    `alien`: it is a reference, and what it stands for does not read as the type that is wanted.
    """
    if node is None or (error and error.quiet) or any(map(may_be_secret, path[-1:])):
        return ""
    if error and ("Found" in error.remedy or f"`{node.written}`" in error.what):
        return ""
    if node.kind != "scalar":
        return "" if error else f"Found a {node.kind}." if node.children else f"Found an empty {node.kind}."
    if not node.written:
        return "Found an empty text."
    if node.filled:
        return f"Found `{shortened(node.written)}`" + (", which stands for something else." if alien else ".")
    sort = "the number " if isinstance(node.value, int | float) and not isinstance(node.value, bool) else ""
    return f"Found {sort}`{shortened(node.written)}`."


def _rewrite(kind: str, node: Node | None) -> str:
    """What to write instead, where it can be told from what was written."""
    if node is None or node.kind != "scalar" or not node.written or len(node.written) > 60 or node.filled:
        return ""
    if kind == "string_type":
        return f'Put it in quotes:  "{node.written}"'
    if kind in ("tuple_type", "list_type") and re.fullmatch(r"[\w.:-]+", node.written):
        return f"Write it like  [{node.written}]"
    return _digits(node) if kind == "int_type" else ""


def _digits(node: Node) -> str:
    """The whole number that was probably meant."""
    if node.style and re.fullmatch(r"[0-9]+", node.written):
        return f"Write it without quotes:  {node.written}"
    if isinstance(node.value, float) and node.value.is_integer() and abs(node.value) < 1e15:
        return f"Write it out:  {int(node.value)}"
    if re.fullmatch(r"[0-9]{1,3}([_,. ][0-9]{3})+", node.written):
        return f"Write only digits:  {re.sub('[^0-9]', '', node.written)}"
    return ""
