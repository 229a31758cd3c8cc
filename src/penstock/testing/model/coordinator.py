"""The broker's side of a transaction: one coordinator for each transactional id, as librdkafka meets it (V1).

A coordinator knows one epoch: the newest producer's. Requests of an older epoch are refused; a request of this epoch
is taken for the producer's current transaction, however late it comes. That is the weakness the protocol closes.

Not here: Produce and TxnOffsetCommit that arrive late (the client sends EndTxn only when all of them were answered,
so a late one of a client that died can only lie in a transaction that nobody will commit), and coordinators that move.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Phase(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5


PREPARED = (Phase.PREPARE_COMMIT, Phase.PREPARE_ABORT)


class Mark(NamedTuple):
    """The progress marker: the number of the next batch, and which work brought it there."""

    number: int
    work: int


class Coordinator(NamedTuple):
    """The state of one transactional id."""

    epoch: int = 0
    phase: Phase = Phase.EMPTY
    rows: tuple[int, ...] = ()
    """The pieces in the open transaction."""
    mark: Mark | None = None
    """The marker in the open transaction."""
    ends: frozenset[int] = frozenset()
    """Epochs of which an EndTxn(commit) was sent. It may arrive at any time, any number of times, or never."""

    @property
    def prepared(self) -> bool:
        """Decided, but not told to every partition: producers of this id have to wait."""
        return self.phase in PREPARED

    @property
    def undecided_mark(self) -> bool:
        """Whether a stable read of the marker has to wait."""
        return self.mark is not None and self.phase in (Phase.ONGOING, *PREPARED)

    def abort(self) -> Coordinator:
        """Abort the open transaction and shut its producer out: another's init, or the transaction's time is up."""
        return self._replace(epoch=self.epoch + 1, phase=Phase.PREPARE_ABORT)

    def hand_over(self) -> Coordinator:
        """What init leaves when no transaction is open: an epoch for the new producer."""
        return self._replace(epoch=self.epoch + 1, phase=Phase.EMPTY)

    def add(self, piece: int) -> Coordinator:
        return self._replace(phase=Phase.ONGOING, rows=(*self.rows, piece))

    def add_mark(self, mark: Mark) -> Coordinator:
        return self._replace(phase=Phase.ONGOING, mark=mark)

    def send_end(self, epoch: int) -> Coordinator:
        return self._replace(ends=self.ends | {epoch})

    def settle(self) -> Coordinator:
        """The decision has reached every partition."""
        done = Phase.COMPLETE_COMMIT if self.phase is Phase.PREPARE_COMMIT else Phase.COMPLETE_ABORT
        return self._replace(phase=done, rows=(), mark=None)

    def plain(self) -> Coordinator:
        """The newest epoch is 0; what older epochs still send is refused for ever, so it is left out."""
        return self._replace(epoch=0, ends=frozenset({0} if self.epoch in self.ends else ()))
