"""Patterns of Spark's (Java's regular expressions, LIKE) in the words of RE2, where both surely mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.steps.compiled.ops import NotCompiled

ANY_TEXT, ANY_ONE = "any text", "any one"
LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
ANY = f"[^{LINE_ENDS}]"
"""Java's `.`; RE2's stops at \\n only."""
END = rf"(?:\r\n|[{LINE_ENDS}])?\z"
"""Java's `$`: the end, or in front of a line end that is the last thing."""
_PIECE = re.compile(
    r"""
    (?P<plain>[A-Za-z0-9_ @#%&~`=:;,<>/!'"-])
  | (?P<escaped>\\[.\\+*?()\[\]{}|^$/-])
  | (?P<digits>\\[dDwW])
  | (?P<any>\.)
  | (?P<not>\[\^(?:[A-Za-z0-9_ @#%~=:;,</>!.+*?()|]|\\[.\\+*?()\[\]{}|^$/-]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])+\])
  | (?P<class>\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_ @#%~=:;,</>!.+*?()|]|\\[.\\+*?()\[\]{}|^$/dw-])+-?\])
  | (?P<open>\((?:\?:)?)
  | (?P<close>\))
  | (?P<or>\|)
  | (?P<times>(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})(?![*+?{]))
  | (?P<begin>\^)
  | (?P<end>\$)
    """,
    re.VERBOSE,
)


def like_parts(pattern: str, escape: str) -> tuple[str, ...]:
    """The pattern of a LIKE: characters, ANY_TEXT for `%` and ANY_ONE for `_`."""
    made, at = [], 0
    while at < len(pattern):
        one = pattern[at]
        if one == escape:
            at += 1
            if at == len(pattern) or pattern[at] not in ("_", "%", escape):
                raise NotCompiled("an escape in front of an ordinary character")
            made.append(pattern[at])
        else:
            made.append({"%": ANY_TEXT, "_": ANY_ONE}.get(one, one))
        at += 1
    return tuple(made)


def from_like(parts: Iterable[str]) -> str:
    """The same as a regular expression; `%` and `_` go over line ends as well."""
    special = {ANY_TEXT: ".*", ANY_ONE: "."}
    return rf"(?s)\A{''.join(special.get(part) or _quoted(part) for part in parts)}\z"


def _quoted(character: str) -> str:
    return character if character.isalnum() and character.isascii() else f"\\x{{{ord(character):x}}}"


def from_regex(pattern: str) -> str:
    """A regular expression that is found somewhere in the text."""
    made, at, kinds, before = [], 0, set(), ""
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise NotCompiled("a regular expression that Java and RE2 may read differently")
        kind = str(piece.lastgroup)
        _in_its_place(kind, before, at, piece.end() == len(pattern))
        made.append({"any": ANY, "end": END}.get(kind, piece.group()))
        kinds.add(kind)
        before, at = kind, piece.end()
    if "end" in kinds and ("not" in kinds or re.search(r"\\[DW]", pattern)):
        raise NotCompiled("`$` behind a class of what is not there")
    _compiles(pattern)
    return "".join(made) or r"\A"


def _in_its_place(kind: str, before: str, at: int, last: bool) -> None:
    """Anchors at the ends only, and a repetition behind one thing."""
    wrong = (
        (kind == "begin" and at > 0)
        or (kind == "end" and not last)
        or (kind == "times" and before in ("", "open", "or", "begin", "times"))
    )
    if wrong:
        raise NotCompiled("a regular expression that Java and RE2 may read differently")


def _compiles(pattern: str) -> None:
    """Brackets that do not match are told by Spark, on its first row."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise NotCompiled("a regular expression that cannot be read") from error
