"""`penstock doctor` as it is typed: the first line is the cause, exit codes, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.foreign_kit import checkpoint
from typer.testing import CliRunner

from penstock.cli import built
from penstock.dev.ports import free_port
from penstock.testing.ward import Ward

CLI = CliRunner()


def test_the_first_line_is_the_cause_then_evidence_then_what_mends_it(tmp_path: Path) -> None:
    ward = Ward(tmp_path)
    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    ward.tells(ended="failed", error="p: the batch failed in Spark: ValueError: \x1b[31mno")
    done = CLI.invoke(built(), ["doctor", "--state", str(ward.state)])
    lines = done.output.splitlines()
    assert done.exit_code == 5
    assert lines[0].startswith(
        "p does not run: its last run failed: p: the batch failed in Spark: ValueError: \\x1b[31m"
    )
    assert lines[0].endswith("[run_failed]")
    assert [line for line in lines if line.startswith("  mend: mend what the error names, then:  penstock run FILE")]
    assert [line for line in lines if line.endswith("[reject_rate]")]
    assert "  not looked at: brokers: nobody said where they are: --brokers HOST:PORT" in lines


def test_nothing_found_ends_with_0_and_says_what_was_looked_at(tmp_path: Path) -> None:
    done = CLI.invoke(built(), ["doctor", "--state", str(Ward(tmp_path).state)])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "p: nothing found")
    assert "looked at: " in done.output


def test_json_has_the_same(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 4, 4)
    (folder / "metadata").unlink()
    done = CLI.invoke(built(), ["doctor", "--checkpoint", str(folder), "--json"])
    found = json.loads(done.output)
    assert (done.exit_code, found["healthy"], found["findings"][0]["code"]) == (5, False, "damaged_checkpoint")
    assert found["cause"] == found["findings"][0]["cause"]
    assert found["findings"][0]["mend"]


@pytest.mark.parametrize("wrong", ["", "x.yaml --state s", "x.yaml --brokers h:1", "--brokers h:1"])
def test_one_patient_at_a_time(wrong: str) -> None:
    assert CLI.invoke(built(), ["doctor", *wrong.split()]).exit_code == 2


def test_a_dead_broker_is_a_diagnosis(tmp_path: Path) -> None:
    where = f"127.0.0.1:{free_port()}"
    done = CLI.invoke(built(), ["doctor", "--checkpoint", str(checkpoint(tmp_path, 4, 4)), "--brokers", where])
    assert done.exit_code == 5, done.output
    assert done.output.splitlines()[0] == f"no broker of {where} answers  [broker_away]"
