"""The read limit of a query, changed while it runs.

Spark works out the limit of each source once and keeps it in a field of its own (`uniqueSources`), which it reads anew
for every batch. Writing that field is no public way: it is done only on the lines of Spark on which it was tried, and
only if what is found there looks as it should. Elsewhere `open_valve` gives None, and the query is restarted instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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

    def set(self, rows: int) -> bool | None:
        """Let the next batch read at most so many rows; 0 lets it read none.

        False if Spark did not take it, None if it has not looked at its sources yet.
        """
        from py4j.protocol import Py4JError

        try:
            before = changed = self._query.uniqueSources()
            if not before.size():
                return None
            limit = self._limits.maxRows(rows)
            for source in _keys(before):
                changed = changed.updated(source, limit)
            getattr(self._query, "uniqueSources_$eq")(changed)
            stands = self._query.uniqueSources()
            return all(stands.apply(source).maxRows() == rows for source in _keys(stands))
        except (Py4JError, TypeError, AttributeError):
            return False

    def latest(self) -> Positions | None:
        """Where the topics ended when the newest batch was planned; None if Spark does not say."""
        from py4j.protocol import Py4JError

        found: Positions = {}
        try:
            for source in _keys(self._query.uniqueSources()):
                told = source.reportLatestOffset()
                if told is not None:
                    found |= positions_from_spark(str(told.json()))
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


def _keys(map_: Any) -> Iterator[Any]:
    every = map_.keysIterator()
    while every.hasNext():
        yield every.next()
