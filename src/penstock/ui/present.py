"""How a pipeline stands, from its state folder alone: while it runs, and after it has died."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from penstock.counting import counted
from penstock.errors import Refused
from penstock.ledger.lease import holder
from penstock.ledger.shelf import Record
from penstock.observe import history
from penstock.observe import now as presence
from penstock.observe.now import Now
from penstock.tally import Fates, Tally
from penstock.ui.batches import writes_of
from penstock.ui.books import row_of
from penstock.ui.charts import course_of, spark_of
from penstock.ui.flow import flow_of
from penstock.ui.kept import stamp
from penstock.ui.models import Alert, Card, Detail, Flow, Holder, InHand, LagSum, Status
from penstock.ui.shop import Shown

TOPICS = 8
"""Topics that the overview names."""


def now_of(shown: Shown) -> Now | None:
    return shown.kept.of("now", (presence.path_of(shown.state),), lambda: presence.read(shown.state))


def change_of(shown: Shown, holds: dict[str, Any] | None) -> str:
    """Another text once any file that the page shows has changed, or the process has come or gone."""
    folder = history.folder_of(shown.state)
    today = max((path.name for path in folder.glob("*.jsonl")), default="")
    watched = (presence.path_of(shown.state), folder, folder / today, *shown.books.folders())
    told = repr((holds, [stamp(path) for path in watched]))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def status_of(now: Now | None, holds: dict[str, Any] | None, last: Record | None) -> Status:
    """In one word. `idle`: it runs, and there is nothing to read."""
    if holds is not None:
        if now is not None and now.waiting:
            return "waiting"
        quiet = now is not None and now.rows_per_second == 0 and now.in_hand is None
        return "idle" if quiet and now is not None and now.lag is not None and now.lag.rows == 0 else "running"
    if now is None:
        return "new" if last is None else "stopped"
    if now.ended == "failed":
        return "failed"
    return "stopped" if now.ended else "died"


def sentence(status: Status, now: Now | None, shown: Shown) -> str:
    """The same for a person, with what helps."""
    again = f"penstock run {shown.command}"
    hand = now.in_hand if now else None
    done = now is not None and now.ended == "done"
    working = "Between two batches." if now else "It runs, and has not told how it is yet."
    return {
        "running": f"Batch {hand.batch_id:,} is in hand: {hand.phase}." if hand else working,
        "idle": "It waits for records.",
        "waiting": f"It goes on by itself: {now.waiting if now else ''}",
        "failed": (now.error if now else "") or f"It ended with an error. Start it again:  {again}",
        "died": f"Its process is gone without a last word. Nothing is lost or doubled. Start it again:  {again}",
        "stopped": "It has done all there was to do." if done else f"It was stopped. Start it again:  {again}",
        "new": f"It has not run yet. Start it:  {again}",
    }[status]


def card_of(shown: Shown) -> Card:
    """The pipeline in the overview."""
    holds = holder(shown.state / "lease")
    change = change_of(shown, holds)
    return Card(**_card(shown, holds, change))


def _card(shown: Shown, holds: dict[str, Any] | None, change: str) -> dict[str, Any]:
    now, (last, trouble) = now_of(shown), shown.books.last()
    total = now.lag.total if now and now.lag else None
    status = status_of(now, holds, last)
    totals = Fates.from_json(last["totals"]) if last else Fates()
    topics = topics_of(shown, now, last)
    when = time.time() if holds else _ended(shown, now)
    at = row_of(last).committed_at if last else None
    return {
        "id": shown.id,
        "name": shown.name,
        "change": change,
        "status": status,
        "says": sentence(status, now, shown),
        "topics": topics[:TOPICS],
        "topics_total": len(topics),
        "sinks": sinks_of(shown, last),
        "generation": known[-1] if (known := shown.books.generations()) else None,
        "batch_id": last["batch_id"] if last else None,
        "at": now.at if now else None,
        "lag_rows": total.rows if total else None,
        "lag_seconds": total.seconds if total else None,
        "trend": total.trend if total else None,
        "rows_per_second": (now.rows_per_second if now else None) if holds else 0.0,
        "read": totals.seen,
        "rejected": sum(totals.by_code().values()),
        "last_batch_at": at,
        "last_batch_seconds": last["seconds"] if last else None,
        "alerts": [str(alert.get("alert", "")) for alert in (now.alerts if now else ())],
        "spark": spark_of(course_of(shown.courses, "1h", when)),
        "notes": [*shown.notes, *([trouble] if trouble else []), *_notes(shown, now)],
    }


def _ended(shown: Shown, now: Now | None) -> float:
    """Until when the charts of a pipeline that does not run go: until it was last heard of."""
    return shown.courses.newest() or (now.at if now else time.time())


def _notes(shown: Shown, now: Now | None) -> list[str]:
    notes = []
    if now is None and presence.path_of(shown.state).exists():
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


def topics_of(shown: Shown, now: Now | None, last: Record | None) -> list[str]:
    if now and now.lag and now.lag.topics:
        return sorted(topic.topic for topic in now.lag.topics)
    if last:
        return sorted({part["topic"] for part in last["ranges"]})
    source = shown.pipeline.source if shown.pipeline else None
    return sorted([*(source.topics or ()), *(source.partitions or ())]) if source is not None else []


def sinks_of(shown: Shown, last: Record | None) -> list[str]:
    named = list(shown.pipeline.sinks) if shown.pipeline else []
    told = list(last["totals"]["written"]) if last else []
    return [name for name in dict.fromkeys([*named, *told]) if not name.startswith("dead_letters")]


def detail_of(shown: Shown) -> Detail:
    """All of a pipeline but the long lists."""
    holds = holder(shown.state / "lease")
    change = change_of(shown, holds)
    now, (last, _) = now_of(shown), shown.books.last()
    card = _card(shown, holds, change)
    whole, newest = _flows(shown, last, topics_of(shown, now, last))
    return Detail(
        **card,
        file=shown.file,
        state=str(shown.state),
        running=_holder(holds),
        started_at=now.started_at if now else None,
        batches=now.batches if now else 0,
        tries=now.tries if now else 0,
        waiting=now.waiting if now else "",
        waiting_since=now.waiting_since if now else None,
        error=now.error if now else "",
        in_hand=InHand(**now.in_hand.__dict__) if now and now.in_hand and holds else None,
        read_limit=now.read_limit if now else None,
        group=now.shown.group if now and now.shown else "",
        group_trouble=now.shown.trouble if now and now.shown else "",
        last_batch=row_of(last) if last else None,
        lag=_lag(now),
        flow=whole,
        flow_last=newest,
        standing=standing_of(now),
    )


def _flows(shown: Shown, last: Record | None, topics: list[str]) -> tuple[Flow | None, Flow | None]:
    if last is None:
        return None, None
    try:
        writes = writes_of(shown.books.identity())
    except Refused:
        writes = []
    receipts, pipeline = last["receipts"], shown.pipeline
    whole = flow_of(Fates.from_json(last["totals"]), pipeline, writes, receipts, topics)
    newest = flow_of(Tally.total_in(last["tally"]), pipeline, writes, receipts, topics)
    return whole, newest


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


def standing_of(now: Now | None) -> list[Alert]:
    """Alerts that are raised, or were when the process was last heard of."""
    return [
        Alert(
            alert=str(each.get("alert", "")),
            text=str(each.get("text", "")),
            since=each.get("since"),
            cause=str(each.get("cause", "")),
            next_step=str(each.get("next_step", "")),
        )
        for each in (now.alerts if now else ())
    ]
