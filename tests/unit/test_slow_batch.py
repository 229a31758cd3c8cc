"""A batch that takes very long is told, now and then; one that hangs leaves the stack of the function it hangs in."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from penstock.engine.watch import Slow
from penstock.observe.events import Event, Warned


def test_a_long_batch_is_told_once_and_again_when_it_has_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    told: list[Event] = []
    slow = Slow("orders", told.append, Path("spark.out"))
    for second in range(0, 800, 10):
        now[0] = 1000.0 + second
        slow.look(busy=True)
    assert [type(event) for event in told] == [Warned, Warned, Warned]
    assert "3 minutes" in str(told[0])
    assert "spark.out" in str(told[0])
    slow.look(busy=False)
    slow.look(busy=True)
    assert len(told) == 3


def test_a_function_that_hangs_leaves_its_stack(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(
        "import time\nimport pyarrow as pa\ndef forever(rows: pa.RecordBatch) -> pa.RecordBatch:\n"
        "    while rows.num_rows:\n        time.sleep(0.01)\n    return rows\n"
    )
    program = f"""
        import pyarrow as pa
        from penstock.rows import SOURCE, Rows
        from penstock.steps import python
        python.HANGS_SECONDS = 0.2
        columns = pa.schema([("id", pa.int64())])
        source = pa.RecordBatch.from_pylist([{{"topic": "t", "partition": 0, "offset": 1, "timestamp": 0}}], SOURCE)
        rows = Rows(source, pa.RecordBatch.from_pydict({{"id": [1]}}, columns))
        python.PythonStep("s", "hangs:forever", {str(tmp_path)!r}, columns).over(rows)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if "in forever" in line:
            break
    process.kill()
    process.wait()
    assert any("hangs.py" in line and "in forever" in line for line in seen), seen
