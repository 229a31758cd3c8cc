"""Every mistake that a pipeline file can hold, and the words that tell of it.

`golden/<mistake>.yaml` is a file with one mistake, or several; `golden/<mistake>.txt` is what a person is told.
After a change of the words:  UPDATE_GOLDEN=1 pytest tests/unit/test_spec_messages.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import InvalidPipeline
from penstock.spec import load_pipeline

GOLDEN = Path(__file__).parent / "golden"
MISTAKES = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


@pytest.fixture(autouse=True)
def _in_the_golden_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    monkeypatch.delenv("PENSTOCK_TEST_UNSET", raising=False)
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "Hunter 2")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_these_words(mistake: str) -> None:
    with pytest.raises(InvalidPipeline) as caught:
        load_pipeline(f"{mistake}.yaml")
    told, golden = f"{caught.value}\n", GOLDEN / f"{mistake}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(told, encoding="utf-8")
    assert told == golden.read_text(encoding="utf-8")
    assert "Hunter" not in told
    assert "hunter2" not in told
    assert str(GOLDEN) not in told


def test_every_text_has_its_file() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == MISTAKES
    assert len(MISTAKES) > 60
