"""A query's words, cut into its clauses. What is no clause of a `sql` step is stopped at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.sql.clauses import ASK, BEGINNINGS, CLAUSES, refusal
from penstock.sql.reading import Reading
from penstock.sql.words import Word, closing, in_types, levels

Words = Sequence[Word]


@dataclass(frozen=True)
class View:
    """LATERAL VIEW [OUTER] generator(argument) [table] [[AS] a, b]."""

    lateral: Word
    outer: bool
    call: Words
    table: str | None
    names: tuple[Word, ...]


@dataclass(frozen=True)
class Parts:
    """SELECT items FROM rows [alias] [views] [WHERE where]."""

    items: list[Words]
    alias: str
    views: list[View]
    where: Words | None


def cut(reading: Reading) -> Parts:
    """The clauses of the one query that the text holds."""
    return _Scissors(reading).parts()


class _Scissors:
    """Goes through the words once, from SELECT to the end."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.words, self.at = reading, reading.words, 0
        while len(self.words) > 1 and self.words[-1].says == ";":
            self.words = self.words[:-1]
        self.levels = levels(self.words)

    @property
    def word(self) -> Word | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def says(self, *words: str) -> bool:
        """Is the next word this one? Then take it."""
        hit = self.word is not None and self.word.says in words
        self.at += hit
        return hit

    def parts(self) -> Parts:
        self._statements()
        items, alias, views = self._select(), self._rows(), []
        while self.word and self.word.says == "LATERAL":
            views.append(self._view())
        where = self._where()
        self._end()
        return Parts(items, alias, views, where)

    def _statements(self) -> None:
        for index, word in enumerate(self.words):
            if word.says == ";" and self.levels[index] == 0:
                self.reading.stop(word.start, "a `sql` step is one query, and `;` begins another.", ASK)
        first = self.words[0]
        if first.says != "SELECT":
            self.reading.stop(first.start, *BEGINNINGS.get(first.says, (f"expected SELECT, found {first}.", ASK)))

    def _select(self) -> list[Words]:
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

    def _cut(self, begin: int) -> Words:
        if begin == self.at:
            place = self.words[min(self.at, len(self.words) - 1)]
            self.reading.stop(place.start, f"a column is missing before {place}.", "Write  SELECT * FROM rows")
        return self.words[begin : self.at]

    def _rows(self) -> str:
        """`rows`, or the name that the query gives them."""
        table = self.word
        if table is None:
            self.reading.stop(self.words[-1].start, "the rows are missing after FROM.", ASK)
        self.at += 1
        if table.called.lower() != "rows" or not table.is_name or (self.word and self.word.says in (".", "(")):
            message = f"the one table that a step can read is `rows`, found {self._dotted(table)}."
            self.reading.stop(table.start, message, "Write  FROM rows")
        self.says("AS")
        return self._name() or "rows"

    def _dotted(self, first: Word) -> str:
        """The whole name, as it stands: `` text.`/etc/hostname` ``."""
        end = self.at
        while end + 1 < len(self.words) and self.words[end].says == ".":
            end += 2
        return str(first) if end == self.at else self.reading.cut(self.words[self.at - 1 : end])[:60]

    def _name(self) -> str | None:
        """The next word, if it is a name and begins no clause."""
        word = self.word
        if word is None or not word.is_name or word.says == "LATERAL" or refusal(word.says):
            return None
        self.at += 1
        return word.called

    def _view(self) -> View:
        lateral = self.words[self.at]
        self.at += 1
        if not self.says("VIEW"):
            self.reading.stop(lateral.start, *CLAUSES["JOIN"])
        outer, begin = self.says("OUTER"), self.at
        if self.at + 1 >= len(self.words) or self.words[self.at + 1].says != "(":
            remedy = "Write  LATERAL VIEW explode(items) t AS item"
            self.reading.stop(lateral.start, "LATERAL VIEW needs a generator.", remedy)
        self.at = closing(self.words, self.at + 1) + 1
        call, table = self.words[begin : self.at], self._name()
        self.says("AS")
        return View(lateral, outer, call, table, tuple(self._names()))

    def _names(self) -> list[Word]:
        names = []
        while self._name():
            names.append(self.words[self.at - 1])
            if not self.says(","):
                break
        return names

    def _where(self) -> Words | None:
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
