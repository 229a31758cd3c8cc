"""Which batches of a pipeline are in question, and how they are named."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.operate.audit.books import Batch, Books, Key

DEEP = "Count the rows themselves:  --deep"


@dataclass
class Scope:
    """What an audit judges."""

    books: Books
    judged: list[Batch]
    """In order; with doubts where there are any."""
    since: bool
    """Were earlier batches left out on purpose?"""

    def name(self, key: Key) -> str:
        several = len(self.books.generations) > 1 or key[0] != self.books.newest
        return f"batch {key[1]}" + (f" of generation {key[0]}" if several else "")

    @cached_property
    def keys(self) -> dict[Key, Batch]:
        return {batch.key: batch for batch in self.judged}

    @cached_property
    def earlier(self) -> set[Key]:
        """Batches that the ledger knows and that are not judged."""
        return {batch.key for batch in self.books.batches()} - set(self.keys)
