"""Spark's checkpoint, read and never written: which batches were planned, which were committed, and their offsets."""

from __future__ import annotations

import json

from penstock import files
from penstock.errors import Refused
from penstock.files import Place
from penstock.ranges import Positions, positions_from_spark


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
        lines = (body or b"").decode(errors="replace").splitlines()
        if len(lines) < 3 or not lines[0].startswith("v"):
            raise Refused(
                f"checkpoint: {path} is {'missing' if body is None else 'not a whole offset log'}.",
                data="Nothing was written.",
                remedy="Restore the state folder from a backup; do not delete the file.",
            )
        return self._positions(lines[2], path)

    def start_of(self, batch_id: int) -> Positions:
        """Where batch `batch_id` starts, per partition; partitions that joined with it are not named."""
        return self.end_of(batch_id - 1) if batch_id > 0 else self._initial()

    def _initial(self) -> Positions:
        path = self.folder / "sources" / "0" / "0"
        body = files.read(path)
        return {} if body is None else self._positions(body.decode().split("\n", 1)[-1], path)

    def _positions(self, text: str, path: Place) -> Positions:
        try:
            return positions_from_spark(text)
        except (json.JSONDecodeError, AttributeError, ValueError) as error:
            raise Refused(
                f"checkpoint: {path} does not hold Kafka offsets.",
                data="Nothing was written.",
                remedy="Restore the state folder from a backup.",
            ) from error
