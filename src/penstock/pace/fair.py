"""A batch shared out over topics: evenly, and what one topic does not need goes to the others."""

from __future__ import annotations

from collections.abc import Mapping


def shares(limit: int, waiting: Mapping[str, int | None]) -> dict[str, int]:
    """Rows of the next batch for each topic; together at most `limit`, but one each. None: nobody knows what waits.

    What a topic has waiting is as of the last look: it may take half as much again, and what is left over after that
    is given out evenly, so that new records find room.
    """
    if limit <= 0 or not waiting:
        return dict.fromkeys(waiting, 0)
    given = dict.fromkeys(sorted(waiting), 1)
    open_ = {topic: limit if rows is None else rows + rows // 2 for topic, rows in waiting.items()}
    left = max(0, limit - len(given))
    while left and (needy := [topic for topic in given if given[topic] < open_[topic]]):
        part = max(1, left // len(needy))
        for topic in needy[:left]:
            more = min(part, open_[topic] - given[topic], left)
            given[topic] += more
            left -= more
    even, odd = divmod(left, len(given))
    return {topic: rows + even + (place < odd) for place, (topic, rows) in enumerate(given.items())}
