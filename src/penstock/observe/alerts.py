"""Metrics and alerts of a running pipeline, put together: figures, endpoints, rules, notifiers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.alarms import NEVER, Alert, Condition, ToCommand, ToWebhook
from penstock.observe import otlp, prometheus
from penstock.observe.alerting import Alarms, Change, Rule, threshold
from penstock.observe.alerting_known import KNOWN
from penstock.observe.events import AlertCleared, AlertRaised, Emit, Event, Warned
from penstock.observe.logs import name_of
from penstock.observe.metrics_kept import Figures, Usual
from penstock.observe.notify import Desk, notifier_of
from penstock.observe.now import Now
from penstock.triggers import RealTime, seconds_between

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

FOR_SECONDS = 60.0
LAST_WORD_SECONDS = 5.0
"""How long a run that ends waits until its notifiers were told."""


def rules_of(alerts: tuple[Alert, ...]) -> list[Rule]:
    """The built-in alerts as the file changes them, then the file's own."""
    given = {alert.name: alert for alert in alerts}
    built_in = [_changed(rule, given[rule.name]) if rule.name in given else rule for rule in KNOWN]
    known = {rule.name for rule in KNOWN}
    own = [_made(alert) for alert in alerts if alert.name not in known and alert.when != NEVER]
    return [*(rule for rule in built_in if rule is not None), *own]


def _changed(rule: Rule, alert: Alert) -> Rule | None:
    if alert.when == NEVER:
        return None
    made = rule if alert.when is None else replace(_made(alert), cause=rule.cause, next_step=rule.next_step)
    if alert.for_ is not None:
        made = replace(made, for_seconds=alert.for_.seconds)
    return replace(made, notify=alert.notify, **_over(alert))


def _made(alert: Alert) -> Rule:
    condition = Condition.of(alert.when or "")
    seconds = alert.for_.seconds if alert.for_ is not None else FOR_SECONDS
    return Rule(
        name=alert.name,
        test=threshold(condition),
        when=condition.text,
        cause=condition.metric.about,
        next_step="See how the pipeline stands:  penstock lag FILE  and  penstock status FILE",
        for_seconds=seconds,
        notify=alert.notify,
        counters=(condition.metric.name,) if condition.metric.kind == "counter" else (),
        **({"over_seconds": seconds} | _over(alert)),
    )


def _over(alert: Alert) -> dict[str, Any]:
    return {} if alert.clear is None else {"over": threshold(Condition.of(alert.clear)), "over_seconds": 0.0}


def usual_of(pipeline: Pipeline) -> Usual:
    pace = pipeline.pace
    target = pace.batch_target.seconds if pace.batch_target is not None else Usual.target_seconds
    return Usual(seconds_between(pipeline.trigger), target, not isinstance(pipeline.trigger, RealTime))


class Signals:
    """What a run tells the world of itself. Only the observer's thread calls it, but for reading."""

    def __init__(self, pipeline: Pipeline, run: str, now: Callable[[], Now], emit: Emit) -> None:
        self.pipeline, self.run, self.now, self.emit = pipeline, run, now, emit
        self.figures = Figures(usual_of(pipeline), now)
        self.alarms = Alarms(rules_of(pipeline.alerts))
        self.desks: dict[str, Desk] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Offer and send metrics, and have notifiers ready, while the block runs."""
        observe, name = self.pipeline.observe, self.pipeline.name
        with ExitStack() as stack:
            if observe.prometheus is not None:
                stack.enter_context(prometheus.serving(observe.prometheus, name, self.figures.read))
            if observe.otlp is not None:
                headers = {key: secret.resolve() for key, secret in observe.otlp_headers.items()}
                about = {"penstock.pipeline": name, "service.instance.id": self.run}
                sending = otlp.sending(
                    observe.otlp, headers, observe.poll.seconds, about, self.figures.read, self._say
                )  # fmt: skip
                stack.enter_context(sending)
            for key, options in self.pipeline.notify.items():
                if isinstance(options, ToWebhook | ToCommand):
                    self.desks[key] = Desk(key, notifier_of(options, self.pipeline.folder), self._say)
            stack.callback(self._close)
            yield

    def take(self, event: Event) -> None:
        self.figures.take(event)

    def look(self) -> list[Change]:
        """Raise and clear what is due. Nobody is told yet."""
        changes = self.alarms.look(self.figures.read(), time.time())
        self.figures.active = self.alarms.active
        return changes

    def tell(self, changes: Sequence[Change]) -> list[Event]:
        """Tell everybody what was raised and cleared."""
        return [self._tell(change) for change in changes]

    def standing(self) -> tuple[dict[str, Any], ...]:
        """The alerts that are raised, for `now.json`."""
        return tuple(
            {"alert": rule.name, "text": found.text, "since": since, "cause": rule.cause, "next_step": rule.next_step}
            for rule, found, since in self.alarms.standing()
        )

    def _tell(self, change: Change) -> Event:
        event = event_of(change, self.pipeline.name, self.now())
        self.emit(event)
        body = body_of(event, self.run)
        wanted = self.desks if change.rule.notify is None else change.rule.notify
        for name in wanted:
            if name in self.desks:
                self.desks[name].put(body)
        return event

    def _say(self, text: str) -> None:
        self.emit(Warned(pipeline=self.pipeline.name, text=text))

    def _close(self) -> None:
        until = time.monotonic() + LAST_WORD_SECONDS
        for desk in self.desks.values():
            desk.close(until)


def event_of(change: Change, pipeline: str, now: Now) -> Event:
    """A change of an alert as an event; what is waited for, or what ended the run, is said with it."""
    rule, found = change.rule, change.finding
    if not change.raised:
        after = round(change.at - change.since, 1)
        return AlertCleared(
            pipeline=pipeline, alert=rule.name, text=found.text, after_seconds=after, subject=found.subject
        )
    told = {"waiting": now.waiting, "run_failed": now.error}.get(rule.name, "")
    return AlertRaised(
        pipeline=pipeline,
        alert=rule.name,
        text=f"{found.text}: {told}" if told else found.text,
        value=round(found.value, 4),
        subject=found.subject,
        when=rule.when,
        cause=rule.cause,
        next_step=rule.next_step,
    )


def body_of(event: Event, run: str = "") -> Mapping[str, Any]:
    """What notifiers are given: the event, and the same in words that fit a message."""
    body = event.to_json()
    over = isinstance(event, AlertCleared)
    text = f"{event.pipeline}: {body['alert']} {'is over' if over else body['text']}"
    return {
        **body,
        "event": name_of(event),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": run,
        "found": body["text"],
        "text": text,
        "next": body.get("next_step", ""),
    }


def example(pipeline: str) -> AlertRaised:
    """What `penstock alerts test` sends."""
    return AlertRaised(
        pipeline=pipeline,
        alert="test",
        text="this is a test, nothing is wrong",
        value=0.0,
        when="penstock alerts test",
        cause="Somebody wanted to see whether alerts arrive.",
        next_step="Nothing.",
        test=True,
    )
