"""A SQL text as sqlglot's tokens, with the place of each; and the one way to a sqlglot tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.sql.lexis import Span, Unclosed, spans
from penstock.sql.problems import SqlProblem, SqlWrong
from penstock.sql.words import Word, for_parser, words

if TYPE_CHECKING:
    from sqlglot.errors import ParseError
    from sqlglot.expressions import Expression as Tree
    from sqlglot.expressions import Select

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
"""Brackets and CASEs inside one another. sqlglot goes 23 calls deeper for each, and Python stops at 1000."""
TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep."
DIFFERENT = "Spark and penstock would read this text differently."
FLATTEN = "Take a part of it out into a step of its own."
_NO_TEXT = re.compile("[\x00\ufeff\ud800-\udfff]")
"""A zero byte, a byte order mark, half of a pair: what a text in UTF-8 cannot hold, or Spark cannot be sent."""
_REFERENCE = re.compile(r"\$\{[^}\s]*\}?")
_OPENS = {"(": ")", "[": "]", "CASE": "END"}


class Reading:
    """A text, its tokens, and the problems found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[SqlProblem] = []
        self._admit()
        self.quoted = self._quoted()
        self._references()
        self.words = self._words()
        self._aligned()
        self._brackets()

    def add(self, at: int, message: str, remedy: str = "") -> None:
        self.problems.append(SqlProblem(*self.place(at), message, remedy))

    def stop(self, at: int, message: str, remedy: str = "") -> NoReturn:
        """Raise this problem, and those found before."""
        self.add(at, message, remedy)
        raise SqlWrong(self.problems)

    def finish(self) -> None:
        if self.problems:
            raise SqlWrong(self.problems)

    def place(self, at: int) -> tuple[int, int]:
        return self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)

    def cut(self, words: Sequence[Word]) -> str:
        """The user's own text, from the first of these words to the last."""
        return self.text[words[0].start : words[-1].end]

    def _admit(self) -> None:
        size = len(self.text.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            self.stop(0, f"a SQL text may hold 64 KB; this one holds {size // 1024} KB.", FLATTEN)
        wrong = _NO_TEXT.search(self.text)
        if wrong:
            self.stop(wrong.start(), "holds a character that no SQL text can hold.", "Take it out.")

    def _quoted(self) -> list[Span]:
        try:
            return list(spans(self.text))
        except Unclosed as error:
            what = "this comment" if error.mark == "/*" else "this quote"
            self.stop(error.at, f"{what} is not closed.", f"Add  {'*/' if error.mark == '/*' else error.mark}")

    def _references(self) -> None:
        """`${...}` is found everywhere, in quotes as well: it would be handed to Spark as it stands."""
        for match in _REFERENCE.finditer(self.text):
            self.add(
                match.start(), "SQL takes no references: the text is Spark's as it stands.", "Write the value out."
            )
        self.finish()

    def _words(self) -> list[Word]:
        from sqlglot.dialects.spark import Spark
        from sqlglot.errors import TokenError

        try:
            found = words(Spark().tokenize(self.text))
        except TokenError:
            self.stop(0, "cannot be read as SQL.", "Write it another way.")
        if not found:
            self.stop(0, "holds no SQL.")
        return found

    def _aligned(self) -> None:
        """Stop where sqlglot and Spark do not agree about a quote or a comment."""
        hint = next((span for span in self.quoted if span.comment and self.text.startswith("/*+", span.start)), None)
        if hint:
            self.stop(hint.start, "a hint has no effect here: penstock runs the step itself.", "Take it out.")
        code, at = self._without_comments(), 0
        for word in [*self.words, None]:
            start = word.start if word else len(code)
            if code[at:start].strip() or (word and code[start : word.end] != self.text[start : word.end]):
                self.stop(at, DIFFERENT, "Write it another way.")
            at = word.end if word else at
        ours = {span.end: span.start for span in self.quoted if not span.comment}
        theirs = {word.end: word.start for word in self.words if word.kind in ("text", "name")}
        for end in sorted(ours.keys() | theirs.keys()):  # a text may have one letter before its quote: x'1F', r'\d'
            if not 0 <= ours.get(end, 0) - theirs.get(end, len(code) + 2) <= 1:
                self.stop(ours.get(end, theirs.get(end, 0)), DIFFERENT, "Write it another way.")

    def _without_comments(self) -> str:
        """The text with blanks for comments: every word stays where it is."""
        pieces, at = [], 0
        for span in self.quoted:
            pieces += [self.text[at : span.start], self.text[span.start : span.end]]
            pieces[-1] = " " * len(pieces[-1]) if span.comment else pieces[-1]
            at = span.end
        return "".join([*pieces, self.text[at:]])

    def _brackets(self) -> None:
        """Every bracket has its partner, and none lies too deep for the parser."""
        opened: list[Word] = []
        for word in self.words:
            if word.says in _OPENS:
                opened.append(word)
                if len(opened) > MAX_DEPTH:
                    self.stop(word.start, TOO_DEEP, FLATTEN)
            elif opened and _OPENS[opened[-1].says] == word.says:
                opened.pop()
            elif word.says in (")", "]"):
                self.stop(word.start, f"{word} closes nothing.", "Take it out, or open it before.")
        if opened:
            self.stop(opened[-1].start, f"{opened[-1]} is not closed.", f"Add  {_OPENS[opened[-1].says]}")


def parse(reading: Reading, given: Sequence[Word]) -> Tree:
    """The tree of one select item. Whatever is no such thing is stopped at, with the word."""
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import ErrorLevel, ParseError
    from sqlglot.expressions import Select
    from sqlglot.tokenizer_core import Token, TokenType

    before = [Token(sort, text, 1, -1) for sort, text in _before(TokenType)]
    try:
        [tree] = Spark().parser(error_level=ErrorLevel.IMMEDIATE).parse([*before, *for_parser(given)], reading.text)
    except ParseError as error:
        reading.stop(*_told(error, given))
    except RecursionError:
        reading.stop(given[0].start, TOO_DEEP, FLATTEN)
    except Exception:  # whatever sqlglot trips over: the text is refused, and a person gets no traceback
        reading.stop(given[0].start, "cannot be read as SQL.", "Write it another way.")
    if not isinstance(tree, Select) or len(tree.expressions) != 2 or _more(tree):
        reading.stop(given[0].start, "cannot be read as one expression.", "Write one expression, and one only.")
    found: Tree = tree.expressions[1]
    return found


def _before(sorts: Any) -> list[tuple[Any, str]]:
    """`SELECT 0,`: an expression that stood first could be taken for DISTINCT, TRANSFORM or another statement."""
    return [(sorts.SELECT, "SELECT"), (sorts.NUMBER, "0"), (sorts.COMMA, ",")]


def _more(tree: Select) -> bool:
    return any(value for key, value in tree.args.items() if key != "expressions")


def _told(error: ParseError, given: Sequence[Word]) -> tuple[int, str, str]:
    """Where sqlglot got stuck, in words of ours: its own name Python classes."""
    index = (error.errors or [{}])[0].get("col")
    word = given[index] if isinstance(index, int) and 0 <= index < len(given) else given[-1]
    if word is given[-1] and not word.ends_value:
        return word.start, f"something is missing after {word}.", ""
    return word.start, f"cannot be read as SQL at {word}.", "A name that is also a word of SQL goes in backticks."
