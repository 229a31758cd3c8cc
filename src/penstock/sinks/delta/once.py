"""How both committers make a batch visible once: what a commit tells, when it is another's, how often it is tried."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError, Refused, Unavailable
from penstock.sinks.contract import Receipt, WriteKey
from penstock.sinks.delta.log import Commit

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between the tries of one commit; after the last, `Unavailable` hands it to the run's own patience."""


def told(story: dict[str, Any], key: WriteKey, rows: int, **more: Any) -> str:
    """What the commit says of itself: its `userMetadata`. The digest is what it is recognised by."""
    whole = {**story, "app": key.app, "batch_id": key.batch_id, "digest": key.digest, "rows": rows, **more}
    return json.dumps(whole, separators=(",", ":"))


def patiently(
    sink: str, table: str, key: WriteKey, attempt: Callable[[], Receipt], forget: Callable[[], None]
) -> Receipt:
    """The receipt of the first try that ends well. An error says nothing: the commit may have landed all the same."""
    failure: Exception | None = None
    for pause in (*PAUSES, None):
        try:
            return attempt()
        except PenstockError:
            raise
        except Exception as error:  # neither delta-rs nor Spark has a tree of errors to tell them apart by
            failure = error
            forget()
        if pause is not None:
            time.sleep(pause)
    raise Unavailable(
        f"sink {sink}, batch {key.batch_id}: table {table} could not be committed to: "
        f"{first_line(failure) if failure else ''}",
        data="Nothing of this batch is visible in it; its files are kept and will be tried again.",
    ) from failure


def another_batch(sink: str, table: str, key: WriteKey, seen: int, found: Commit | None) -> Refused:
    """The table has our batch's number, but not our batch."""
    ours = f"its commit has the digest {found.story.get('digest')}" if found else "that commit is not in its log"
    return Refused(
        f"sink {sink}, batch {key.batch_id}: table {table} says that {key.app} committed batch {seen} "
        f"already, but {ours}, and this batch has {key.digest}.",
        data="The same batch id with other content: committing could double rows, skipping could lose them. "
        "Nothing was written.",
        remedy="The state may be older than the table, or this generation was closed. Restore the state that "
        "belongs to the table, or start afresh, keeping the tables:  penstock new-generation",
    )


def first_line(error: Exception) -> str:
    """What delta-rs or Spark says, without the stack that it may append."""
    java: Any = getattr(error, "java_exception", None)
    text = str(error) if java is None else f"{java.getClass().getSimpleName()}: {java.getMessage()}"
    return (text.splitlines() or [type(error).__name__])[0]
