"""penstock demo: real events through a real broker into a table, through a kill -9, counted by somebody else."""

from __future__ import annotations


def demo() -> None:
    """Watch real events flow from Kafka into a Delta table, through a kill -9. Needs nothing but this."""
    raise NotImplementedError
