"""The read limit of a query, changed while it runs.

Spark works out the limit of each source once and keeps it in a field of its own (`uniqueSources`), which it reads anew
for every batch. Writing that field is no public way: it is done only on the lines of Spark on which it was tried, and
only if what is found there looks as it should. Elsewhere `open_valve` gives None, and the query is restarted instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.pace.fair import shares
from penstock.ranges import Positions, positions_from_spark

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

TRIED = ("4.2.",)
"""Lines of Spark on which the limit of a running query was changed, in tests of ours."""
_LIMITS = "org.apache.spark.sql.connector.read.streaming.ReadLimit"


class Valve:
    """The limits of one running query, a source at a time."""

    def __init__(self, query: Any, limits: Any) -> None:
        self._query, self._limits = query, limits

    def set(self, rows: int, waiting: Mapping[str, int] | None = None) -> bool | None:
        """Let the next batch read at most so many rows; 0 lets it read none.

        Where each topic has a source of its own, they share it evenly; `waiting` says what each has to read.
        False if Spark did not take it, None if it has not looked at its sources yet.
        """
        from py4j.protocol import Py4JError

        try:
            before = changed = self._query.uniqueSources()
            if not before.size():
                return None
            every = list(_keys(before))
            limits = [rows] if len(every) == 1 else self._shared(rows, every, waiting or {})
            for source, limit in zip(every, limits, strict=True):
                changed = changed.updated(source, self._limits.maxRows(limit))
            getattr(self._query, "uniqueSources_$eq")(changed)
            stands = self._query.uniqueSources()
            return all(stands.apply(source).maxRows() == limit for source, limit in zip(every, limits, strict=True))
        except (Py4JError, TypeError, AttributeError):
            return False

    def _shared(self, rows: int, sources: list[Any], waiting: Mapping[str, int]) -> list[int]:
        """The limit of each source. One that has not looked at its topic yet has no name."""
        names = [next(iter(_latest(source)), (f"#{place}", 0))[0] for place, source in enumerate(sources)]
        given = shares(rows, {name: waiting.get(name) for name in names})
        return [given[name] for name in names]

    def latest(self) -> Positions | None:
        """Where the topics ended when the newest batch was planned; None if Spark does not say."""
        from py4j.protocol import Py4JError

        found: Positions = {}
        try:
            for source in _keys(self._query.uniqueSources()):
                found |= _latest(source)
        except (Py4JError, TypeError, AttributeError, ValueError):
            return None
        return found or None


def open_valve(query: StreamingQuery) -> Valve | None:
    """The valve of this query, or None where this Spark is not known to have one."""
    from py4j.protocol import Py4JError
    from pyspark import __version__

    if not __version__.startswith(TRIED):
        return None
    try:
        inner = query._jsq.streamingQuery()
        limits = _named(query, _LIMITS)
        inner.uniqueSources().size()
    except (Py4JError, TypeError, AttributeError):
        return None
    return Valve(inner, limits)


def _named(query: Any, name: str) -> Any:
    """The class of this name, in the JVM that runs the query."""
    from pyspark import SparkContext

    found = SparkContext._active_spark_context._jvm  # type: ignore[union-attr]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _latest(source: Any) -> Positions:
    """Where its topics ended; nothing before its first look, when Spark's source fails on the question."""
    from py4j.protocol import Py4JError

    try:
        told = source.reportLatestOffset()
    except Py4JError:
        return {}
    return {} if told is None else positions_from_spark(str(told.json()))


def _keys(map_: Any) -> Iterator[Any]:
    every = map_.keysIterator()
    while every.hasNext():
        yield every.next()
