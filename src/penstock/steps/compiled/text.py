"""Texts. Spark counts code points, trims blanks only, and compares LIKE with every character of a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.ops import Kernel, NotCompiled, Op, call, literal
from penstock.steps.compiled.patterns import ANY_ONE, ANY_TEXT, from_like, from_regex, like_parts
from penstock.steps.compiled.tree import Node

TRIMS = {"StringTrim": pc.utf8_trim, "StringTrimLeft": pc.utf8_ltrim, "StringTrimRight": pc.utf8_rtrim}
FINDS = {"StartsWith": pc.starts_with, "EndsWith": pc.ends_with, "Contains": pc.match_substring}


def _texts(given: Sequence[Op]) -> None:
    if not all(pa.types.is_string(each.type) for each in given):
        raise NotCompiled("a function of texts, over something else")


def _length(node: Node, given: Sequence[Op]) -> Op:
    binary = pa.types.is_binary(given[0].type)
    if not binary:
        _texts(given)
    return call(pa.int32(), pc.binary_length if binary else pc.utf8_length, given)


def _trim(node: Node, given: Sequence[Op]) -> Op:
    _texts(given)
    characters = literal(given[1], "what is trimmed") if len(given) > 1 else " "
    if not characters:
        raise NotCompiled("nothing to trim")
    return call(pa.string(), partial(TRIMS[node.kind], characters=characters), given[:1])


def _substring(node: Node, given: Sequence[Op]) -> Op:
    _texts(given[:1])
    start, length = literal(given[1], "where it begins"), literal(given[2], "its length")
    return call(pa.string(), partial(cut, start, length), given[:1])


def cut(start: int, length: int, texts: Any) -> Any:
    """From `start`, counted from 1, or from the end if it is negative; 0 is as good as 1."""
    if length <= 0:
        return pc.utf8_slice_codeunits(texts, start=0, stop=0)
    begin = start - 1 if start > 0 else start
    stop = begin + length
    return pc.utf8_slice_codeunits(texts, start=begin, stop=None if begin < 0 <= stop else stop)


def _concat(node: Node, given: Sequence[Op]) -> Op:
    """Spark's generated code stops at the first NULL, its interpreter does not: an error behind one is its own."""
    _texts(given)
    if any(each.raises for each in given[1:]):
        raise NotCompiled("a text that is joined with what can raise an error")
    return call(pa.string(), joined, given)


def joined(*texts: Any) -> Any:
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.string()), null_handling="emit_null")


def _find(node: Node, given: Sequence[Op]) -> Op:
    _texts(given)
    return call(pa.bool_(), partial(FINDS[node.kind], pattern=literal(given[1], "the pattern")), given[:1])


def _like(node: Node, given: Sequence[Op]) -> Op:
    _texts(given)
    pattern = like_parts(literal(given[1], "the pattern"), str(node.handle().escapeChar()))
    word = "".join(one for one in pattern if one not in (ANY_TEXT, ANY_ONE))
    shapes: dict[tuple[str, ...], Kernel] = {
        (*word,): partial(pc.equal, pa.scalar(word)),
        (*word, ANY_TEXT): partial(pc.starts_with, pattern=word),
        (ANY_TEXT, *word): partial(pc.ends_with, pattern=word),
        (ANY_TEXT, *word, ANY_TEXT): partial(pc.match_substring, pattern=word),
    }
    return call(pa.bool_(), shapes.get(pattern) or _matching(from_like(pattern)), given[:1])


def _regex(node: Node, given: Sequence[Op]) -> Op:
    _texts(given)
    return call(pa.bool_(), _matching(from_regex(literal(given[1], "the pattern"))), given[:1])


def _matching(pattern: str) -> Kernel:
    """RE2 has a limit to repetitions: it is met here, and not in a worker."""
    kernel = partial(pc.match_substring_regex, pattern=pattern)
    try:
        kernel(pa.array(["a"], pa.string()))
    except pa.ArrowInvalid as error:
        raise NotCompiled("a regular expression that RE2 does not take") from error
    return kernel


def _replace(node: Node, given: Sequence[Op]) -> Op:
    _texts(given)
    old, new = literal(given[1], "what is replaced"), literal(given[2], "what replaces it")
    if not old:
        raise NotCompiled("nothing to replace")
    return call(pa.string(), partial(pc.replace_substring, pattern=old, replacement=new), given[:1])


def _left(node: Node, given: Sequence[Op]) -> Op:
    _texts(given[:1])
    return call(pa.string(), partial(cut, 1, literal(given[1], "its length")), given[:1])


def _decoded(node: Node, given: Sequence[Op]) -> Op:
    """decode(x, 'UTF-8'): bytes that are no text raise."""
    charset = str(literal(given[1], "the charset")).upper()
    legacy = node.fields["legacyCharsets"] or node.fields["legacyErrorAction"]
    if not pa.types.is_binary(given[0].type) or charset != "UTF-8" or legacy is not False:
        raise NotCompiled("bytes of another charset than UTF-8")
    return call(pa.string(), from_utf8, given[:1], raises=True)


def from_utf8(values: Any) -> Any:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        made = [None if value is None else _text(value) for value in values.to_pylist()]
        wrong = [text is None and value is not None for text, value in zip(made, values.to_pylist(), strict=True)]
        return pa.array(made, pa.string()), np.array(wrong, dtype=np.bool_)


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


RULES = {
    "Length": _length, **dict.fromkeys(TRIMS, _trim), "Substring": _substring, "Concat": _concat,
    **dict.fromkeys(FINDS, _find), "Like": _like, "RLike": _regex,
    "StringReplace": _replace, "Left": _left, "StringDecode": _decoded,
}  # fmt: skip
