"""What may have changed since the rows were frozen: their files, the topics they go to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from penstock.errors import TableChanged, Unavailable
from penstock.sinks.contract import Frozen, WriteKey
from penstock.sinks.kafka.directory import Directory
from penstock.sinks.kafka.fates import Undecided
from penstock.sinks.kafka.messages import damaged, limits


class Changes:
    """Finds out whether frozen rows can still be sent as they are. Each finding ends in TableChanged."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory

    def whole(self, frozen: Mapping[str, Frozen], key: WriteKey) -> None:
        """Every file is there, of the size that it had."""
        self._none(damaged(frozen), key)

    def complete(self, shares: Iterable[Frozen], count: int, key: WriteKey) -> None:
        """As many rows were sent as the manifest has."""
        expected = sum(share.rows for share in shares)
        if count != expected:
            self._none([f"the files hold {count} rows, and the manifest says {expected}"], key)

    def welcome(self, frozen: Mapping[str, Frozen], key: WriteKey) -> None:
        """The topics still take what they took when the rows were frozen."""
        self.directory.forget()
        self._none(self._shrunk(limits(frozen.values())), key)

    @contextmanager
    def watched(self, frozen: Mapping[str, Frozen], key: WriteKey) -> Iterator[None]:
        """Where sending fails, find out whether it ever could go well: if not, the batch must be computed again.

        Not where its fate is undecided: it may be there.
        """
        try:
            yield
        except Undecided:
            raise
        except Unavailable:
            if self._answers():
                self.welcome(frozen, key)
            raise
        except (OSError, pa.ArrowException) as error:
            self._none([f"they cannot be read ({error})"], key)

    def _answers(self) -> bool:
        try:
            self.directory.topics(0)
        except Unavailable:
            return False
        return True

    def _shrunk(self, frozen: dict[str, int]) -> Iterator[str]:
        now = self.directory.limits(frozen)
        for topic, limit in frozen.items():
            if topic not in now:
                yield f"topic {topic} is gone"
            elif now[topic] < limit:
                yield f"topic {topic} took records of {limit:,} bytes, and takes {now[topic]:,} now"

    def _none(self, found: Iterable[str], key: WriteKey) -> None:
        if told := "; ".join(found):
            raise TableChanged(
                f"{key.pipeline}, topics of cluster {key.sink}, batch {key.batch_id}: its rows can no longer be sent "
                f"as they were frozen: {told}.",
                data="Nothing of this batch is visible in the topics; its rows are left aside.",
                remedy="The batch is computed anew, for the topics as they are now. Where its tables are committed "
                "already that is not possible: then undo the change.",
            )
