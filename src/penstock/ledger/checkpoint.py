"""Spark's checkpoint, read and never written: which batches were planned, which were committed, and their offsets."""

from __future__ import annotations

import itertools

from penstock import files
from penstock.errors import Refused
from penstock.files import Place
from penstock.ledger import sparklog
from penstock.ledger.sparklog import Damaged
from penstock.ranges import Positions


class Checkpoint:
    """The folder `<state>/spark`, as it is now."""

    def __init__(self, folder: Place) -> None:
        self.folder = folder

    @property
    def planned(self) -> int | None:
        """The newest batch whose offsets are logged; it may be unfinished."""
        return max(files.numbered(self.folder / "offsets"), default=None)

    @property
    def committed(self) -> int | None:
        """The newest batch that Spark knows to be done."""
        return max(files.numbered(self.folder / "commits"), default=None)

    @property
    def exists(self) -> bool:
        return (self.folder / "metadata").exists() or self.planned is not None

    def end_of(self, batch_id: int) -> Positions:
        """Where batch `batch_id` ends, per partition."""
        path = self.folder / "offsets" / str(batch_id)
        body = files.read(path)
        try:
            found = sparklog.planned(batch_id, body or b"")
        except Damaged as error:
            raise Refused(
                f"checkpoint: {path} is {'missing' if body is None else f'not a whole offset log: {error}'}.",
                data="Nothing was written.",
                remedy="Restore the state folder from a backup; do not delete the file.",
            ) from error
        if any(source.kind != "kafka" for source in found.sources):
            raise self._no_offsets(path)
        return found.positions

    def start_of(self, batch_id: int) -> Positions:
        """Where batch `batch_id` starts, per partition; partitions that joined with it are not named."""
        return self.end_of(batch_id - 1) if batch_id > 0 else self._initial()

    def _initial(self) -> Positions:
        """Where every source began: nearly always there is one."""
        made: Positions = {}
        for number in itertools.count():
            path = self.folder / "sources" / str(number) / "0"
            body = files.read(path)
            if body is None:
                return made
            try:
                made |= sparklog.initial(body)
            except Damaged as error:
                raise self._no_offsets(path) from error
        raise AssertionError("counting does not end")

    def _no_offsets(self, path: Place) -> Refused:
        return Refused(
            f"checkpoint: {path} does not hold Kafka offsets.",
            data="Nothing was written.",
            remedy="Restore the state folder from a backup.",
        )
