"""What `preview` prints: every column stays readable, whatever the terminal's width."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import pyarrow as pa
import pytest
from rich.console import Console

from penstock.cli.preview import fitted, show
from penstock.operate.preview import Preview
from penstock.rows import DEAD_LETTER
from penstock.tally import Fates

NAMES = ("order_id", "customer", "city", "total", "items")
ROW = {"order_id": 158, "customer": "c-38", "city": "Graz", "total": 22.5, "items": "x" * 200}


def printed(rows: pa.Table, width: int, fates: Fates | None = None) -> str:
    text = StringIO()
    found = Preview(rows.num_rows, {"lake": rows}, DEAD_LETTER.empty_table(), fates or Fates())
    show(found, Console(file=text, width=width, highlight=False))
    return text.getvalue()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_long_value_gives_way_and_short_ones_stay_whole(width: int) -> None:
    told = printed(pa.Table.from_pylist([ROW]), width)
    for shown in (*NAMES, "158", "c-38", "Graz", "22.5"):
        assert shown in told
    assert max(map(len, told.splitlines())) <= width


def test_columns_without_room_are_named() -> None:
    wide = {f"column_{number:02d}": "some text of it" for number in range(20)}
    told = printed(pa.Table.from_pylist([wide]), 80)
    assert "No room for column_07" in told
    assert "some te" in told


def test_no_rows_are_a_table_all_the_same() -> None:
    told = printed(pa.Table.from_pylist([ROW]).slice(0, 0), 80)
    assert "lake: 0 rows" in told
    assert "order_id" in told


def test_widths_that_fit_stay_as_they_are() -> None:
    assert fitted([3, 40, 5], 80) == [3, 40, 5]
    assert fitted([3, 40, 5], 50) == [3, 32, 5]


def test_a_record_at_which_a_run_would_stop_is_told() -> None:
    told = printed(pa.Table.from_pylist([ROW]), 200, Fates(stopped=Counter({"positive_total": 1})))
    assert "A run would stop here: 1 of these records fail the check positive_total" in told
