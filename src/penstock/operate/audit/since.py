"""`--since`: from which batch on an audit judges."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from penstock.options import Duration

if TYPE_CHECKING:
    from penstock.operate.audit.books import Batch


@dataclass(frozen=True)
class Since:
    """A batch of the newest generation, or a moment."""

    batch_id: int | None = None
    moment: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> Since:
        """`912`, `2026-11-01T06:00`, or how long ago: `2 hours`. Raises ValueError."""
        if text.isdecimal():
            return cls(batch_id=int(text))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return cls(moment=datetime.now(UTC) - timedelta(seconds=_ago(text)))
        return cls(moment=moment if moment.tzinfo else moment.replace(tzinfo=UTC))

    def takes(self, batch: Batch, newest: int) -> bool:
        """Is this batch in question? Once one is, all later ones are."""
        if self.batch_id is not None:
            return batch.generation == newest and batch.batch_id >= self.batch_id
        if batch.told is None or self.moment is None:
            return False
        try:
            return datetime.fromisoformat(batch.told.committed_at) >= self.moment
        except (ValueError, TypeError):  # edited by hand; the next batch will tell
            return False


def _ago(text: str) -> float:
    try:
        return Duration(text).seconds
    except ValueError as error:
        raise ValueError(
            f"`{text}` is no batch and no time. Write it like  912  or  2026-11-01T06:00  or  2 hours"
        ) from error
