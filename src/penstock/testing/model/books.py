"""What the publishing model is made of: sinks, the state folder of each generation, and the drivers."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

SINKS = ("the table", "the topic")
RECORDS = 2
"""What the source holds: one batch of two records, or two of one."""
FIRST = 1
"""The old generation."""
COLOURS = 2
HUES = ("red", "blue")


class At(IntEnum):
    """The step a driver takes next."""

    PLAN = 0
    INTENT = 1
    LOOK = 2
    VOID = 3
    LOOK_AGAIN = 4
    PASS = 5
    FREEZE = 6
    PUBLISH = 7
    OUTCOME = 8
    RETURN = 9
    OVER = 10


class Rows(NamedTuple):
    """The result of one pass: which records, and which way they came out."""

    start: int = 0
    end: int = 0
    colour: int = 0

    def __str__(self) -> str:
        return f"records {self.start} to {self.end} in {HUES[self.colour]}"


class Commit(NamedTuple):
    """What a sink holds under one key (generation, batch)."""

    gen: int
    batch: int
    rows: Rows


class Sink(NamedTuple):
    commits: tuple[Commit, ...] = ()
    closed: bool = False
    """Whether the first generation is closed here."""
    void: tuple[int, int, int] = (0, 0, 0)
    """Generation, batch, number: manifests of this batch below this number are refused."""

    def find(self, gen: int, batch: int) -> Commit | None:
        return next((c for c in self.commits if (c.gen, c.batch) == (gen, batch)), None)

    def colours_of(self, record: int) -> list[int]:
        return [c.rows.colour for c in self.commits if c.rows.start <= record < c.rows.end]


class Book(NamedTuple):
    """The state folder of one generation: ledger, stage and Spark's checkpoint."""

    start: int = 0
    intents: tuple[tuple[int, int], ...] = ()
    manifests: tuple[tuple[Rows, ...], ...] = ()
    """For each batch its manifests, by number; the last one counts."""
    committed: int = 0
    """How many batches Spark has committed."""
    position: int = 0
    """Where Spark's next batch begins."""

    def with_manifests(self, batch: int, manifests: tuple[Rows, ...]) -> Book:
        return self._replace(manifests=(*self.manifests[:batch], manifests, *self.manifests[batch + 1 :]))


class Driver(NamedTuple):
    name: int
    gen: int
    at: At = At.PLAN
    batch: int = 0
    start: int = 0
    end: int = 0
    number: int = 0
    """Of the manifest that it publishes, or means to write."""
    rows: Rows = Rows()
    """What it has computed, or taken from a manifest."""
    sink: int = 0
    flip: bool = False
    """Whether it commits topics first."""

    def __str__(self) -> str:
        return f"D{self.name}"

    def plain(self) -> Driver:
        """Without what it will not look at again."""
        if self.at is At.PLAN:
            return Driver(0, self.gen)
        if self.at in (At.OUTCOME, At.RETURN):
            return Driver(0, self.gen, self.at, self.batch, end=self.end)
        known = self.at in (At.FREEZE, At.PUBLISH)
        return self._replace(name=0, rows=self.rows if known else Rows(), flip=self.flip and self.sink > 0)


class Verb(NamedTuple):
    """`penstock new-generation`: how far it got, and where the new generation will start."""

    step: int = 0
    start: int = 0


class World(NamedTuple):
    sinks: tuple[Sink, ...]
    books: tuple[Book, ...]
    drivers: tuple[Driver, ...] = ()
    verb: Verb = Verb()
    started: int = 0

    def with_driver(self, driver: Driver) -> World:
        return self._replace(drivers=tuple(driver if d.name == driver.name else d for d in self.drivers))

    def over(self, driver: Driver) -> World:
        return self.with_driver(driver._replace(at=At.OVER))

    def with_sink(self, index: int, sink: Sink) -> World:
        return self._replace(sinks=(*self.sinks[:index], sink, *self.sinks[index + 1 :]))

    def with_book(self, gen: int, book: Book) -> World:
        return self._replace(books=(*self.books[: gen - 1], book, *self.books[gen:]))

    def having(self, gen: int, batch: int) -> int:
        """How many sinks have this batch."""
        return sum(sink.find(gen, batch) is not None for sink in self.sinks)

    def ends_at(self, gen: int) -> int | None:
        """Where the last batch of the generation ends, if every sink says the same."""
        ends = {max((c.rows.end for c in sink.commits if c.gen == gen), default=0) for sink in self.sinks}
        return ends.pop() if len(ends) == 1 else None

    def doubled(self) -> str | None:
        for name, sink in zip(SINKS, self.sinks, strict=True):
            for record in range(RECORDS):
                if len(sink.colours_of(record)) > 1:
                    return f"DOUBLED: record {record} is in {name} twice"
        return None

    def mixed(self) -> str | None:
        for record in range(RECORDS):
            if len({colour for sink in self.sinks for colour in sink.colours_of(record)}) > 1:
                return f"MIXED: record {record} came out one way in {SINKS[0]} and another way in {SINKS[1]}"
        return None

    def lost(self) -> str | None:
        position = max(book.position for book in self.books)
        for name, sink in zip(SINKS, self.sinks, strict=True):
            for record in range(position):
                if not sink.colours_of(record):
                    return f"LOST: record {record} is taken for done, and {name} does not have it"
        return None
