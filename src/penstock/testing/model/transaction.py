"""Fence, check, transact: the Kafka sink's protocol, with any number of attempts, a few of them alive at once.

An attempt is whatever tries to write a batch: a first try, a retry, a second driver, one that was frozen for an hour.
They start at any time, for any batch (drivers are trusted with nothing), and die at any step. `begin` is local to the
client, so it is no step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from penstock.testing.model.attempts import HALVES, NEEDS_EPOCH, WORKS, At, Attempt, World, put, wrong_rows
from penstock.testing.model.coordinator import Coordinator, Mark, Phase
from penstock.testing.model.search import Step


class Rule(Enum):
    """What the protocol demands. Each can be left out of a model."""

    FENCE_THEN_CHECK = "the marker is read after the fence, by the attempt that holds the new epoch"
    ONE_ID = "one transactional id for all attempts, not one for each"
    MARKER_INSIDE = "the marker is part of the transaction"
    FRESH_PRODUCER = "a new producer, and so a new epoch, for every transaction"
    EQUAL_DIGEST = "a batch counts as done only if the marker has its digest"
    MISSING_HALTS = "a marker that is gone halts: it is not taken for a beginning"
    STALE_HALTS = "an attempt that finds a later marker than its own writes nothing"
    GAP_HALTS = "an attempt that finds an earlier marker than its batch follows on halts"


class Transaction:
    """The model. `alive` attempts at once; without ONE_ID, that many in all."""

    def __init__(self, alive: int = 3, without: Rule | None = None) -> None:
        self.alive, self.rules = alive, frozenset(Rule) - {without}
        self.ids = 1 if Rule.ONE_ID in self.rules else alive
        self.next = dict(zip(self._order(), (*self._order()[1:], At.OVER), strict=True))

    def _order(self) -> tuple[At, ...]:
        first = (At.FENCE, At.CHECK) if Rule.FENCE_THEN_CHECK in self.rules else (At.CHECK, At.FENCE)
        if Rule.MARKER_INSIDE in self.rules:
            return (*first, At.WRITE_1, At.WRITE_2, At.SEND_MARKER, At.COMMIT, At.AWAIT)
        return (*first, At.WRITE_1, At.WRITE_2, At.COMMIT, At.AWAIT, At.MARK)

    def start(self) -> World:
        """The generation is open: its marker says 0, so a missing one is never a beginning."""
        nothing = (0,) * (len(WORKS) * HALVES)
        return World((Coordinator(),) * self.ids, nothing, Mark(0, -1), (False,) * len(WORKS))

    def plain(self, world: World) -> World:
        """Without the dead, and without names: attempts in the same place are the same, and an epoch is the newest
        or refused. An attempt that was fenced has one way left, wherever it stands: to be refused.
        """
        coordinators = tuple(c.plain() for c in world.coordinators)
        living = [self._plain(a, world) for a in world.attempts if a.at is not At.OVER]
        if self.ids > 1:
            return world._replace(coordinators=coordinators, attempts=tuple(living))
        nameless = sorted(a._replace(name=0) for a in living)
        named = tuple(a._replace(name=number) for number, a in enumerate(nameless))
        return world._replace(coordinators=coordinators, attempts=named, started=len(named))

    def _plain(self, attempt: Attempt, world: World) -> Attempt:
        if attempt.epoch == world.coordinators[attempt.coordinator].epoch:
            return attempt._replace(epoch=0)
        return attempt._replace(epoch=-1, at=At.AWAIT if attempt.at in NEEDS_EPOCH else attempt.at)

    def steps(self, world: World) -> Iterator[tuple[Step, World]]:
        yield from self._starts(world)
        for attempt in world.attempts:
            if attempt.at is not At.OVER:
                yield Step(str(attempt), "dies"), world.with_attempt(attempt._replace(at=At.OVER))
                yield from self._attempt(world, attempt)
        for index, coordinator in enumerate(world.coordinators):
            yield from self._broker(world, index, coordinator)
        if world.marker is not None:
            yield Step("The marker", "is lost: its group was deleted"), world._replace(marker=None)

    def _starts(self, world: World) -> Iterator[tuple[Step, World]]:
        used = len([a for a in world.attempts if a.at is not At.OVER]) if self.ids == 1 else world.started
        if used >= self.alive:
            return
        for number, work in enumerate(WORKS):
            new = Attempt(world.started, number, self._order()[0], world.started if self.ids > 1 else 0)
            after = world._replace(attempts=(*world.attempts, new), started=world.started + 1)
            yield Step(str(new), f"starts, to write {work}"), after

    def _attempt(self, world: World, attempt: Attempt) -> Iterator[tuple[Step, World]]:
        coordinator = world.coordinators[attempt.coordinator]
        if attempt.at in NEEDS_EPOCH and attempt.epoch != coordinator.epoch:
            yield from self._refused(world, attempt)
        elif attempt.at is At.FENCE:
            yield from self._fence(world, attempt, coordinator)
        elif attempt.at is At.CHECK:
            yield from self._check(world, attempt)
        elif attempt.at is At.MARK:
            mark = Mark(WORKS[attempt.work].batch + 1, attempt.work)
            yield Step(str(attempt), f"moves the marker to {mark.number}"), self._done(world, attempt, marker=mark)
        elif not coordinator.prepared and attempt.at is not At.AWAIT:
            what, after = self._send(attempt, coordinator)
            moved = world.with_coordinator(attempt.coordinator, after)
            yield Step(str(attempt), what), moved.with_attempt(self._on(attempt))

    def _on(self, attempt: Attempt) -> Attempt:
        return attempt._replace(at=self.next[attempt.at])

    def _fence(self, world: World, attempt: Attempt, coordinator: Coordinator) -> Iterator[tuple[Step, World]]:
        """Init waits while an earlier transaction is undecided, and aborts one that is open."""
        if coordinator.phase is Phase.ONGOING:
            aborting = world.with_coordinator(attempt.coordinator, coordinator.abort())
            yield Step(str(attempt), "fences: the open transaction is to be aborted"), aborting
        elif not coordinator.prepared:
            after = coordinator.hand_over()
            holder = self._on(attempt)._replace(epoch=after.epoch)
            fenced = world.with_coordinator(attempt.coordinator, after).with_attempt(holder)
            yield Step(str(attempt), f"fences, and holds epoch {after.epoch}"), fenced

    def _check(self, world: World, attempt: Attempt) -> Iterator[tuple[Step, World]]:
        """Read the marker, stable, and act on it."""
        if any(c.undecided_mark for c in world.coordinators):
            return
        batch, found = WORKS[attempt.work].batch, world.marker
        said = f"reads the marker: {'none' if found is None else found.number}"
        if self._may_write(batch, found):
            yield Step(str(attempt), f"{said}, so it will write"), world.with_attempt(self._on(attempt))
        elif self._is_done(attempt.work, found):
            yield Step(str(attempt), f"{said}, so the batch is done"), self._done(world, attempt)
        else:
            yield Step(str(attempt), f"{said}, so it halts"), world.with_attempt(attempt._replace(at=At.OVER))

    def _may_write(self, batch: int, found: Mark | None) -> bool:
        if found is None:
            return Rule.MISSING_HALTS not in self.rules
        if found.number > batch + 1:
            return Rule.STALE_HALTS not in self.rules
        return found.number == batch or (found.number < batch and Rule.GAP_HALTS not in self.rules)

    def _is_done(self, work: int, found: Mark | None) -> bool:
        same_batch = found is not None and found.number == WORKS[work].batch + 1
        return same_batch and (found == Mark(WORKS[work].batch + 1, work) or Rule.EQUAL_DIGEST not in self.rules)

    def _refused(self, world: World, attempt: Attempt) -> Iterator[tuple[Step, World]]:
        """The epoch has moved on: the attempt looks whether another one wrote its batch, and ends."""
        if any(c.undecided_mark for c in world.coordinators):
            return
        if self._is_done(attempt.work, world.marker):
            yield Step(str(attempt), "is refused, and finds its batch done"), self._done(world, attempt)

    def _send(self, attempt: Attempt, coordinator: Coordinator) -> tuple[str, Coordinator]:
        work = WORKS[attempt.work]
        if attempt.at is At.WRITE_1:
            return f"produces the first half of {work}", coordinator.add(attempt.work * HALVES)
        if attempt.at is At.WRITE_2:
            return f"produces the second half of {work}", coordinator.add(attempt.work * HALVES + 1)
        if attempt.at is At.SEND_MARKER:
            mark = Mark(work.batch + 1, attempt.work)
            return f"sends the marker {mark.number}", coordinator.add_mark(mark)
        return f"sends EndTxn of epoch {attempt.epoch}", coordinator.send_end(attempt.epoch)

    def _done(self, world: World, attempt: Attempt, marker: Mark | None = None) -> World:
        """Report the batch as done. The producer is thrown away, or, without the rule, kept for the next batch."""
        told = world._replace(told_done=put(world.told_done, attempt.work, True), marker=marker or world.marker)
        if Rule.FRESH_PRODUCER not in self.rules and attempt.work == 0:
            return told.with_attempt(attempt._replace(work=1, at=At.CHECK))
        return told.with_attempt(attempt._replace(at=At.OVER))

    def _broker(self, world: World, index: int, coordinator: Coordinator) -> Iterator[tuple[Step, World]]:
        if coordinator.phase is Phase.ONGOING:
            yield Step("The broker", "aborts it: its time is up"), world.with_coordinator(index, coordinator.abort())
        if coordinator.prepared:
            yield Step("The broker", "has told every partition"), self._settled(world, index, coordinator)
        if coordinator.epoch in coordinator.ends:
            yield from self._end(world, index, coordinator)

    def _end(self, world: World, index: int, coordinator: Coordinator) -> Iterator[tuple[Step, World]]:
        """An EndTxn of the newest epoch arrives; its answer may be lost. Those of older epochs are refused."""
        if coordinator.phase not in (Phase.ONGOING, Phase.COMPLETE_COMMIT):
            return
        arrives = f"EndTxn of epoch {coordinator.epoch}"
        decided = world
        if coordinator.phase is Phase.ONGOING:
            decided = world.with_coordinator(index, coordinator._replace(phase=Phase.PREPARE_COMMIT))
            yield Step(arrives, "arrives: the transaction is to be committed; nobody hears the answer"), decided
        for attempt in world.attempts:
            if attempt.at is At.AWAIT and (attempt.coordinator, attempt.epoch) == (index, coordinator.epoch):
                after = decided.with_attempt(self._on(attempt))
                after = self._done(decided, attempt) if self.next[At.AWAIT] is At.OVER else after
                yield Step(arrives, f"arrives: committed, and {attempt} is told so"), after

    def _settled(self, world: World, index: int, coordinator: Coordinator) -> World:
        after = world.with_coordinator(index, coordinator.settle())
        if coordinator.phase is Phase.PREPARE_ABORT:
            return after
        visible = tuple(seen + coordinator.rows.count(piece) for piece, seen in enumerate(world.visible))
        return after._replace(visible=visible, marker=coordinator.mark or world.marker)

    def wrong(self, before: World, after: World) -> str | None:
        """Every batch visible once and whole, or not yet; in order; the marker in single steps; no false report."""
        problem = None
        if after.visible != before.visible:
            problem = wrong_rows(after.visible)
        if after.told_done != before.told_done:
            problem = problem or self._lie(after)
        return problem or wrong_move(before.marker, after.marker)

    def _lie(self, world: World) -> str | None:
        deciding = [c.rows for c in world.coordinators if c.phase is Phase.PREPARE_COMMIT]
        for number, work in enumerate(WORKS):
            if world.told_done[number]:
                pieces = range(number * HALVES, (number + 1) * HALVES)
                if not all(world.visible[p] or any(p in rows for rows in deciding) for p in pieces):
                    return f"LOST: {work} is taken for done, and its rows are not there"
        return None


def wrong_move(before: Mark | None, after: Mark | None) -> str | None:
    if before is None or after is None or after.number in (before.number, before.number + 1):
        return None
    return f"SKIPPED: the marker went from {before.number} to {after.number}"
