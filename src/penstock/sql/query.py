"""The one SELECT of a `sql` step: `SELECT items FROM rows [LATERAL VIEW ...] [WHERE ...]`, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.expression import read_item, read_plain
from penstock.sql.functions import GENERATORS
from penstock.sql.guard import guard
from penstock.sql.outputs import outputs
from penstock.sql.parts import Parts, View, cut
from penstock.sql.problems import SqlWrong
from penstock.sql.reading import Reading
from penstock.sql.values import Expression, Generator, RowQuery
from penstock.sql.words import Word, closing, levels


def read_query(text: str) -> RowQuery:
    """The row-wise query that the text is. Raises SqlWrong with all that is wrong with it."""
    reading = Reading(text)
    parts = cut(reading)
    _guard(reading, parts)
    query = _Query(reading, parts)
    query.read()
    reading.finish()
    return RowQuery(text, tuple(query.items), query.where, query.generator, parts.alias)


def _guard(reading: Reading, parts: Parts) -> None:
    """Every piece is guarded before any is parsed, so that all that is refused is told at once."""
    for piece in (*(view.call[2:-1] for view in parts.views), parts.where or ()):
        guard(reading, piece)
    for item in parts.items:
        guard(reading, item, 0 if _generator_end(item) else None)
    reading.finish()


class _Query:
    """Reads each clause as expressions. A LATERAL VIEW comes first: the others see its columns."""

    def __init__(self, reading: Reading, parts: Parts) -> None:
        self.reading, self.parts = reading, parts
        self.items: list[Expression] = []
        self.where: Expression | None = None
        self.generator: Generator | None = None
        self.names = frozenset({parts.alias.lower()})

    def read(self) -> None:
        for view in self.parts.views:
            self._view(view)
        for item in self.parts.items:
            self._item(item)
        if self.parts.where:
            self.where = read_plain(self.reading, self.parts.where, self.names)
        self.reading.problems += [problem for _, problem in outputs(self.items, self.generator)]

    def _view(self, view: View) -> None:
        if self._second(view.lateral):
            return
        argument = self._argument(view.call)
        self.names |= {view.table.lower()} if view.table else set()
        self.generator = self._made(view.call, argument, view.names, view.lateral, view)

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
            self.generator = self._made(call, self._argument(call), names, given[0])
        self.items.append(item)

    def _made(
        self, call: Sequence[Word], argument: Expression, names: Sequence[Word], at: Word, view: View | None = None
    ) -> Generator:
        for name in names:
            self._no_underscore(name)
        function, (row, column) = call[0].called.lower(), self.reading.place(at.start)
        return Generator(
            function=function,
            argument=argument,
            names=tuple(name.called for name in names) or GENERATORS[function],
            named=bool(names),
            item=None if view else len(self.items),
            outer=function.endswith("_outer") or (view is not None and view.outer),
            table=view.table if view else None,
            row=row,
            column=column,
        )

    def _argument(self, call: Sequence[Word]) -> Expression:
        """What the generator is given; the call itself is guarded with it."""
        if call[0].called.lower() not in GENERATORS:
            known = ", ".join(GENERATORS)
            self.reading.stop(call[0].start, f"{call[0]} is no generator that a step can use.", f"Those are {known}.")
        inside = call[2:-1]
        if not inside:
            self.reading.stop(call[0].start, f"{call[0]} needs an array or a map.", "Write  explode(items)")
        more = next(
            (word for word, level in zip(inside, levels(inside), strict=True) if (word.says, level) == (",", 0)), None
        )
        if more:
            self.reading.stop(more.start, f"{call[0]} takes one array or map.", "Put the other in the next step.")
        return read_plain(self.reading, inside, self.names)

    def _second(self, word: Word) -> bool:
        if self.generator:
            message = "a step can hold one generator, and this is a second."
            self.reading.add(word.start, message, "Put it in the next step.")
        return self.generator is not None

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


__all__ = ["Expression", "Generator", "RowQuery", "SqlWrong", "read_query"]
