"""The order of a batch, as batch.py has it, with any number of drivers, a few of them alive at once.

A driver plans a batch, writes the intent, makes its pass, freezes the manifest, commits to every sink, writes the
outcome and lets Spark commit. It dies anywhere; another may run beside it. Two passes over the same records need not
agree (steps are free to be non-deterministic), so each pass has a colour, and a record must have one colour everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from penstock.testing.model.books import COLOURS, FIRST, RECORDS, SINKS, At, Book, Commit, Driver, Rows, Sink, World
from penstock.testing.model.generations import new_generation, order_of
from penstock.testing.model.search import Step


class Rule(Enum):
    """What the order demands. Each can be left out of a model."""

    INTENT_ONCE = "an intent is created once; a driver with other ranges halts"
    FREEZE_FIRST = "the manifest is written before the first visible write"
    MANIFEST_ONCE = "a manifest is created once; the loser publishes the winner's"
    NUMBER_SEEN = "a pass is frozen under the number that was free when the driver looked, not when it was done"
    VOID_FIRST = "a manifest that is given up is first voided in every sink; then the driver looks again"
    KNOWN_BY_KEY = "a sink that has the batch recognises it instead of adding it"
    EQUAL_DIGEST = "a batch is recognised only with the digest of its ranges"
    HALF_PUBLISHED_HALTS = "a batch that some sink has is not computed again for the others"
    CLOSE_FIRST = "a new generation opens after the old one was closed in every sink"
    LOOK_AFTER_CLOSING = "where a new generation goes on is looked up after the old one was closed"
    TABLES_FIRST = "tables are committed before topics: a courtesy to readers, not a matter of safety"


COURTESIES = frozenset({Rule.TABLES_FIRST})
OF_GENERATIONS = frozenset({Rule.CLOSE_FIRST, Rule.LOOK_AFTER_CLOSING})


class Publishing:
    """The model: `alive` drivers at once, and as much trouble from outside as is asked for.

    `restores`: the state folder comes back from a backup. `stale`: a manifest turns out too old to use, or its table
    changed. `generations`: somebody opens a new generation.
    """

    def __init__(
        self,
        alive: int = 2,
        without: Rule | None = None,
        *,
        restores: bool = True,
        stale: bool = True,
        generations: bool = True,
    ) -> None:
        self.alive, self.rules = alive, frozenset(Rule) - {without}
        self.restores, self.stale, self.generations = restores, stale, generations
        self.does = {
            At.PLAN: self._plan,
            At.INTENT: self._intent,
            At.LOOK: self._look,
            At.VOID: self._void,
            At.LOOK_AGAIN: self._look_again,
            At.PASS: self._pass,
            At.FREEZE: self._freeze,
            At.PUBLISH: self._publish,
            At.OUTCOME: self._outcome,
            At.RETURN: self._return,
        }

    def start(self) -> World:
        return World((Sink(),) * len(SINKS), (Book(),))

    def plain(self, world: World) -> World:
        """Without the dead, and without names."""
        living = sorted(d.plain() for d in world.drivers if d.at is not At.OVER)
        named = tuple(d._replace(name=number) for number, d in enumerate(living))
        return world._replace(drivers=named, started=len(named))

    def steps(self, world: World) -> Iterator[tuple[Step, World]]:
        living = [driver for driver in world.drivers if driver.at is not At.OVER]
        if len(living) < self.alive and world.books[-1].position < RECORDS:
            new = Driver(world.started, len(world.books))
            after = world._replace(drivers=(*world.drivers, new), started=world.started + 1)
            yield Step(str(new), f"starts, in generation {new.gen}"), after
        for driver in living:
            yield Step(str(driver), "dies"), world.with_driver(driver._replace(at=At.OVER))
            yield from self._driver(world, driver)
        if self.restores and not living and world.verb.step == 0:
            yield from self._restored(world)
        if self.generations:
            closes, looks = Rule.CLOSE_FIRST in self.rules, Rule.LOOK_AFTER_CLOSING in self.rules
            yield from new_generation(world, order_of(closes_first=closes, looks_after=looks))

    def _driver(self, world: World, driver: Driver) -> Iterator[tuple[Step, World]]:
        book = world.books[driver.gen - 1]
        for what, after, new_book in self.does[driver.at](world, driver, book):
            yield Step(str(driver), what), after.with_book(driver.gen, new_book)

    def _plan(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """Spark plans the batch after the last committed one; it may plan another end than another driver's Spark."""
        for end in range(book.position + 1, RECORDS + 1):
            planned = driver._replace(at=At.INTENT, batch=book.committed, start=book.position, end=end)
            yield f"plans batch {planned.batch}: records {planned.start} to {end}", world.with_driver(planned), book

    def _intent(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        mine, on = (driver.start, driver.end), world.with_driver(driver._replace(at=At.LOOK))
        if driver.batch == len(book.intents):
            yield "writes the intent", on, book._replace(intents=(*book.intents, mine), manifests=(*book.manifests, ()))
        elif book.intents[driver.batch] == mine or Rule.INTENT_ONCE not in self.rules:
            yield "finds the intent", on, book
        else:
            yield "finds an intent with other ranges and halts", world.over(driver), book

    def _look(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """Is there a manifest to publish? If not, or if it cannot be used, the batch is computed."""
        manifests = book.manifests[driver.batch]
        having = world.having(driver.gen, driver.batch)
        seen = driver._replace(number=len(manifests))
        if manifests:
            found = driver._replace(at=At.PUBLISH, rows=manifests[-1], number=len(manifests) - 1)
            yield "finds the manifest", world.with_driver(found), book
            if self.stale and not having and len(manifests) < COLOURS:
                on = At.VOID if Rule.VOID_FIRST in self.rules else At.PASS
                yield "finds a manifest too old to use", world.with_driver(seen._replace(at=on)), book
        elif 0 < having < len(SINKS) and Rule.HALF_PUBLISHED_HALTS in self.rules:
            yield "finds no manifest and a batch half published, and halts", world.over(driver), book
        else:
            yield "finds no manifest", world.with_driver(seen._replace(at=At.PASS)), book

    def _void(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """Sink by sink: nothing of this batch from the manifests so far can be committed here any more."""
        sink, void = world.sinks[driver.sink], (driver.gen, driver.batch, driver.number)
        voided = world.with_sink(driver.sink, sink._replace(void=max(sink.void, void)))
        on = self._to_next_sink(driver, At.LOOK_AGAIN)
        yield f"voids the old manifest in {SINKS[driver.sink]}", voided.with_driver(on), book

    def _look_again(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        if world.having(driver.gen, driver.batch):
            yield "finds that the old manifest was published meanwhile, and halts", world.over(driver), book
        else:
            yield "finds the batch nowhere", world.with_driver(driver._replace(at=At.PASS)), book

    def _pass(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        on = At.FREEZE if Rule.FREEZE_FIRST in self.rules else At.PUBLISH
        for colour in range(COLOURS):
            made = driver._replace(at=on, rows=Rows(driver.start, driver.end, colour))
            yield f"makes its pass: {made.rows}", world.with_driver(made), book

    def _freeze(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """Create the manifest, or take the one that another driver created under the same number."""
        manifests = book.manifests[driver.batch]
        number = driver.number if Rule.NUMBER_SEEN in self.rules else len(manifests)
        if number < len(manifests) and Rule.MANIFEST_ONCE in self.rules:
            taken = driver._replace(at=At.PUBLISH, number=number, rows=manifests[number])
            yield f"finds manifest {number}, {taken.rows}, and takes it", world.with_driver(taken), book
            return
        if number >= COLOURS:
            return  # enough manifests for one model
        frozen = driver._replace(at=At.PUBLISH, number=number)
        written = book.with_manifests(driver.batch, (*manifests[:number], driver.rows))
        yield f"freezes manifest {number}, {driver.rows}", world.with_driver(frozen), written

    def _publish(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """One commit. The sink looks and commits in one step: Delta and Kafka refuse a rival under the same key."""
        flips = (False, True) if Rule.TABLES_FIRST not in self.rules and driver.sink == 0 else (driver.flip,)
        for flip in flips:
            chosen = driver._replace(flip=flip)
            index = len(SINKS) - 1 - driver.sink if flip else driver.sink
            yield (*self._commit(world, chosen, index), book)

    def _commit(self, world: World, driver: Driver, index: int) -> tuple[str, World]:
        sink, name = world.sinks[index], SINKS[index]
        mine = Commit(driver.gen, driver.batch, driver.rows)
        theirs = sink.find(driver.gen, driver.batch)
        on = self._to_next_sink(driver, At.OUTCOME)
        if driver.gen == FIRST and sink.closed:
            return f"is refused by {name}: the generation is closed", world.over(driver)
        if theirs and Rule.KNOWN_BY_KEY in self.rules:
            if theirs.rows[:2] != mine.rows[:2] and Rule.EQUAL_DIGEST in self.rules:
                return f"finds other content under its key in {name}, and halts", world.over(driver)
            return f"finds the batch in {name}", world.with_driver(on)
        if (driver.gen, driver.batch, driver.number) < sink.void:
            return f"is refused by {name}: its manifest was voided", world.over(driver)
        after = world.with_sink(index, sink._replace(commits=tuple(sorted((*sink.commits, mine)))))
        return f"commits {driver.rows} to {name}", after.with_driver(on)

    def _to_next_sink(self, driver: Driver, then: At) -> Driver:
        last = driver.sink == len(SINKS) - 1
        return driver._replace(at=then if last else driver.at, sink=0 if last else driver.sink + 1)

    def _outcome(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """Write the outcome; the stages of earlier batches are removed."""
        tidied = tuple(() if batch < driver.batch else found for batch, found in enumerate(book.manifests))
        yield "writes the outcome", world.with_driver(driver._replace(at=At.RETURN)), book._replace(manifests=tidied)

    def _return(self, world: World, driver: Driver, book: Book) -> Iterator[tuple[str, World, Book]]:
        """Spark commits the batch, unless another driver's Spark has done so; then this one ends."""
        if book.committed != driver.batch:
            yield "finds that Spark has committed the batch, and ends", world.over(driver), book
            return
        over = driver.end >= RECORDS
        on = Driver(driver.name, driver.gen, At.OVER if over else At.PLAN)
        done = book._replace(committed=driver.batch + 1, position=driver.end)
        yield "returns: Spark commits the batch", world.with_driver(on), done

    def _restored(self, world: World) -> Iterator[tuple[Step, World]]:
        """The state folder comes back from a backup, with no driver alive: ledger and checkpoint forget a batch."""
        book = world.books[-1]
        if book.intents:
            last = len(book.intents) - 1
            forgot = book._replace(
                intents=book.intents[:last],
                manifests=book.manifests[:last],
                committed=last,
                position=book.intents[last][0],
            )
            yield Step("The state", f"is restored without batch {last}"), world.with_book(len(world.books), forgot)

    def wrong(self, before: World, after: World) -> str | None:
        """No record twice in a sink, none of two colours, none missing that the checkpoint takes for done."""
        if after.sinks == before.sinks and after.books == before.books:
            return None
        return after.doubled() or after.mixed() or after.lost()
