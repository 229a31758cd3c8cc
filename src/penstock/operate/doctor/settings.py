"""Settings of topics and brokers that do not fit what the pipeline does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import counted, size, spoken
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.words import edit, set_topic

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

KEPT_BATCHES = 3.0
"""A topic that keeps records for less than so many batches loses them at the first hiccup."""
TOO_LARGE = "too_large_out"


@diagnosis(
    "transaction_timeout",
    Harm.STANDS,
    "a Kafka sink asks for longer transactions than the brokers allow",
    explains=("run_failed",),
)
def transaction_timeout(patient: Patient) -> Iterator[Finding]:
    broker = patient.settings.broker if patient.settings else None
    allowed = (broker or {}).get("transaction.max.timeout.ms")
    for name, sink in patient.kafka_sinks.items():
        asked = sink.to.timeout.seconds
        if allowed is None or not sink.to.exact or int(allowed) / 1000 >= asked:
            continue
        yield Finding(
            f"sink {name} asks for transactions of {spoken(asked)}, and the brokers allow "
            f"{spoken(int(allowed) / 1000)}",
            (f"sinks.{name}.kafka.timeout is {sink.to.timeout.text}", f"transaction.max.timeout.ms is {allowed}"),
            (edit(patient, f"sinks: {{{name}: {{kafka: {{timeout: {int(allowed) // 1000} seconds}}}}}}"),),
            weight=0.9,
        )


@diagnosis(
    "message_size",
    Harm.WRONG,
    "rows are rejected because their records are larger than the topic takes (max.message.bytes)",
    explains=("reject_rate",),
)
def message_size(patient: Patient) -> Iterator[Finding]:
    last = patient.last
    for name, sink in patient.kafka_sinks.items():
        codes = last.totals.refused.get(name) if last else None
        refused = codes[TOO_LARGE] if codes else 0
        lately = (patient.course.rejected if patient.course else {}).get(TOO_LARGE, 0)
        if not refused or not lately:
            continue
        told = (patient.settings.topics.get(sink.to.topic) if patient.settings else None) or {}
        limit = int(told.get("max.message.bytes") or 0)
        yield Finding(
            f"topic {sink.to.topic} takes records of {size(limit)}, and larger ones are written: "
            f"{counted(refused, 'record')} of sink {name} were rejected",
            (f"{counted(lately, 'record')} lately, with the code {TOO_LARGE}", f"max.message.bytes is {limit}"),
            (set_topic(patient, sink.to.topic or "TOPIC", f"max.message.bytes={max(10 * limit, 1_048_588)}"),),
            weight=0.9,
        )


@diagnosis(
    "short_retention",
    Harm.LOSS,
    "a topic keeps records for less time than a few batches take: any delay loses some",
)
def short_retention(patient: Patient) -> Iterator[Finding]:
    course = patient.course
    if patient.settings is None:
        return
    batch = max(course.batch_seconds if course else 0.0, patient.usual.every_seconds if patient.ours else 0.0)
    for topic in patient.topics:
        told = patient.settings.topics.get(topic) or {}
        kept = int(told.get("retention.ms") or -1) / 1000
        if kept < 0 or "delete" not in (told.get("cleanup.policy") or "delete") or kept >= KEPT_BATCHES * batch:
            continue
        yield Finding(
            f"topic {topic} keeps records for {spoken(kept)}, and a batch takes {spoken(batch)}",
            (
                f"retention.ms is {told.get('retention.ms')}",
                *((f"the longest batch lately took {spoken(course.longest_seconds)}",) if course else ()),
                *((f"batches start every {spoken(patient.usual.every_seconds)}",) if patient.ours else ()),
            ),
            (set_topic(patient, topic, "retention.ms=604800000"),),
            weight=0.8,
        )
