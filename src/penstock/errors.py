"""Every error penstock raises on purpose, and the exit code each one ends a run with.

    PenstockError                      1
    ├── InvalidPipeline                2   the file or the call is wrong; every problem is listed
    ├── StepRefused                    2   a step or an expression cannot be run as it is written
    ├── Refused                        3   going on could lose or double data: nothing was written
    │   ├── StateHeld                      another process runs this pipeline
    │   └── SinkRefused                    a table that penstock must not write
    ├── SchemaRefused                  2   rows cannot have this schema
    ├── DataLost                       4   the source deleted records before they were read
    ├── Unavailable                    1   time can cure it: `run` retries before it gives up
    ├── CheckStopped                   1   a check says to stop at such a record: nothing of its batch is visible
    ├── SchemaStopped                  1   `schema_changes` says to stop: nothing of the batch is visible
    ├── NotConserved                   1   a batch's counts do not close: nothing of it is visible
    ├── TableChanged                   1   a table is no longer what the batch was frozen for
    └── SetupFailed                    1   a jar, Java or the embedded broker cannot be had

An error says where, what was found, what became of the data, and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.spec.problems import Problem


class PenstockError(Exception):
    """Where and what in the first line; what became of the data and what to do in the others."""

    exit_code = 1

    def __init__(self, what: str, *, data: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.data, self.remedy = what, data, remedy

    def __str__(self) -> str:
        return "\n  ".join(part for part in (self.what, self.data, self.remedy) if part)


class InvalidPipeline(PenstockError):
    """The pipeline file cannot be run. `problems` holds every one, in the order of the file."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class StepRefused(PenstockError):
    """A step, a rule or an expression that cannot be run as it is written: only Spark or Python could tell."""

    exit_code = 2


class Refused(PenstockError):
    """The preflight found that going on could lose or double data."""

    exit_code = 3


class StateHeld(Refused):
    """Another process holds this pipeline's state."""


class SinkRefused(Refused):
    """This table would be written wrongly, or not at all."""


class SchemaRefused(PenstockError):
    """A schema that rows cannot have, or that bytes cannot be read or written by."""

    exit_code = 2


class DataLost(PenstockError):
    """Records were deleted before they were read; `gaps` holds the exact ranges."""

    exit_code = 4


class Unavailable(PenstockError):
    """Something outside is away or busy. Nothing is decided; trying again is safe."""


class CheckStopped(PenstockError):
    """A check with `on_fail: stop` found a record that fails it."""


class SchemaStopped(PenstockError):
    """A producer's schema has changed in a way at which the pipeline is to stop."""


class NotConserved(PenstockError):
    """What was read is not what was written, rejected and dropped."""


class TableChanged(PenstockError):
    """A table was altered between freeze and commit; committing could make it wrong or unreadable."""


class SetupFailed(PenstockError):
    """Something penstock needs on this machine is missing and could not be fetched."""
