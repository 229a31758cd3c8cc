"""What one drain of the main job is given, whoever drains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """The topic, how much of it a batch may hold, and the folder for the two tables."""

    bootstrap: str
    batch_rows: int
    folder: Path
    spark: Any = None
    """The session of those that run on Spark."""
    topic: str = "payments"

    @property
    def table(self) -> Path:
        return self.folder / "payments"

    @property
    def dead_letters(self) -> Path:
        return self.folder / "dead_letters"
