"""Places for the tables of the contract tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Where a test's table will be. Nothing is there yet."""
    return str(tmp_path / "table")
