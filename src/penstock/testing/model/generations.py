"""`penstock new-generation` beside drivers that know nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.model.books import FIRST, SINKS, Book, Verb, World
from penstock.testing.model.search import Step

WHO = "new-generation"


def order_of(*, closes_first: bool, looks_after: bool) -> tuple[str, ...]:
    """What the verb does, in order: look where to go on, close the old generation in each sink, open the new one."""
    if not closes_first:
        return ("look", "open", *SINKS)
    return (*SINKS, "look", "open") if looks_after else ("look", *SINKS, "open")


def new_generation(world: World, order: tuple[str, ...]) -> Iterator[tuple[Step, World]]:
    """The verb's next step; it is run once, and may stop for ever after any of them."""
    verb = world.verb
    if verb.step == len(order):
        return
    does, on = order[verb.step], verb._replace(step=verb.step + 1)
    if does == "look":
        yield _look(world, on, len(order))
    elif does == "open":
        opened = Book(start=verb.start, position=verb.start)
        yield Step(WHO, "opens generation 2"), world._replace(verb=on, books=(*world.books, opened))
    else:
        index = SINKS.index(does)
        closed = world.with_sink(index, world.sinks[index]._replace(closed=True))
        yield Step(WHO, f"closes generation 1 in {does}"), closed._replace(verb=on)


def _look(world: World, on: Verb, last: int) -> tuple[Step, World]:
    where = world.ends_at(FIRST)
    if where is None:
        return Step(WHO, "finds a batch half published, and refuses"), world._replace(verb=Verb(last))
    return Step(WHO, f"will go on at record {where}"), world._replace(verb=on._replace(start=where))
