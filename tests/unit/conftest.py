"""What tests of several files start from: a past, a pipeline that the doctor looks at, a registry with a schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.keeper_kit import Shop

    from penstock.testing.past import Past
    from penstock.testing.ward import Ward


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """Three whole batches of three rows."""
    from penstock.testing.past import Past

    return Past(tmp_path).run(3)


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    """A pipeline with three whole batches, ready to be harmed."""
    from penstock.testing.ward import Ward

    return Ward(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A registry whose only schema is the first of the topic `orders`."""
    from tests.unit.keeper_kit import FIRST, Shop

    made = Shop(tmp_path)
    made.put(1, FIRST)
    return made
