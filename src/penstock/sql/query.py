"""The one SELECT of a `sql` step: `SELECT items FROM rows [LATERAL VIEW ...] [WHERE ...]`, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.clauses import ASK, BEGINNINGS, CLAUSES, refusal
from penstock.sql.expression import read_item, read_plain
from penstock.sql.functions import GENERATORS
from penstock.sql.guard import guard
from penstock.sql.outputs import outputs
from penstock.sql.problems import SqlWrong
from penstock.sql.reading import Reading
from penstock.sql.values import Expression, Generator, RowQuery
from penstock.sql.words import Word, closing, in_types


def read_query(text: str) -> RowQuery:
    """The row-wise query that the text is. Raises SqlWrong with all that is wrong with it."""
    query = _Query(Reading(text))
    query.read()
    query.reading.finish()
    return RowQuery(text, tuple(query.items), query.where, query.generator, query.alias)


class _Query:
    """Cuts the words into clauses, from the first to the last; each clause is then read as expressions."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.alias = reading, "rows"
        self.words = reading.words
        while len(self.words) > 1 and self.words[-1].says == ";":
            self.words = self.words[:-1]
        self.levels = _levels(self.words)
        self.at = 0
        self.items: list[Expression] = []
        self.where: Expression | None = None
        self.generator: Generator | None = None
        self.names: frozenset[str] = frozenset({"rows"})

    @property
    def word(self) -> Word | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def says(self, *words: str) -> bool:
        """Is the next word this one? Then take it."""
        hit = self.word is not None and self.word.says in words
        self.at += hit
        return hit

    def read(self) -> None:
        self._statements()
        select = self._select()
        self._rows()
        views = []
        while self.word and self.word.says == "LATERAL":
            views.append(self._view())
        where = self._where()
        self._end()
        self._guard([view[2][2:-1] for view in views], select, where)
        for view in views:
            self._read_view(*view)
        for item in select:
            self._item(item)
        if where:
            self.where = read_plain(self.reading, where, self.names)
        self.reading.problems += [problem for _, problem in outputs(self.items, self.generator)]

    def _guard(
        self, arguments: list[Sequence[Word]], select: list[Sequence[Word]], where: Sequence[Word] | None
    ) -> None:
        """Every piece is guarded before any is parsed, so that all that is refused is told at once."""
        for piece in (*arguments, *([where] if where else [])):
            guard(self.reading, piece)
        for item in select:
            guard(self.reading, item, 0 if _generator_end(item) else None)
        self.reading.finish()

    def _statements(self) -> None:
        for index, word in enumerate(self.words):
            if word.says == ";" and self.levels[index] == 0:
                self.reading.stop(word.start, "a `sql` step is one query, and `;` begins another.", ASK)
        first = self.words[0]
        if first.says != "SELECT":
            self.reading.stop(first.start, *BEGINNINGS.get(first.says, (f"expected SELECT, found {first}.", ASK)))

    def _select(self) -> list[Sequence[Word]]:
        """The words of each item, up to FROM."""
        first = self.words[1] if len(self.words) > 1 else None
        if first and first.says == "DISTINCT":
            self.reading.stop(first.start, *CLAUSES["DISTINCT"])
        if first and first.says == "ALL" and len(self.words) > 2 and self.words[2].begins_value:
            self.reading.stop(first.start, "ALL has no effect here.", "Take it out.")
        self.at, items, types = 1, [], in_types(self.words)
        begin = self.at
        while word := self.word:
            top = self.levels[self.at] == 0 and not types[self.at]
            if top and word.says == "FROM" and self.words[self.at - 1].says != "DISTINCT":
                break
            if top and word.says == ",":
                items.append(self._cut(begin))
                begin = self.at + 1
            self.at += 1
        items.append(self._cut(begin))
        if self.word is None:
            self.reading.stop(self.words[-1].start, "a `sql` step reads its rows: FROM is missing.", "Add  FROM rows")
        self.at += 1
        return items

    def _cut(self, begin: int) -> Sequence[Word]:
        if begin == self.at:
            place = self.words[min(self.at, len(self.words) - 1)]
            self.reading.stop(place.start, f"a column is missing before {place}.", "Write  SELECT * FROM rows")
        return self.words[begin : self.at]

    def _rows(self) -> None:
        table = self.word
        if table is None:
            self.reading.stop(self.words[-1].start, "the rows are missing after FROM.", ASK)
        self.at += 1
        if table.called.lower() != "rows" or not table.is_name or (self.word and self.word.says in (".", "(")):
            message = f"the one table that a step can read is `rows`, found {self._dotted(table)}."
            self.reading.stop(table.start, message, "Write  FROM rows")
        explicit = self.says("AS")
        if self.word and self.word.is_name and (explicit or refusal(self.word.says) is None) and self._no_clause():
            self.alias = self.word.called
            self.names = frozenset({self.alias.lower()})
            self.at += 1

    def _dotted(self, first: Word) -> str:
        """The whole name, as it stands: `` text.`/etc/hostname` ``."""
        end = self.at
        while end + 1 < len(self.words) and self.words[end].says == ".":
            end += 2
        return str(first) if end == self.at else self.reading.cut(self.words[self.at - 1 : end])[:60]

    def _no_clause(self) -> bool:
        return self.word is not None and self.word.says not in ("LATERAL", "WHERE")

    def _view(self) -> tuple[Word, bool, Sequence[Word], int, str | None, list[Word]]:
        """LATERAL VIEW [OUTER] generator(argument) [table] [[AS] a, b]."""
        lateral = self.words[self.at]
        self.at += 1
        if not self.says("VIEW"):
            self.reading.stop(lateral.start, *CLAUSES["JOIN"])
        outer = self.says("OUTER")
        begin = self.at
        if self.at + 1 >= len(self.words) or self.words[self.at + 1].says != "(":
            remedy = "Write  LATERAL VIEW explode(items) t AS item"
            self.reading.stop(lateral.start, "LATERAL VIEW needs a generator.", remedy)
        self.at = closing(self.words, self.at + 1) + 1
        call = self.words[begin : self.at]
        table = None
        if self.word and self.word.is_name and self._no_clause() and refusal(self.word.says) is None:
            table = self.word.called
            self.at += 1
        names = self._names() if self.says("AS") or self._is_name() else []
        return lateral, outer, call, begin, table, names

    def _is_name(self) -> bool:
        return bool(self.word and self.word.is_name and self._no_clause() and refusal(self.word.says) is None)

    def _names(self) -> list[Word]:
        names = []
        while self.word and self.word.is_name:
            names.append(self.word)
            self.at += 1
            if not self.says(","):
                break
        return names

    def _where(self) -> Sequence[Word] | None:
        where = self.word
        if not self.says("WHERE"):
            return None
        begin = self.at
        while self.word and not self._clause_begins(begin):
            self.at += 1
        if begin == self.at:
            assert where is not None
            self.reading.stop(where.start, "a condition is missing after WHERE.", "Write  WHERE amount > 0")
        return self.words[begin : self.at]

    def _clause_begins(self, begin: int) -> bool:
        """A word of a clause ends the condition only where a value has just ended: `offset > 3` is a column's."""
        word = self.words[self.at]
        ended = self.at > begin and self.words[self.at - 1].ends_value
        return self.levels[self.at] == 0 and ended and (refusal(word.says) is not None or word.says == "LATERAL")

    def _end(self) -> None:
        if word := self.word:
            told = refusal(word.says) or (f"cannot be read as SQL at {word}.", ASK)
            self.reading.stop(word.start, *told)

    def _read_view(
        self, lateral: Word, outer: bool, call: Sequence[Word], begin: int, table: str | None, names: list[Word]
    ) -> None:
        if self._second(lateral):
            return
        if table:
            self.names |= {table.lower()}
        function, row, column = call[0].called.lower(), *self.reading.place(lateral.start)
        argument = self._argument(call, lateral)
        made = tuple(name.called for name in names) or GENERATORS.get(function)
        outer |= function.endswith("_outer")
        for name in names:
            self._no_underscore(name)
        self.generator = Generator(function, argument, made, bool(names), None, outer, table, row, column)

    def _argument(self, call: Sequence[Word], at: Word) -> Expression:
        """What the generator is given; the call itself is guarded with it."""
        if call[0].called.lower() not in GENERATORS:
            known = ", ".join(GENERATORS)
            self.reading.stop(call[0].start, f"{call[0]} is no generator that a step can use.", f"Those are {known}.")
        inside = call[2:-1]
        if not inside:
            self.reading.stop(at.start, f"{call[0]} needs an array or a map.", "Write  explode(items)")
        more = next(
            (word for word, level in zip(inside, _levels(inside), strict=True) if (word.says, level) == (",", 0)), None
        )
        if more:
            self.reading.stop(more.start, f"{call[0]} takes one array or map.", "Put the other in the next step.")
        return read_plain(self.reading, inside, self.names)

    def _second(self, word: Word) -> bool:
        if self.generator:
            message = "a step can hold one generator, and this is a second."
            self.reading.add(word.start, message, "Put it in the next step.")
        return self.generator is not None

    def _item(self, given: Sequence[Word]) -> None:
        end = _generator_end(given)
        if end:
            self._generator(given, given[:end], given[end:])
        else:
            self.items.append(read_item(self.reading, given, self.names))

    def _generator(self, given: Sequence[Word], call: Sequence[Word], rest: Sequence[Word]) -> None:
        item = read_item(self.reading, given, self.names, generator=0)
        if not self._second(given[0]):
            names = [word for word in rest if word.is_name]
            for name in names[1:]:
                self._no_underscore(name)
            function, argument = call[0].called.lower(), self._argument(call, call[0])
            made = tuple(name.called for name in names) or GENERATORS[function]
            outer = function.endswith("_outer")
            place = self.reading.place(given[0].start)
            self.generator = Generator(function, argument, made, bool(names), len(self.items), outer, None, *place)
        self.items.append(item)

    def _no_underscore(self, name: Word) -> None:
        if name.called.startswith("_"):
            remedy = f"Try  {name.called.lstrip('_') or 'name'}"
            self.reading.add(name.start, f"names that begin with `_` are penstock's: found {name}.", remedy)


def _generator_end(given: Sequence[Word]) -> int:
    """Where the call ends, if the item is a generator and nothing but its names follow it; else 0."""
    if given[0].called.lower() not in GENERATORS or len(given) < 3 or given[1].says != "(":
        return 0
    end = closing(given, 1) + 1
    named = end == len(given) or given[end].says == "AS" or given[end].is_name
    return end if named else 0


def _levels(words: Sequence[Word]) -> list[int]:
    """How many brackets are open around each word."""
    level, levels = 0, []
    for word in words:
        level -= word.says in (")", "]")
        levels.append(level)
        level += word.says in ("(", "[")
    return levels


__all__ = ["Expression", "Generator", "RowQuery", "SqlWrong", "read_query"]
