"""`penstock dev`: what a person types and reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.dev import app
from penstock.dev.kafka import running
from penstock.errors import PenstockError


def test_dev_starts_writes_reads_and_stops(folder: Path) -> None:
    def penstock(*arguments: str, lines: str = "") -> str:
        result = CliRunner().invoke(app, [*arguments, "--folder", str(folder)], input=lines)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "brokers: dev" in penstock("up")
    assert "already" in penstock("up")
    assert "2 records written to orders, created with 3 partitions" in penstock(
        "produce", "orders", "--partitions", "3", "--key-separator", "|", lines='k|{"id": 1}\nk|{"id": 2}\n'
    )
    assert penstock("consume", "orders") == '{"id": 1}\n{"id": 2}\n'
    [first] = penstock("consume", "orders", "--max", "1", "--json").splitlines()
    assert (json.loads(first)["key"], json.loads(first)["value"]) == ("k", '{"id": 1}')
    assert json.loads(penstock("status", "--json"))["topics"] == {"orders": {"partitions": 3, "records": 2}}
    assert "Stopped" in penstock("down")
    assert running(folder) is None


@pytest.mark.parametrize("command", [["produce", "t"], ["consume", "t"]])
def test_without_a_broker_dev_names_the_command_that_starts_one(tmp_path: Path, command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command, "--folder", str(tmp_path)])
    assert isinstance(result.exception, PenstockError)
    assert "penstock dev up" in str(result.exception)
    assert not (tmp_path / ".penstock").exists()
