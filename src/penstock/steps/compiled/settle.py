"""Rows with new verdicts. A record of several rows meets one fate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pyarrow as pa

from penstock.rows import Mask, Rows, Verdict
from penstock.worker.crossing import OUT, numbers_of, settled

FATES = {False: "reject", True: "drop"}


def with_verdicts(rows: Rows, verdicts: Sequence[Verdict]) -> Rows:
    """The rows, of which those with one of these verdicts go no further."""
    if not verdicts:
        return rows
    every = tuple(sorted((*rows.verdicts, *verdicts), key=attrgetter("row")))
    marked = replace(rows, verdicts=every)
    return marked if rows.records is None else _whole(marked)


def _whole(rows: Rows) -> Rows:
    """Several rows of one record: one that is rejected takes the others along, one that is dropped goes alone."""
    assert rows.records is not None, "only records of several rows are settled"
    fates: list[dict[str, str] | None] = [None] * len(rows)
    for verdict in rows.verdicts:
        fates[verdict.row] = {"fate": FATES[verdict.drop]}
    stays: Mask = settled(pa.array(fates, OUT), rows.records)
    now_at = np.cumsum(stays) - 1
    kept = tuple(each._replace(row=int(now_at[each.row])) for each in rows.verdicts if stays[each.row])
    source = rows.source.filter(pa.array(stays))
    data = rows.data.filter(pa.array(stays))
    return replace(rows, source=source, data=data, verdicts=kept, records=numbers_of(source["offset"]))
