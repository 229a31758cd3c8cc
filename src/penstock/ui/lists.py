"""The long lists of a pipeline: partitions, dead letters, schemas, alerts."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.observe import gaps
from penstock.observe.lag import PartitionLag, TopicLag
from penstock.operate.letters import Unreadable, sample
from penstock.schemas.shelf import Shelf
from penstock.ui.batches import writes_of
from penstock.ui.charts import happened_of
from penstock.ui.models import (
    Alerts,
    LagTable,
    Letter,
    Letters,
    LostRange,
    PartitionRow,
    Payload,
    SchemaNews,
    Schemas,
    TopicRow,
)
from penstock.ui.present import standing_of
from penstock.ui.shop import Shown

MOST_TEXT, MOST_HEX = 2000, 512
"""Characters and bytes of a payload that are shown."""
MOST_EVENTS = 300
MOST_LOST = 200
DAYS = 7
"""So far back events are listed."""


def lag_of(shown: Shown) -> LagTable:
    """Every partition, as the process that runs, or ran, last measured it."""
    now = shown.look().now
    lag = now.lag if now else None
    if lag is None:
        return LagTable(at=None, partitions=[], topics=[], unknown=[])
    return LagTable(
        at=lag.at,
        partitions=[_partition(part) for part in lag.partitions],
        topics=[_topic(topic) for topic in lag.topics],
        unknown=list(lag.unknown),
    )


def _partition(part: PartitionLag) -> PartitionRow:
    own = {name: getattr(part, name) for name in PartitionRow.model_fields if not name.startswith("runway_")}
    runway = part.runway
    known = runway is not None and bool(runway.retention_seconds or runway.retention_bytes)
    return PartitionRow(**own, runway_seconds=runway.seconds if runway else None, runway_known=known)


def _topic(topic: TopicLag) -> TopicRow:
    own = {name: getattr(topic, name) for name in TopicRow.model_fields if name != "hot"}
    return TopicRow(**own, hot=len(topic.hot))


def letters_of(shown: Shown, limit: int, code: str | None) -> Letters:
    """Dead letters: counted by code from the ledger, and some of the newest from their table."""
    last = shown.look().last
    counts = last.totals.by_code() if last else {}
    table, note, trouble, samples = _table(shown), "", "", []
    if not table:
        trouble = "The dead letters of this pipeline go to a topic. Read it with any consumer."
    else:
        try:
            found = sample(table, limit, code)
            samples = [_letter(row) for row in found.rows]
            if found.looked < found.files:
                note = f"From the newest {found.looked} of {found.files:,} files of the table."
        except Unreadable as error:
            trouble = str(error)
    return Letters(table=table, total=sum(counts.values()), by_code=counts, samples=samples, trouble=trouble, note=note)


def _table(shown: Shown) -> str:
    """The Delta table of the dead letters; empty where they go to a topic."""
    if shown.pipeline is not None:
        return str(shown.pipeline.dead_letters.delta or "")
    try:
        told = {each.sink: each for each in writes_of(shown.books.identity())}
    except PenstockError:
        told = {}
    if "dead_letters" in told and told["dead_letters"].committer != "kafka":
        return told["dead_letters"].target
    default = shown.state / "dead_letters"
    return str(default) if default.is_dir() or not told else ""


def _letter(row: dict[str, Any]) -> Letter:
    return Letter(
        topic=str(row["topic"]),
        partition=row["partition"] or 0,
        offset=row["offset"] or 0,
        timestamp=_seconds(row["timestamp"]),
        rejected_at=_seconds(row["rejected_at"]),
        stage=str(row["stage"] or ""),
        code=str(row["code"] or ""),
        field=str(row["field"] or ""),
        detail=str(row["detail"] or "")[:MOST_TEXT],
        batch_id=row["batch_id"],
        key=payload(row["key"]),
        value=payload(row["value"]),
    )


def payload(body: bytes | None) -> Payload:
    """Bytes for a person: as text if they are text, else as hexadecimal digits; not all, if they are many."""
    if body is None:
        return Payload(form="none", text="", bytes=0, cut=False)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is not None and all(letter.isprintable() or letter in "\n\r\t" for letter in text):
        return Payload(form="text", text=text[:MOST_TEXT], bytes=len(body), cut=len(text) > MOST_TEXT)
    return Payload(form="hex", text=body[:MOST_HEX].hex(" "), bytes=len(body), cut=len(body) > MOST_HEX)


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at is not None else None


def schemas_of(shown: Shown) -> Schemas:
    """The columns as they are, and every change of a producer's schema that was met."""
    folder = Path(shown.state, "schemas", "readers")
    try:
        revisions = shown.kept.of("schemas", (folder,), lambda: Shelf(shown.state, write=False).history())
        trouble = ""
    except PenstockError as error:
        revisions, trouble = [], str(error)
    newest = revisions[-1] if revisions else {}
    return Schemas(
        kept=bool(revisions),
        revision=newest.get("revision"),
        registry=str(newest.get("registry", "")),
        columns=str(newest.get("columns", "")),
        subjects={subject: int(schema.get("id", 0)) for subject, schema in newest.get("readers", {}).items()},
        news=[news for revision in reversed(revisions) for news in _news(revision)][:MOST_EVENTS],
        trouble=trouble,
    )


def _news(revision: dict[str, Any]) -> list[SchemaNews]:
    about = {"revision": revision["revision"], "at": revision["at"]}
    return [
        SchemaNews(**about, **{**each, "changes": [_texts(change) for change in each.get("changes", ())]})
        for each in revision.get("news", ())
    ]


def _texts(change: dict[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in change.items()}


def alerts_of(shown: Shown) -> Alerts:
    """Alerts that are raised, what happened to the process, and the ranges that were lost."""
    standing = shown.look()
    now = standing.now
    days = shown.courses.days(time.time() - DAYS * 86_400)
    runs = [row for day in days for row in day.runs][-MOST_EVENTS:]
    lost, trouble = shown.kept.of("lost", (gaps.folder_of(shown.state),), lambda: _lost(shown))
    return Alerts(
        standing=standing_of(standing),
        measured_at=now.at if now else None,
        happened=[happened_of(row) for row in reversed(runs)],
        lost=lost,
        lost_trouble=trouble,
        damaged=sum(day.damaged + day.cut for day in days),
    )


def _lost(shown: Shown) -> tuple[list[LostRange], str]:
    if not gaps.folder_of(shown.state).is_dir():
        return [], ""
    table, wrong = gaps.read_what_can_be(shown.state)
    rows = table.to_pylist()[-MOST_LOST:]
    names = ("batch_id", "topic", "partition", "start", "end")
    lost = [LostRange(at=row["at"].timestamp(), **{name: row[name] for name in names}) for row in reversed(rows)]
    told = [f"gaps/{name} cannot be read: {why}. The ledger has its ranges." for name, why in wrong.items()]
    return lost, "\n".join(told[:3])
