"""A preflight that must refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.errors import Refused
from penstock.testing.past import Past

Harm = Callable[[Past], object]


def refused(past: Past) -> str:
    """The words, and nothing changed in the table."""
    before = past.offsets() if past.table().exists() else []
    with pytest.raises(Refused) as caught:
        past.preflight()
    assert caught.value.exit_code == 3
    assert "Nothing was written" in str(caught.value)
    assert (past.offsets() if past.table().exists() else []) == before
    return str(caught.value)
