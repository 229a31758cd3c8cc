"""What no expression of a pipeline may hold: other rows, other tables, code, files, parameters."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.functions import FORBIDDEN, INSTEAD, nearest, sorts
from penstock.sql.reading import Reading
from penstock.sql.words import INFIX, LIKES, TYPES, Word, closing, in_types

MARKS = {
    "(", ")", "[", "]", ",", ".", "+", "-", "*", "/", "%", "=", "==", "!=", "<>", "<", ">", "<=", ">=", "<=>",
    "|", "||", "&", "^", "~", "!", "->", "=>", "::", "<<", ">>", ">>>",
}  # fmt: skip
AFTER_LIST = {")", "]", ",", ";"}
ONE_RECORD = "a stage sees one record at a time"
LATER = "Aggregate where you query the table."
QUERY_WORDS = {"SELECT", "WITH", "FROM", "TABLE", "VALUES"}


def guard(reading: Reading, given: Sequence[Word], generator: int | None = None) -> tuple[str, ...]:
    """Add every problem of these words; the functions they call. A generator may stand at that index only."""
    types, called = in_types(given), []
    for index, word in enumerate(given):
        if word.kind == "mark":
            _mark(reading, given, index, types[index])
        elif word.kind == "word" and not word.token.text.isascii():
            told = f"{word} has letters that Spark takes in backticks only."
            reading.add(word.start, told, f"Write  `{word.token.text}`")
        elif _is_call(given, index, types[index]):
            called.append(word.called.lower())
            _call(reading, given, index, allowed=index == generator)
        elif word.says in QUERY_WORDS:
            _subquery(reading, given, index)
        elif word.says in ("OVER", "USING") and 0 < index < len(given) - 1 and given[index - 1].ends_value:
            many = any(sorts().get(name) in ("aggregate", "window") for name in called)
            _trailing(reading, word, given[index + 1], told=many)
    return tuple(dict.fromkeys(called))


def _mark(reading: Reading, given: Sequence[Word], index: int, in_type: bool) -> None:
    word = given[index]
    if word.says in MARKS or (in_type and word.says == ":"):
        return
    if word.says == ";":
        reading.add(word.start, "`;` ends nothing here.", "Take it out.")
    elif word.says in ("?", ":", "@", "$"):
        reading.add(word.start, f"parameters and variables have no value here: found {word}.", "Write the value out.")
    else:
        reading.add(word.start, f"{word} is no SQL of Spark's.", "A name with odd characters goes in backticks.")


def _is_call(given: Sequence[Word], index: int, in_type: bool) -> bool:
    word = given[index]
    if index + 1 == len(given) or given[index + 1].says != "(" or word.kind not in ("word", "name") or in_type:
        return False
    return word.says not in INFIX and word.says != "OVER" and not _is_list(given, index)


def _is_list(given: Sequence[Word], index: int) -> bool:
    """`LIKE ANY (...)`. Where an operator follows the bracket, Spark takes ANY for the aggregate of that name."""
    if given[index].says not in ("ANY", "SOME", "ALL") or index == 0 or given[index - 1].says not in LIKES:
        return False
    end = closing(given, index + 1) + 1
    return end == len(given) or given[end].says in AFTER_LIST or given[end].kind in ("word", "name")


def _call(reading: Reading, given: Sequence[Word], index: int, *, allowed: bool) -> None:
    word, name = given[index], given[index].called.lower()
    sort = sorts().get(name)
    if index and given[index - 1].says == ".":
        reading.add(
            word.start, f"a function is called by its bare name: found {word} after a dot.", f"Try  {name}(...)"
        )
    elif name in FORBIDDEN:
        why, remedy = FORBIDDEN[name]
        reading.add(word.start, f"the function `{name}` is refused: {why}.", remedy)
    elif sort is None and name not in TYPES:
        close = nearest(name)
        told = f"Did you mean  {close}?" if close else "Spark's functions are those of  SHOW FUNCTIONS"
        reading.add(word.start, f"there is no function {word}.", told)
    elif sort in ("aggregate", "window"):
        message = f"`{name}` looks at many rows, and {ONE_RECORD}."
        reading.add(word.start, message, INSTEAD.get(name, LATER))
    elif sort == "table":
        reading.add(word.start, f"`{name}` makes a table, and {ONE_RECORD}.", "Take it out.")
    elif sort == "generator" and not allowed:
        reading.add(word.start, *_generator(name))


def _generator(name: str) -> tuple[str, str]:
    if name in INSTEAD:
        return f"the function `{name}` is not supported.", INSTEAD[name]
    message = f"`{name}` makes several rows of one: it stands alone, as one item of a `sql` step's SELECT."
    return message, f"Write  SELECT *, {name}(xs) AS x FROM rows"


def _subquery(reading: Reading, given: Sequence[Word], index: int) -> None:
    """A query in brackets. `values` and `table` are also fine names of columns."""
    word, before = given[index], given[index - 1].says if index else ""
    after = given[index + 1] if index + 1 < len(given) else None
    opens = before == "(" and after is not None and after.begins_value
    if word.says in ("SELECT", "WITH") if before == "(" else word.says == "SELECT":
        reading.add(word.start, f"a subquery reads other rows, and {ONE_RECORD}.", "Take it out.")
    elif opens and word.says != "WITH":
        reading.add(word.start, f"{word} reads a table, and {ONE_RECORD}.", "A column of that name goes in backticks.")


def _trailing(reading: Reading, word: Word, after: Word, *, told: bool) -> None:
    if word.says == "USING" and after.kind == "text":
        reading.add(word.start, "a script runs code outside the row.", "Write a `python` step.")
    elif word.says == "OVER" and not told and (after.says == "(" or after.is_name):
        reading.add(word.start, f"a window looks at many rows, and {ONE_RECORD}.", LATER)
