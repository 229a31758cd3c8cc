"""Rows with new verdicts, and the one fate of a record of several rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import pyarrow as pa

from penstock.rows import Mask, Rows, Verdict, begins
from penstock.worker.crossing import OUT, numbered, settled

FATES = {False: "reject", True: "drop"}


def with_verdicts(rows: Rows, verdicts: Sequence[Verdict]) -> Rows:
    """The rows, of which those with one of these verdicts go no further."""
    if not verdicts:
        return rows
    return replace(rows, verdicts=tuple(sorted((*rows.verdicts, *verdicts), key=attrgetter("row"))))


@dataclass(frozen=True)
class Settled:
    """The end of a run of compiled stages: rows of one record meet one fate, as they do when they leave Spark."""

    def over(self, rows: Rows) -> Rows:
        """One that is rejected takes the others of its record along, one that is dropped goes alone."""
        if rows.records is None or not rows.verdicts:
            return rows
        fates: list[dict[str, str] | None] = [None] * len(rows)
        for verdict in rows.verdicts:
            fates[verdict.row] = {"fate": FATES[verdict.drop]}
        stays: Mask = settled(pa.array(fates, OUT), rows.records)
        now_at, kept = np.cumsum(stays) - 1, pa.array(stays)
        return replace(
            rows,
            source=rows.source.filter(kept),
            data=rows.data.filter(kept),
            verdicts=tuple(each._replace(row=int(now_at[each.row])) for each in rows.verdicts if stays[each.row]),
            records=numbered(begins(rows.records[stays])),
            routes={name: route.filter(kept) for name, route in rows.routes.items()},
        )
