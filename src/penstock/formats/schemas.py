"""The schema language: Spark DDL text into fields, or every problem with its line and column.

    name TYPE [NOT NULL] [COMMENT '...'], ...

Types: BOOLEAN, TINYINT (BYTE), SMALLINT (SHORT), INT (INTEGER), BIGINT (LONG), FLOAT (REAL), DOUBLE,
DECIMAL (DEC, NUMERIC) with (precision, scale), STRING, BINARY, DATE, TIMESTAMP, ARRAY<T>, MAP<STRING, T>,
STRUCT<name: T [NOT NULL] [COMMENT '...'], ...> (the colon may be left out). Words in any case; names in backticks
where they hold more than letters, digits and `_`; `--` begins a comment.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from penstock.formats.ddl_tokens import Token, place, tokens
from penstock.formats.types import Field, Type, to_ddl

SIMPLE = {
    "BOOLEAN": "BOOLEAN", "TINYINT": "TINYINT", "BYTE": "TINYINT", "SMALLINT": "SMALLINT", "SHORT": "SMALLINT",
    "INT": "INT", "INTEGER": "INT", "BIGINT": "BIGINT", "LONG": "BIGINT", "FLOAT": "FLOAT", "REAL": "FLOAT",
    "DOUBLE": "DOUBLE", "STRING": "STRING", "BINARY": "BINARY", "DATE": "DATE", "TIMESTAMP": "TIMESTAMP",
}  # fmt: skip
DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
KNOWN = (*SIMPLE, *DECIMALS, "ARRAY", "MAP", "STRUCT")
UNSUPPORTED = {
    "TIMESTAMP_NTZ": "TIMESTAMP (a time without a zone is read as UTC)", "TIMESTAMP_LTZ": "TIMESTAMP",
    "DATETIME": "TIMESTAMP", "TIME": "STRING", "VARIANT": "STRING, or name the fields in a STRUCT",
    "OBJECT": "STRUCT<...> or MAP<STRING, T>", "CHAR": "STRING", "CHARACTER": "STRING", "VARCHAR": "STRING",
    "TEXT": "STRING", "UUID": "STRING", "INTERVAL": "STRING or BIGINT", "VOID": "a type", "NULL": "a type",
    "NUMBER": "DECIMAL(p,s) or DOUBLE", "BOOL": "BOOLEAN", "BYTES": "BINARY", "VARBINARY": "BINARY",
    "INT8": "TINYINT", "INT16": "SMALLINT", "INT32": "INT", "INT64": "BIGINT", "FLOAT32": "FLOAT",
    "FLOAT64": "DOUBLE", "GEOMETRY": "BINARY", "GEOGRAPHY": "BINARY", "LIST": "ARRAY<T>",
}  # fmt: skip
MAX_LEVELS = 50
MAX_PRECISION = 38
BROKEN = Type("STRING")
"""Stands in for a type that has a problem already, so that the rest of the text is still read."""


class DdlProblem(NamedTuple):
    """What is wrong at one place of the schema text, and what to write instead."""

    line: int
    column: int
    message: str
    remedy: str = ""


class DdlProblems(ValueError):
    """The schema text cannot be read. `problems` holds every one, in the order of the text."""

    def __init__(self, problems: list[DdlProblem]) -> None:
        super().__init__(
            "; ".join(
                f"line {problem.line}, column {problem.column}: {problem.message} {problem.remedy}".strip()
                for problem in problems
            )
        )
        self.problems = problems


def parse_ddl(text: str) -> tuple[Field, ...]:
    """The fields that the text declares. Raises `DdlProblems` with all that is wrong with it."""
    parser = _Parser(text)
    fields = parser.columns()
    if parser.problems:
        raise DdlProblems(sorted(parser.problems))
    return fields


class _Stuck(Exception):
    """This column cannot be read further; the problem is noted already."""


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.position = text, list(tokens(text)), 0
        self.problems: list[DdlProblem] = []

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def problem(self, token: Token, message: str, remedy: str = "") -> None:
        self.problems.append(DdlProblem(*place(self.text, token.at), message, remedy))

    def stuck(self, token: Token, message: str, remedy: str = "") -> _Stuck:
        self.problem(token, message, remedy)
        return _Stuck()

    def word(self, *words: str) -> bool:
        """Take the next token if it is one of these words."""
        hit = self.token.kind == "word" and self.token.text.upper() in words
        self.position += hit
        return hit

    def mark(self, mark: str) -> bool:
        hit = self.token.kind == "mark" and self.token.text == mark
        self.position += hit
        return hit

    def expect(self, mark: str, opened: Token) -> None:
        if not self.mark(mark):
            if self.token.kind == "end":
                raise self.stuck(opened, f"{opened} is not closed.", f"Add  {mark}")
            raise self.stuck(self.token, f"expected `{mark}`, found {self.token}.")

    def columns(self) -> tuple[Field, ...]:
        if self.token.kind == "end":
            self.problem(self.token, "the schema is empty.", "Write it like  id BIGINT NOT NULL, name STRING")
            return ()
        fields: list[Field] = []
        seen: dict[str, str] = {}
        while True:
            start = self.position
            try:
                fields.append(self.field(seen, 1))
                self.end_of_column()
            except _Stuck:
                self.skip_column(start)
            if not self.mark(","):
                return tuple(fields)

    def end_of_column(self) -> None:
        token = self.token
        if token.kind == "end" or (token.kind == "mark" and token.text == ","):
            return
        remedy = "Separate columns with  ," if token.kind in ("word", "name") else ""
        raise self.stuck(token, f"expected `,` or the end after the column, found {token}.", remedy)

    def skip_column(self, start: int) -> None:
        """Go on behind the column that could not be read: at the next comma outside brackets."""
        stopped, level = self.position, 0
        self.position = start
        while self.token.kind != "end":
            if self.token.kind == "mark":
                level += (self.token.text in "<(") - (self.token.text in ">)")
                if self.token.text == "," and level <= 0 and self.position >= stopped:
                    return
            self.take()

    def field(self, seen: dict[str, str], level: int) -> Field:
        name = self.name(seen)
        colon = self.mark(":")
        if not colon and self.token.kind == "other":
            remedy = "A name with other characters stands in backticks:  `my-field` STRING"
            raise self.stuck(self.token, f"unexpected {self.token} after `{name}`.", remedy)
        kind = self.type(level, name)
        nullable = not self.not_null()
        return Field(name, kind, nullable, self.comment())

    def name(self, seen: dict[str, str]) -> str:
        token = self.take()
        if token.kind not in ("word", "name"):
            raise self.stuck(token, f"expected a field's name, found {token}.")
        name = token.text[1:-1].replace("``", "`") if token.kind == "name" else token.text
        if not name:
            self.problem(token, "a field's name is empty.")
        elif name.startswith("_"):
            self.problem(
                token, f"`{name}` starts with `_`: such names are penstock's.", f"Try  {name.strip('_') or 'x'}"
            )
        elif name.lower() in seen:
            other = seen[name.lower()]
            same = (
                "is declared twice"
                if other == name
                else f"differs from `{other}` only in case: tables take them as one"
            )
            self.problem(token, f"`{name}` {same}.")
        seen.setdefault(name.lower(), name)
        return name

    def not_null(self) -> bool:
        if not self.word("NOT"):
            return False
        if not self.word("NULL"):
            raise self.stuck(self.token, f"expected NULL after NOT, found {self.token}.")
        return True

    def comment(self) -> str:
        if not self.word("COMMENT"):
            return ""
        token = self.take()
        if token.kind != "text":
            raise self.stuck(token, f"expected a text in quotes after COMMENT, found {token}.")
        return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)

    def type(self, level: int, name: str = "") -> Type:
        token = self.token
        if token.kind != "word":
            after = f" for `{name}`" if name else ""
            whole = token.text == "<" and name.upper() == "STRUCT"
            remedy = "A schema is the list of columns itself: leave out  struct< >" if whole else ""
            raise self.stuck(token, f"expected a type{after}, found {token}.", remedy)
        self.take()
        word = token.text.upper()
        if word in SIMPLE:
            return Type(SIMPLE[word])
        if level > MAX_LEVELS:
            raise self.stuck(token, f"types are nested more than {MAX_LEVELS} levels deep.")
        if word in DECIMALS:
            return self.decimal(token)
        if word in ("ARRAY", "MAP", "STRUCT"):
            return self.nested(word, token, level)
        return self.unknown_type(token, word)

    def decimal(self, token: Token) -> Type:
        precision, scale = 10, 0
        opened = self.token
        if self.mark("("):
            precision = self.number()
            scale = self.number() if self.mark(",") else 0
            self.expect(")", opened)
        if not 1 <= precision <= MAX_PRECISION or scale > precision:
            rule = f"the precision is 1 to {MAX_PRECISION} and the scale at most the precision"
            self.problem(token, f"there is no DECIMAL({precision},{scale}): {rule}.", "Try  DECIMAL(18,2)")
        return Type("DECIMAL", precision, scale)

    def number(self) -> int:
        token = self.take()
        if token.kind != "word" or not re.fullmatch(r"[0-9]{1,4}", token.text):
            raise self.stuck(token, f"expected a number, found {token}.", "Write it like  DECIMAL(18,2)")
        return int(token.text)

    def nested(self, word: str, token: Token, level: int) -> Type:
        if not self.mark("<"):
            example = {"ARRAY": "ARRAY<STRING>", "MAP": "MAP<STRING, STRING>", "STRUCT": "STRUCT<x: INT>"}[word]
            raise self.stuck(self.token, f"expected `<` after {word}, found {self.token}.", f"Write it like  {example}")
        if word == "STRUCT":
            return Type("STRUCT", fields=self.struct(token, level))
        if word == "MAP":
            key = self.token
            if self.type(level + 1) != Type("STRING"):
                self.problem(key, "the keys of a MAP are STRING: those of a JSON object are text.", "MAP<STRING, T>")
            self.expect(",", token)
        element = self.type(level + 1)
        if self.token.kind == "word" and self.token.text.upper() == "NOT":
            raise self.stuck(self.token, f"NOT NULL inside {word} is not supported: it is for fields.")
        self.expect(">", token)
        return Type(word, element=element)

    def struct(self, token: Token, level: int) -> tuple[Field, ...]:
        if self.mark(">"):
            self.problem(token, "a STRUCT needs at least one field.", "Write it like  STRUCT<x: INT>")
            return ()
        seen: dict[str, str] = {}
        fields = [self.field(seen, level + 1)]
        while self.mark(","):
            fields.append(self.field(seen, level + 1))
        self.expect(">", token)
        return tuple(fields)

    def unknown_type(self, token: Token, word: str) -> Type:
        """Note the problem and step over the type's brackets, so that what follows is still read."""
        if word in UNSUPPORTED:
            self.problem(token, f"the type {word} is not supported.", f"Use  {UNSUPPORTED[word]}")
        else:
            close = difflib.get_close_matches(word, KNOWN, n=1, cutoff=0.6)
            remedy = f"Did you mean  {close[0]}?" if close else "Types: " + ", ".join(KNOWN)
            self.problem(token, f"there is no type `{token.text}`.", remedy)
        if word == "INTERVAL":
            while self.word("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"):
                pass
        for opening, closing in (("<", ">"), ("(", ")")):
            self.skip_brackets(opening, closing)
        return BROKEN

    def skip_brackets(self, opening: str, closing: str) -> None:
        opened = self.token
        if not self.mark(opening):
            return
        level = 1
        while level:
            if self.token.kind == "end":
                raise self.stuck(opened, f"{opened} is not closed.", f"Add  {closing}")
            token = self.take()
            level += (token.text == opening) - (token.text == closing)


__all__ = ["DdlProblem", "DdlProblems", "Field", "Type", "parse_ddl", "to_ddl"]
