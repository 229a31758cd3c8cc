"""Which rows of a batch its target takes. Apart from the contract: who only reads a ledger needs no arrays."""

from __future__ import annotations

import numpy as np

from penstock.sinks.contract import Misfit, RecordNumbers


def fitting(count: int, misfits: list[Misfit], records: RecordNumbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mask of the rows to write. A record is written whole or not at all: one misfit takes its other rows along."""
    mask = np.ones(count, dtype=np.bool_)
    bad = [misfit.row for misfit in misfits]
    if records is None:
        mask[bad] = False
        return mask
    return ~np.isin(records, records[bad])
