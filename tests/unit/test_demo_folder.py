"""The demo's folder: it clears what a demo made, and touches nothing else."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.dev.demo_folder import DemoFolder
from penstock.errors import PenstockError
from penstock.spec import load_pipeline


@pytest.fixture
def demo(tmp_path: Path) -> DemoFolder:
    """A folder as an earlier demo left it."""
    made = DemoFolder(tmp_path / "demo")
    made.make_fresh()
    for part in ("lake/payments/_delta_log", "lake/payments_dead", "state/payments/ledger"):
        (made.path / part).mkdir(parents=True)
    for log in ("payments-0", "__consumer_offsets-3"):
        (made.path / ".penstock/dev/data" / log).mkdir(parents=True)
    return made


def test_the_pipeline_file_is_valid_and_names_what_the_demo_counts(demo: DemoFolder) -> None:
    pipeline = load_pipeline(demo.file)
    assert pipeline.name == "payments"
    assert pipeline.sinks["lake"].to.table == str(demo.table)
    assert pipeline.dead_letters.delta == str(demo.dead_letters)


def test_what_an_earlier_demo_made_is_cleared(demo: DemoFolder) -> None:
    demo.make_fresh()
    left = sorted(str(path.relative_to(demo.path)) for path in demo.path.rglob("*"))
    assert left == [".penstock", ".penstock-demo", "lake", "payments.yaml", "state"]


def test_a_folder_that_no_demo_made_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "payments.yaml").write_text("mine")
    with pytest.raises(PenstockError, match=r"no demo made it.*\n.*--folder"):
        DemoFolder(tmp_path).make_fresh()
    assert [path.name for path in tmp_path.iterdir()] == ["payments.yaml"]
    assert (tmp_path / "payments.yaml").read_text() == "mine"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    DemoFolder(tmp_path).make_fresh()
    assert DemoFolder(tmp_path).file.exists()


def edit(demo: DemoFolder) -> None:
    demo.file.write_text(demo.file.read_text() + "# mine\n")


def another(path: str) -> Callable[[DemoFolder], None]:
    return lambda demo: (demo.path / path).mkdir(parents=True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (edit, "changes of payments.yaml"),
        (another("notes"), "notes"),
        (another("lake/orders"), "lake/orders"),
        (another("state/orders"), "state/orders"),
        (another(".penstock/dev/data/orders-0"), "topic orders"),
    ],
)
def test_a_folder_with_the_users_own_work_is_refused_untouched(
    demo: DemoFolder, change: Callable[[DemoFolder], None], named: str
) -> None:
    change(demo)
    before = sorted(demo.path.rglob("*"))
    with pytest.raises(PenstockError, match=f"did not make: {named}"):
        demo.make_fresh()
    assert sorted(demo.path.rglob("*")) == before


def test_a_folder_whose_pipeline_runs_is_refused(demo: DemoFolder) -> None:
    with (demo.path / "state/payments/lease").open("w") as lease:
        fcntl.flock(lease, fcntl.LOCK_EX)
        with pytest.raises(PenstockError, match="runs the pipeline"):
            demo.make_fresh()
    assert demo.table.exists()
