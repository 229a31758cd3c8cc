"""The words of a SQL text: which are syntax, which are names. sqlglot knows many dialects' keywords; Spark fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token, TokenType

INFIX = {
    "AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV", "ESCAPE", "AS", "THEN",
    "ELSE", "WHEN", "CASE", "WHERE", "SELECT", "DISTINCT", "FROM", "EXCEPT", "INTERVAL", "COLLATE", "END", "NULL",
    "TRUE", "FALSE", "FOR", "TO", "PLACING",
}  # fmt: skip
"""Words that are syntax of an expression wherever they stand, but after a dot or in backticks."""
ENDS = {"END", "NULL", "TRUE", "FALSE"}
"""Those of them that end a value."""
LIKES = {"LIKE", "ILIKE", "RLIKE", "REGEXP"}
TYPED = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"}
"""Words that, before a text in quotes, make a literal of it."""
SPECIAL = {"cast", "try_cast", "extract", "trim", "substring", "substr", "position", "overlay", "struct"}
"""Functions whose arguments have a syntax of their own."""
WITH_UNIT = {"dateadd", "datediff", "date_add", "date_diff", "timestampadd", "timestampdiff"}
"""Functions whose first argument may be a bare unit: `timestampdiff(MONTH, a, b)`."""
UNITS = {
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
}  # fmt: skip
TYPES = {"varchar", "character", "char", "dec", "decimal", "numeric", "time", "timestamp", "string"}
"""Types that may have brackets: `CAST(a AS DECIMAL(18, 2))`."""


@dataclass(frozen=True, slots=True)
class Word:
    """One token of the text: a word, a text in quotes, a number or a mark."""

    token: Token
    kind: str
    """`word`, `name` (in backticks), `text` (in quotes), `number`, `mark`."""
    says: str
    """The word in upper case, or the mark; nothing for what stands in quotes or, being a field's name, after a dot."""

    @property
    def start(self) -> int:
        return self.token.start

    @property
    def end(self) -> int:
        """One past its last character."""
        return self.token.end + 1

    @property
    def called(self) -> str:
        """As a name: `amount`, and `x y` of `` `x y` ``."""
        return self.token.text.replace("``", "`") if self.kind == "name" else self.token.text

    @property
    def is_name(self) -> bool:
        """Can it name a column, a function, an alias?"""
        return self.kind == "name" or (self.kind == "word" and self.says not in INFIX)

    @property
    def ends_value(self) -> bool:
        return self.kind in ("name", "text", "number") or (self.kind == "word" and self._ends()) or self.says in _CLOSE

    @property
    def begins_value(self) -> bool:
        return self.kind in ("name", "text", "number") or self.is_name or self.says in ("(", "CASE", "NOT", "NULL")

    def _ends(self) -> bool:
        return self.says not in INFIX or self.says in ENDS

    def __str__(self) -> str:
        shown = " ".join(self.token.text.split())
        return f"`{shown if len(shown) <= 40 else shown[:37] + '...'}`"


_CLOSE = {")", "]", "*"}


def words(tokens: Sequence[Token]) -> list[Word]:
    """sqlglot's tokens, each with what it is."""
    from sqlglot.tokenizer_core import TokenType as T

    kinds = {T.STRING: "text", T.RAW_STRING: "text", T.HEX_STRING: "text", T.IDENTIFIER: "name", T.NUMBER: "number"}
    made: list[Word] = []
    for token in tokens:
        kind = kinds.get(token.token_type) or ("word" if token.text[:1].isidentifier() else "mark")
        after_dot = bool(made) and made[-1].says == "." and kind == "word"
        says = "" if kind in ("text", "name") or after_dot else " ".join(token.text.upper().split())
        made.append(Word(token, kind, says))
    return made


