"""Alerts of the running process that no other diagnosis speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.observe.trend import FLOOR
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.growth import HELD_UP
from penstock.operate.doctor.words import command, when

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

SAY_MORE = {
    "lag_growing": ("under_provisioned", "slow_sink", "slow_state", "max_rows", "hot_partition", "burst", "behind"),
    "burst": ("max_rows", "under_provisioned", "hot_partition"),
    "stuck_batch": ("waiting", "silent"),
    "waiting": ("broker_away", "login", "disk_full", "stuck_batch"),
}
"""Alert -> diagnoses that name its cause, beside the one of the same name."""
OF_LAG = ("lag_growing", "burst", "hot_partition", "retention")


@diagnosis(
    "alert_raised", Harm.WRONG, "the running process has raised an alert, and no other diagnosis names its cause"
)
def alert_raised(patient: Patient) -> Iterator[Finding]:
    now = patient.now
    for alert in now.alerts if now is not None and patient.fresh else ():
        name = str(alert.get("alert"))
        if name in OF_LAG and (patient.lag is None or patient.lag.rows <= FLOOR):
            continue  # it is over; alerts are calm for a minute before they say so
        since = float(alert.get("since") or patient.at)
        yield Finding(
            f"the alert `{name}` is raised: {alert.get('text')}",
            (f"since {when(patient, since)}", str(alert.get("cause"))),
            (_next(patient, str(alert.get("next_step"))),),
            weight=0.4,
            unless=(name, *SAY_MORE.get(name, ()), *(HELD_UP if name == "lag_growing" else ())),
            harm=Harm.BEHIND if name in SAY_MORE else Harm.WRONG,
        )


def _next(patient: Patient, step: str) -> str:
    """What the alert says to do; but not to call the doctor, who is here."""
    return (
        command(patient, "lag", "--watch")
        if "penstock doctor" in step
        else step.replace("FILE", patient.file or "FILE")
    )
