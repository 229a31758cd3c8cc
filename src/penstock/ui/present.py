"""How a pipeline stands, from its state folder alone: while it runs, and after it has died."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from penstock.counting import counted
from penstock.errors import Refused
from penstock.ledger.lease import holder
from penstock.ledger.records import Outcome
from penstock.observe import history
from penstock.observe import now as presence
from penstock.observe.now import Now
from penstock.operate.stamps import stamp
from penstock.operate.standings import Standing
from penstock.ui.batches import writes_of
from penstock.ui.books import row_of, seconds_of
from penstock.ui.charts import course_of, spark_of
from penstock.ui.flow import flow_of
from penstock.ui.models import Alert, Card, Detail, Flow, Holder, InHand, LagSum
from penstock.ui.shop import Shown

TOPICS = 8
"""Topics that the overview names."""


def change_of(shown: Shown) -> str:
    """Another text once any file that the page shows has changed, or the process has come or gone."""
    folder = history.folder_of(shown.state)
    today = max((path.name for path in folder.glob("*.jsonl")), default="")
    watched = (presence.path_of(shown.state), folder, folder / today, *shown.books.folders())
    holds = None if shown.subject.elsewhere else holder(shown.state / "lease")
    told = repr((holds, [stamp(path) for path in watched]))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def sentence(standing: Standing, shown: Shown) -> str:
    """How it stands, for a person, with what helps."""
    again = f"penstock run {shown.command}"
    hand = standing.now.in_hand if standing.now else None
    return {
        "starting": "It starts.",
        "working": f"Batch {hand.batch_id:,} is in hand: {hand.phase}." if hand else "Between two batches.",
        "idle": "Between two batches." if standing.lag_rows else "It waits for records.",
        "paused": "It is paused: it reads nothing until somebody lets it go on.",
        "waiting": f"It goes on by itself: {standing.why}",
        "failed": standing.why or f"It ended with an error. Start it again:  {again}",
        "dead": f"Its process is gone without a last word. Nothing is lost or doubled. Start it again:  {again}",
        "stopped": f"It was stopped. Start it again:  {again}",
        "done": "It has done all there was to do.",
        "new": f"It has not run yet. Start it:  {again}",
    }.get(standing.state, standing.why)


def card_of(shown: Shown, change: str) -> Card:
    """The pipeline in the overview."""
    return Card(**_card(shown, shown.look(), change))


def _card(shown: Shown, standing: Standing, change: str) -> dict[str, Any]:
    now, last = standing.now, standing.last
    lag = now.lag if now else None
    total = lag.total if lag else None
    topics = topics_of(shown, standing)
    when = time.time() if standing.running else _ended(shown, now)
    return {
        "id": shown.id,
        "name": standing.name,
        "change": change,
        "status": standing.state,
        "running": standing.running,
        "says": sentence(standing, shown),
        "topics": topics[:TOPICS],
        "topics_total": len(topics),
        "sinks": sinks_of(shown, last),
        "generation": standing.generation,
        "batch_id": last.batch_id if last else None,
        "at": now.at if now else None,
        "lag_at": lag.at if lag and total else None,
        "lag_rows": standing.lag_rows,
        "lag_seconds": total.seconds if total else None,
        "trend": total.trend if total else None,
        "rows_per_second": round(standing.rows_per_second, 3),
        "read": last.totals.seen if last else 0,
        "rejected": sum(last.totals.by_code().values()) if last else 0,
        "last_batch_at": seconds_of(last.committed_at) if last else None,
        "last_batch_seconds": standing.batch_seconds,
        "alerts": [str(alert.get("alert", "")) for alert in standing.alerts],
        "spark": spark_of(course_of(shown.courses, "1h", when)),
        "notes": _notes(shown, standing),
    }


def _ended(shown: Shown, now: Now | None) -> float:
    """Until when the charts of a pipeline that does not run go: until it was last heard of."""
    return shown.courses.newest() or (now.at if now else time.time())


def _notes(shown: Shown, standing: Standing) -> list[str]:
    notes = []
    if shown.subject.elsewhere and shown.pipeline is not None:
        notes.append(
            f"The ledger is at {shown.pipeline.state}. This page reads folders of its own machine: it shows what the "
            f"run left here. For the rest:  penstock status {shown.command}"
        )
    if standing.last is None and standing.why and standing.generation is not None:
        notes.append(standing.why)
    if standing.now is None and presence.path_of(shown.state).exists():
        notes.append(
            f"{presence.path_of(shown.state)} cannot be read: it is damaged, or of another version. "
            "The next run writes it anew."
        )
    lines = sum(day.damaged + day.cut for day in shown.courses.days(time.time() - 86_400))
    if lines:
        notes.append(
            f"{counted(lines, 'line')} of the history could not be read: a crash cut them off. Charts lack what they "
            "said; the ledger lacks nothing."
        )
    return notes


def topics_of(shown: Shown, standing: Standing) -> list[str]:
    lag = standing.now.lag if standing.now else None
    if lag and lag.topics:
        return sorted(topic.topic for topic in lag.topics)
    if standing.last:
        return sorted({part.topic for part in standing.last.ranges})
    source = shown.pipeline.source if shown.pipeline else None
    return sorted([*(source.topics or ()), *(source.partitions or ())]) if source is not None else []


def sinks_of(shown: Shown, last: Outcome | None) -> list[str]:
    names = list(shown.pipeline.sinks) if shown.pipeline else []
    told = list(last.totals.written) if last else []
    return [name for name in dict.fromkeys([*names, *told]) if not name.startswith("dead_letters")]


def detail_of(shown: Shown) -> Detail:
    """All of a pipeline but the long lists."""
    change = change_of(shown)
    standing = shown.look()
    now, last = standing.now, standing.last
    whole, newest = _flows(shown, last, topics_of(shown, standing))
    return Detail(
        **_card(shown, standing, change),
        file=shown.file,
        state=str(shown.state),
        holder=_holder(standing.holder),
        started_at=now.started_at if now else None,
        batches=now.batches if now else 0,
        tries=now.tries if now else 0,
        waiting=now.waiting if now else "",
        waiting_since=now.waiting_since if now else None,
        error=now.error if now else "",
        in_hand=InHand(**now.in_hand.__dict__) if now and now.in_hand and standing.running else None,
        read_limit=now.read_limit if now else None,
        pace=now.pace if now else "",
        group=now.shown.group if now and now.shown else "",
        group_trouble=now.shown.trouble if now and now.shown else "",
        last_batch=row_of(last.to_json()) if last else None,
        lag=_lag(now),
        flow=whole,
        flow_last=newest,
        standing=standing_of(standing),
    )


def _flows(shown: Shown, last: Outcome | None, topics: list[str]) -> tuple[Flow | None, Flow | None]:
    if last is None:
        return None, None
    try:
        writes = writes_of(shown.books.identity())
    except Refused:
        writes = []
    receipts = {name: receipt.__dict__ for name, receipt in last.receipts.items()}
    whole = flow_of(last.totals, shown.pipeline, writes, receipts, topics)
    return whole, flow_of(last.tally.total(), shown.pipeline, writes, receipts, topics)


def _holder(holds: dict[str, Any] | None) -> Holder | None:
    if holds is None:
        return None
    pid = holds.get("pid")
    texts = {name: str(holds.get(name, "")) for name in ("host", "user", "since")}
    return Holder(pid=pid if isinstance(pid, int) else None, **texts)


def _lag(now: Now | None) -> LagSum | None:
    total = now.lag.total if now and now.lag else None
    if total is None:
        return None
    return LagSum(
        partitions=total.partitions,
        behind=total.behind,
        arrival_per_second=total.arrival_per_second,
        read_per_second=total.read_per_second,
        catch_up_seconds=total.catch_up_seconds,
        runway_seconds=total.runway_seconds,
        lost=total.lost,
        held=total.held,
        hot=list(total.hot[:20]),
        estimated=total.estimated,
    )


def standing_of(standing: Standing) -> list[Alert]:
    """Alerts that are raised. Those of a run that is over are over with it, but for why it failed."""
    return [
        Alert(
            alert=str(each.get("alert", "")),
            text=str(each.get("text", "")),
            since=each.get("since"),
            cause=str(each.get("cause", "")),
            next_step=str(each.get("next_step", "")),
        )
        for each in standing.alerts
    ]