def for_parser(given: Sequence[Word]) -> list[Token]:
    """The tokens as sqlglot should see them: names are names, functions are calls of no known function.

    What sqlglot knows about single functions and about keywords of other dialects would only be in the way, and some
    of it takes exponential time. A token's `col` is its index, so that an error can say which one it is about.
    """
    from sqlglot.tokenizer_core import Token

    types = in_types(given)
    made = []
    for index, each in enumerate(given):
        sort, text = (each.token.token_type, each.token.text) if types[index] else _seen(given, index)
        made.append(Token(sort, text, 1, index, each.token.start, each.token.end))
    return made


def in_types(given: Sequence[Word]) -> list[bool]:
    """For each word: is it part of a type, after `CAST(x AS` or after `::`?"""
    types, casts, angles, cast_from = [], [], 0, -1
    for index, each in enumerate(given):
        before = given[index - 1].says if index else ""
        if each.says == "(":
            casts.append(index > 0 and given[index - 1].says in ("CAST", "TRY_CAST"))
        cast_from = len(casts) if before == "AS" and casts and casts[-1] and cast_from < 0 else cast_from
        if each.says == ")":
            cast_from = -1 if cast_from == len(casts) else cast_from
            del casts[-1:]
        colons = before == "::" or angles > 0 or (each.says == "<" and index > 1 and given[index - 2].says == "::")
        angles += _angles(each.says) if colons else 0
        types.append(cast_from >= 0 or colons)
    return types


def _angles(mark: str) -> int:
    return mark.count("<") - mark.count(">")


def _seen(given: Sequence[Word], index: int) -> tuple[TokenType, str]:
    """Sort and text of one token, for the parser."""
    from sqlglot.tokenizer_core import TokenType as T

    each, token = given[index], given[index].token
    after = given[index + 1].says if index + 1 < len(given) else ""
    if each.kind == "name":
        return (T.VAR, "penstock_call") if after == "(" else (T.IDENTIFIER, each.called)
    if each.kind != "word" or _is_syntax(given, index):
        return token.token_type, token.text
    return _call(given, index) if after == "(" else (_sort(given, index), token.text)


def _is_syntax(given: Sequence[Word], index: int) -> bool:
    says = given[index].says
    typed = says in TYPED and index + 1 < len(given) and given[index + 1].kind == "text"
    return typed or (says in INFIX and (says != "INTERVAL" or _value_follows(given, index)))


def _sort(given: Sequence[Word], index: int) -> TokenType:
    """What a word that is neither syntax nor a call is: a name, but for a few places where it names no column."""
    from sqlglot.tokenizer_core import TokenType as T

    before = given[index - 1].says if index else ""
    if given[index].says == "UNKNOWN" and before in ("IS", "NOT"):
        return T.NULL
    return T.STRING if before == "COLLATE" or (before == "(" and _unit(given, index)) else T.VAR


def _value_follows(given: Sequence[Word], index: int) -> bool:
    return index + 1 < len(given) and (given[index + 1].begins_value or given[index + 1].says == "-")


def _unit(given: Sequence[Word], index: int) -> bool:
    return given[index].says in UNITS and index > 1 and given[index - 2].called.lower() in WITH_UNIT


def _call(given: Sequence[Word], index: int) -> tuple[TokenType, str]:
    from sqlglot.tokenizer_core import TokenType as T

    token, before = given[index].token, given[index - 1].says if index else ""
    if before in LIKES and given[index].says in ("ANY", "SOME", "ALL"):
        return token.token_type, token.text
    return T.VAR, token.text if token.text.lower() in SPECIAL else "penstock_call"


def closing(words: Sequence[Word], opening: int) -> int:
    """Index of the bracket that closes the one at `opening`."""
    level = 0
    for index in range(opening, len(words)):
        level += (words[index].says == "(") - (words[index].says == ")")
        if level == 0:
            return index
    return len(words) - 1


def levels(words: Sequence[Word]) -> list[int]:
    """How many brackets are open around each word."""
    level, found = 0, []
    for word in words:
        level -= word.says in (")", "]")
        found.append(level)
        level += word.says in ("(", "[")
    return found
