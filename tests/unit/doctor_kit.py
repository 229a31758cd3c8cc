"""What the doctor's tests share."""

from __future__ import annotations

from penstock.operate.doctor import Finding, Report


def first(found: Report) -> Finding:
    """The finding that is told first; fails with what was not seen where there is none."""
    assert found.findings, found.unseen
    return found.findings[0]
