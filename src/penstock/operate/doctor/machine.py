"""This machine: room on its disks, the jars, Java."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import size
from penstock.errors import SetupFailed
from penstock.operate.doctor.finding import Finding, Harm, diagnosis

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

LEAST_FREE, LEAST_SHARE, PLENTY = 1_000_000_000, 0.05, 20_000_000_000
"""A disk is nearly full with less than the first free; or with less than this share, unless that is plenty still."""


@diagnosis(
    "disk_full",
    Harm.STANDS,
    "a disk that state or tables lie on is nearly full",
    explains=("waiting", "run_failed", "stuck_batch", "killed", "slow_state"),
)
def disk_full(patient: Patient) -> Iterator[Finding]:
    patient.seen.append("disks")
    for disk in patient.disks:
        short = disk.free < LEAST_FREE or (disk.free < LEAST_SHARE * disk.size and disk.free < PLENTY)
        if not short:
            continue
        yield Finding(
            f"the disk of {disk.what} is nearly full: {size(disk.free)} of {size(disk.size)} are free",
            (f"{disk.path} lies on it", "a batch that finds no room is waited for, and done again"),
            (
                f"see what fills it:  du -xh --max-depth=2 {disk.path} | sort -h | tail",
                "make room, or move the folder to a larger disk while the pipeline does not run",
            ),
            weight=0.9 if disk.free < LEAST_FREE / 10 else 0.7,
        )


@diagnosis("jars", Harm.STANDS, "a jar that Spark needs is corrupt or gone from the cache", explains=("run_failed",))
def jars(patient: Patient) -> Iterator[Finding]:
    from penstock.engine import jars as cache

    if not patient.ours or not cache.folder("spark").is_dir():
        return  # nothing was fetched yet: the first run does
    patient.seen.append("jars")
    wrong = cache.wrong("spark")
    if not wrong or len(wrong) == len(cache.lock("spark")):
        return
    yield Finding(
        f"{len(wrong)} of the {len(cache.lock('spark'))} jars that Spark needs cannot be used",
        tuple(f"{jar.file} {why}" for jar, why in list(wrong.items())[:3]),
        ("penstock jars spark --fetch",),
        weight=0.95,
    )


@diagnosis("java", Harm.STANDS, "there is no Java that can run Spark", explains=("run_failed",))
def java(patient: Patient) -> Iterator[Finding]:
    from penstock.engine.java import java_home

    if not patient.ours:
        return
    try:
        java_home()
    except SetupFailed as error:
        yield Finding(error.what, (), (error.remedy,), weight=0.95)
