"""Run a pipeline in this process, on a session that is there: quicker than a process of its own, same code."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from penstock.engine.run import RunOptions, run
from penstock.observe.events import BatchCommitted, Event
from penstock.spec import load_pipeline
from penstock.testing.harness import Case, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Kind = TypeVar("Kind", bound=Event)


@dataclass
class Told:
    """The events of a run, as they come."""

    events: list[Event] = field(default_factory=list)
    error: BaseException | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    def rows(self) -> int:
        """Rows read by committed batches."""
        return sum(event.read for event in self.of(BatchCommitted))

    def wait_for_rows(self, count: int) -> None:
        def look() -> bool:
            if self.error is not None:
                raise self.error
            return self.rows() >= count

        wait_until(look, f"{count} rows were read; there were {self.rows()}")


def run_once(spark: SparkSession, case: Case, *, accept_loss: bool = False) -> Told:
    """`penstock run FILE --once`; raises what ends it."""
    told = Told()
    _run(spark, case, told, RunOptions(once=True, accept_loss=accept_loss, file=case.file.name))
    return told


@contextmanager
def running(spark: SparkSession, case: Case) -> Iterator[Told]:
    """`penstock run FILE` while the block runs; stopped at its end. Its error, if any, is raised."""
    told = Told()

    def target() -> None:
        try:
            _run(spark, case, told, RunOptions(file=case.file.name))
        except BaseException as error:
            told.error = error

    thread = threading.Thread(target=target)
    thread.start()
    try:
        yield told
    finally:
        told.stopping.set()
        thread.join(120)
    assert not thread.is_alive(), "the run did not stop"
    if told.error is not None:
        raise told.error


def _run(spark: SparkSession, case: Case, told: Told, options: RunOptions) -> None:
    run(load_pipeline(case.file), options, told.events.append, told.stopping, spark)
