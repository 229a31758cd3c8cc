"""What tests of several files start from: a pipeline that the doctor looks at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.testing.ward import Ward


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    """A pipeline with three whole batches, ready to be harmed."""
    from penstock.testing.ward import Ward

    return Ward(tmp_path)
