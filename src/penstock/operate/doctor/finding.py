"""What a diagnosis is and what it finds, and in which order several of them are told.

A diagnosis is one function in one of the files of this folder, with `@diagnosis(...)` above it. It is handed the
patient, and gives a finding for each thing that is wrong: the cause in a sentence, figures as evidence, what mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient


class Harm(IntEnum):
    """What comes of it if nobody does anything; the worst first."""

    LOSS = 5
    """Records are lost or doubled, or are about to be."""
    STANDS = 4
    """The pipeline does not move, or will not start again."""
    BEHIND = 3
    """It falls behind."""
    WRONG = 2
    """It moves, and some of what it writes is not what people want."""
    COSTLY = 1
    """It costs more than it need, or will be slow one day."""

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    cause: str
    """One sentence, with the figure that says most."""
    evidence: tuple[str, ...] = ()
    mend: tuple[str, ...] = ()
    """Commands, or edits of the pipeline file; the first is the one to try first."""
    weight: float = 0.5
    """How sure it is that this is the cause, 0 to 1: among those of the same harm the surest is told first."""
    unless: tuple[str, ...] = ()
    """Codes that say the same and more: where one of them is found, this is left out."""
    code: str = ""
    harm: Harm = Harm.COSTLY

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "harm": self.harm.word,
            "cause": self.cause,
            "evidence": list(self.evidence),
            "mend": list(self.mend),
            "weight": self.weight,
        }


Test = Callable[["Patient"], Iterator[Finding]]


@dataclass(frozen=True)
class Diagnosis:
    """One thing that can be wrong, and how it is looked for."""

    code: str
    harm: Harm
    about: str
    """When it is found, in words: the list in the documentation."""
    explains: tuple[str, ...]
    """Codes of what follows from it: it is told before those."""
    test: Test

    def of(self, patient: Patient) -> Iterator[Finding]:
        for found in self.test(patient):
            harm = found.harm if found.harm > Harm.COSTLY else self.harm
            yield replace(found, code=self.code, harm=harm)


DIAGNOSES: list[Diagnosis] = []
"""Every diagnosis, in the order of the files."""


def diagnosis(code: str, harm: Harm, about: str, explains: Iterable[str] = ()) -> Callable[[Test], Test]:
    """Enters the function below into the list."""

    def enter(test: Test) -> Test:
        DIAGNOSES.append(Diagnosis(code, harm, about, tuple(explains), test))
        return test

    return enter


def ranked(findings: Iterable[Finding], diagnoses: Iterable[Diagnosis] | None = None) -> list[Finding]:
    """The findings in the order in which they are told.

    The most harmful first, and of the same harm the surest; but what causes a finding is told just before it.
    """
    explains = {each.code: each.explains for each in (DIAGNOSES if diagnoses is None else diagnoses)}
    by_harm = sorted(findings, key=lambda each: (-each.harm, -each.weight, each.code))
    told: list[Finding] = []
    under_way: set[str] = set()

    def tell(found: Finding) -> None:
        if found in told or found.code in under_way:
            return
        under_way.add(found.code)
        for cause in by_harm:
            if found.code in explains.get(cause.code, ()):
                tell(cause)
        under_way.discard(found.code)
        told.append(found)

    for each in by_harm:
        tell(each)
    return told
