"""`penstock validate` and `status` are quick by what they do not import. The modules are asserted, not the clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

HEAVY = ["pyspark", "py4j", "pyarrow", "numpy", "pandas", "deltalake", "confluent_kafka"]
SOURCE = Path(penstock.__file__).parent.parent
RIGHT = """
pipeline: orders
source: {kafka: {brokers: dev, topics: [orders, returns]}}
decode: {json: {schema: "id BIGINT NOT NULL, day DATE, name STRING"}}
sinks:
  lake: {delta: {table: ./lake/orders, partition_by: [day]}}
"""
WRONG = RIGHT.replace("brokers: dev", "broker: dev").replace("json", "jsn").replace("delta", "dleta")
CALL = """
import sys
from penstock.cli import main
try:
    main()
finally:
    sys.stderr.write("\\nloaded: " + " ".join(sorted({name.split(".")[0] for name in sys.modules})))
"""


def run_validate(folder: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return run_verb("validate", folder, text, *flags)


def run_verb(verb: str, folder: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "orders.yaml").write_text(text)
    command = [sys.executable, "-c", CALL, verb, "orders.yaml", *flags]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)


@pytest.mark.parametrize(
    ("words", "text", "code"),
    [(["validate"], RIGHT, 0), (["validate"], WRONG, 2), (["status", "--json"], RIGHT, 0)],
    ids=["right", "wrong", "status"],
)
def test_the_quick_verbs_load_no_engine(tmp_path: Path, words: list[str], text: str, code: int) -> None:
    done = run_verb(words[0], tmp_path, text, *words[1:])
    loaded = done.stderr.rpartition("loaded: ")[2].split()
    assert done.returncode == code, done.stderr
    assert "penstock" in loaded
    assert [module for module in HEAVY if module in loaded] == []


def test_a_right_file_is_told_in_one_line(tmp_path: Path) -> None:
    done = run_validate(tmp_path, RIGHT)
    way = "kafka topics orders, returns -> json (3 columns) -> delta ./lake/orders"
    assert done.stdout == f"orders.yaml is valid: {way}\n"


def test_a_wrong_file_ends_with_code_2_and_its_problems_on_stderr(tmp_path: Path) -> None:
    done = run_validate(tmp_path, WRONG)
    assert done.stdout == ""
    assert done.returncode == 2
    assert "orders.yaml:3:18 source.kafka.broker: no such option. Did you mean `brokers`?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_verdict_as_json(tmp_path: Path) -> None:
    assert json.loads(run_validate(tmp_path, RIGHT, "--json").stdout) == {"valid": True, "problems": []}
    done = run_validate(tmp_path, WRONG, "--json")
    verdict = json.loads(done.stdout)
    assert done.returncode == 2
    assert verdict["valid"] is False
    assert verdict["problems"][0] == {
        "file": "orders.yaml",
        "line": 3,
        "column": 18,
        "path": "source.kafka.broker",
        "message": "no such option. Did you mean `brokers`?",
        "remedy": "",
    }
