"""The way to the broker: nobody answers, a login, a topic that is not there, a permission that is missing."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.observe.alerting import number
from penstock.observe.trend import FLOOR
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.reach import allowed
from penstock.operate.doctor.words import edit, first_line

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient
    from penstock.operate.doctor.reach import Reach

STOPS = ("run_failed", "waiting", "stuck_batch", "silent", "killed")


@diagnosis("broker_away", Harm.STANDS, "no broker answers within five seconds", explains=STOPS)
def broker_away(patient: Patient) -> Iterator[Finding]:
    found = patient.reach
    if found is None and patient.brokers is not None and patient.running and "brokers" in patient.unseen:
        said = patient.unseen["brokers"]  # where nobody runs it, the embedded broker need not run either
        yield Finding(f"there is no broker to read from: {first_line(said)}", (), ("penstock dev up",), weight=0.95)
    for use, found in (("read from", patient.reach), *(("written to", each) for each in patient.sink_reaches)):
        if found is None or found.trouble != "away":
            continue
        yield Finding(
            f"no broker of {found.bootstrap} answers",
            (f"it is {use}; the client says: {found.said}",),
            (
                "see that the brokers run, and that this machine reaches them:  nc -vz "
                + found.bootstrap.split(",")[0].replace(":", " "),
                *(
                    (edit(patient, f"brokers of {found.bootstrap}"),)
                    if patient.ours
                    else ("name others:  --brokers HOST:PORT",)
                ),
            ),
            weight=0.95,
        )


@diagnosis(
    "login", Harm.STANDS, "a broker answers and wants a login or TLS that the client does not have", explains=STOPS
)
def login(patient: Patient) -> Iterator[Finding]:
    for found in (patient.reach, *patient.sink_reaches):
        if found is not None and found.trouble in ("login", "tls"):
            yield _login(patient, found)


def _login(patient: Patient, found: Reach) -> Finding:
    what = "wants a login (SASL)" if found.trouble == "login" else "speaks TLS"
    where = edit(patient, "brokers") if patient.ours else "--brokers"
    return Finding(
        f"{found.bootstrap} {what}, and the client came without one",
        (f"the client says: {found.said}", "penstock connects without login and without TLS"),
        (f"name a listener of the brokers that takes plain connections:  {where}",),
        weight=0.97,
    )


@diagnosis(
    "advertised",
    Harm.STANDS,
    "brokers answer, and tell their clients addresses that cannot be reached from this machine",
    explains=STOPS,
)
def advertised(patient: Patient) -> Iterator[Finding]:
    for found in (patient.reach, *patient.sink_reaches):
        if found is None or not found.lost:
            continue
        yield Finding(
            f"{found.bootstrap} answers, but sends its clients to {', '.join(found.lost)}, where nobody does",
            (
                "a client asks the address it was given for the brokers, and then goes to those that it is told",
                "those are what the brokers have as advertised.listeners",
            ),
            (
                "set advertised.listeners of the brokers to addresses that this machine reaches",
                "or use a listener whose addresses it reaches:  nc -vz " + found.lost[0].replace(":", " "),
            ),
            weight=0.93,
        )


@diagnosis("no_topic", Harm.STANDS, "a topic that is read or written is not there", explains=STOPS)
def no_topic(patient: Patient) -> Iterator[Finding]:
    found = patient.reach
    if found is None or found.trouble:
        return
    for use, names in (("reads", patient.topics), ("writes", patient.written_topics)):
        missing = [name for name in names if name not in found.topics]
        if not missing:
            continue
        near = [match for name in missing for match in difflib.get_close_matches(name, found.topics, n=1)]
        there = sorted(name for name in found.topics if not name.startswith("__"))
        yield Finding(
            f"{found.bootstrap} has no topic {', '.join(missing)}, which the pipeline {use}",
            (f"it has {len(there)} topics: {', '.join(there[:5])}{' ...' if len(there) > 5 else ''}",)
            + ((f"the nearest name is {near[0]}",) if near else ()),
            (
                *((edit(patient, f"write {near[0]} instead of {missing[0]}"),) if near and patient.ours else ()),
                f"kafka-topics --bootstrap-server {found.bootstrap} --create --topic {missing[0]}",
            ),
            weight=0.9,
        )


@diagnosis("no_permission", Harm.STANDS, "the broker does not allow to read or write a topic", explains=STOPS)
def no_permission(patient: Patient) -> Iterator[Finding]:
    cluster, found = patient.cluster, patient.reach
    if cluster is None or found is None:
        return
    there = [name for name in (*patient.topics, *patient.written_topics) if name in found.topics]
    may = allowed(cluster, there)
    for topic in there:
        needs = "WRITE" if topic in patient.written_topics and topic not in patient.topics else "READ"
        has = may.get(topic)
        if has is None or needs in has or "ALL" in has:
            continue
        yield Finding(
            f"the permission {needs.title()} on topic {topic} is missing",
            (f"the broker allows: {', '.join(sorted(has)).lower() or 'nothing'}",),
            (
                f"kafka-acls --bootstrap-server {found.bootstrap} --add --allow-principal User:... "
                f"--operation {needs.title()} --topic {topic}",
            ),
            weight=0.9,
        )


@diagnosis("group_behind", Harm.COSTLY, "the Kafka group that shows the progress is behind what is committed")
def group_behind(patient: Patient) -> Iterator[Finding]:
    lag, now = patient.lag, patient.now
    if lag is None or now is None or now.shown is None or not patient.ours:
        return
    late = [part for part in lag.partitions if part.group_position is not None and part.group_position < part.position]
    short = sum(part.position - (part.group_position or 0) for part in late)
    if not now.shown.trouble and (patient.running or short <= FLOOR):
        return
    yield Finding(
        f"Kafka's own tools show the wrong lag: group {now.shown.group} is {number(short)} offsets behind what is "
        "committed",
        (
            *((f"it could not be told: {first_line(now.shown.trouble)}",) if now.shown.trouble else ()),
            *(
                f"{part.name}: committed up to {part.position}, the group says {part.group_position}"
                for part in late[:3]
            ),
            "no batch is affected: the group only shows",
        ),
        (edit(patient, f"observe: {{group: {patient.name}-progress}}   (a group of its own, that nobody joins)"),),
        weight=0.6,
    )
