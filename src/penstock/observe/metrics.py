"""Every metric, declared once: its name, kind, unit, labels, and one sentence.

The Prometheus endpoint, OpenTelemetry, alerts, `penstock describe metrics` and the pipeline file's `alerts` all read
this table. Names are those of alerts; Prometheus sees them with `penstock_` in front, and counters with `_total` at the
end. Every metric carries the pipeline's name besides; no metric has a label of which a record could choose the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge"]
Unit = Literal["", "rows", "seconds", "bytes", "share"]
PREFIX = "penstock_"
MOST_VALUES = 100
"""Values of a label; what comes beyond is counted together as `OTHER`."""
OTHER = "(other)"


@dataclass(frozen=True)
class Metric:
    """One figure that a running pipeline tells."""

    name: str
    kind: Kind
    unit: Unit
    about: str
    labels: tuple[str, ...] = ()
    least: bool = False
    """Whether the least value is the one to fear; else it is the greatest."""

    @property
    def exposed(self) -> str:
        """Its name in Prometheus."""
        return f"{PREFIX}{self.name}{'_total' if self.kind == 'counter' else ''}"


def _counter(name: str, about: str, *labels: str, unit: Unit = "rows") -> Metric:
    return Metric(name, "counter", unit, about, labels)


def _gauge(name: str, about: str, *labels: str, unit: Unit = "", least: bool = False) -> Metric:
    return Metric(name, "gauge", unit, about, labels, least)


_ALL = (
    # what went through
    _counter("rows_read", "Records that committed batches read."),
    _counter("rows_written", "Rows that were written, by sink.", "sink"),
    _counter("rows_rejected", "Records that went to the dead letters, by reject code.", "code"),
    _counter("rows_dropped", "Records that a check or a step dropped, by its name.", "name"),
    _counter("rows_warned", "Records that a check warned of, by its name.", "name"),
    _counter("rows_not_routed", "Records that the `where` of a sink left out.", "sink"),
    _counter("rows_lost", "Offsets that the broker deleted before they were read, and that the run went on without."),
    _gauge("reject_share", "Rejected records as a share of those read, over five minutes.", unit="share"),
    # batches
    _counter("batches", "Batches committed.", unit=""),
    _counter("batches_replayed", "Batches published from what an earlier try had frozen.", unit=""),
    _counter("phase_seconds", "Seconds spent in each phase of batches.", "phase", unit="seconds"),
    _counter("sink_seconds", "Seconds spent on commits, by sink; sinks of one Kafka cluster are one commit.", "sink",
             unit="seconds"),
    _gauge("batch_seconds", "How long the last batch took.", unit="seconds"),
    _gauge("batch_rows", "Records of the last batch.", unit="rows"),
    _gauge("batch_trigger_share", "The last batch's length as a share of the trigger's interval.", unit="share"),
    _gauge("batch_in_hand_seconds", "How long the batch in hand has taken so far; 0 between batches.", unit="seconds"),
    _gauge("batch_overdue", "How many times longer than usual a batch takes, or is waited for.", unit="share"),
    _gauge("commit_age_seconds", "Time since the last commit, or since the start.", unit="seconds"),
    # files
    _counter("files_written", "Files added to tables, or frozen for topics.", unit=""),
    _counter("bytes_written", "Size of those files.", unit="bytes"),
    _gauge("files_last_hour", "Files written in the last hour."),
    _gauge("file_bytes", "Mean size of the files of the last hour.", unit="bytes", least=True),
    # lag
    _gauge("lag_rows", "Records that can be read and have not been.", "topic", unit="rows"),
    _gauge("lag_offsets", "End less position: what Kafka's own tools call lag.", "topic", unit="rows"),
    _gauge("lag_seconds", "How long the next unread record has waited; worst partition.", "topic", unit="seconds"),
    _gauge("lag_growing", "1 while more comes than is read, batch after batch.", "topic"),
    _gauge("lag_spike", "1 while much that came at once is being worked off.", "topic"),
    _gauge("hot_partitions", "Partitions that carry far more than the others of their topic.", "topic"),
    _gauge("partitions_behind", "Partitions with unread records.", "topic"),
    _gauge("rows_held", "Offsets that an open transaction holds back.", "topic", unit="rows"),
    _gauge("rows_gone", "Offsets that are deleted already and were never read.", "topic", unit="rows"),
    _gauge("arrival_per_second", "Offsets that come, each second.", "topic", unit="rows", least=True),
    _gauge("read_per_second", "Offsets that are read and committed, each second.", "topic", unit="rows", least=True),
    _gauge("catch_up_seconds", "Until nothing is unread, at the present rates; absent: never, or not known.",
           "topic", unit="seconds"),
    _gauge("runway_seconds", "Until the broker deletes unread records, at the present pace; absent: not at this pace.",
           "topic", unit="seconds", least=True),
    _gauge("runway_share", "The same slack as a share of what the topic keeps, if nothing were read; worst partition.",
           "topic", unit="share", least=True),
    _gauge("quiet_seconds", "Time since the last record came to any topic.", unit="seconds"),
    _gauge("quiet_share", "The same as a share of the longest silence that was seen before.", unit="share"),
    _gauge("poll_age_seconds", "Time since the lag was last measured.", unit="seconds"),
    # pace
    _gauge("batch_limit", "Most rows of the next batch, as the governor decided.", unit="rows", least=True),
    _counter("pace_changes", "Decisions of the governor, by what became of the limit: up, down, same.", "to", unit=""),
    # State rows, state bytes and late rows come with stateful steps: Spark's progress has them (`stateOperators`), and
    # `Progressed` is where they would join. Until there are such steps nobody knows them, so they are not declared.
    # the run
    _gauge("state", "1 for the state that the pipeline is in: starting, working, idle, waiting, paused, failed, ended.",
           "state"),
    _gauge("waiting_seconds", "How long something outside has been waited for; 0 while things work.", unit="seconds"),
    _counter("waits", "How often something outside was waited for.", unit=""),
    _counter("restarts", "How often the query was started again in this run.", unit=""),
    _counter("schema_changes", "Schemas that were met for the first time, by what became of them.", "action", unit=""),
    _gauge("run_seconds", "How long this run has gone on.", unit="seconds"),
    _gauge("alert_active", "1 while the alert of that name is raised.", "alert"),
)  # fmt: skip

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
STATES = ("starting", "working", "idle", "waiting", "paused", "failed", "ended")

Labels = tuple[str, ...]
Readings = dict[str, dict[Labels, float]]
"""Metric -> values of its labels -> figure, all of one moment. What is not known is not there."""


def worst(readings: Readings, name: str) -> tuple[Labels, float] | None:
    """The value to fear most, and whose it is; None if nobody knows one."""
    found = readings.get(name)
    if not found:
        return None
    choose = min if METRICS[name].least else max
    return choose(found.items(), key=lambda each: each[1])
