"""One batch on a cluster with speculation on: the first copy of one task dawdles, and a second one is begun.

Prints how many tasks and copies there were, and what the table lost or has twice.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from penstock.engine.session import session
from penstock.stages import Step
from penstock.testing.batches import Bench

ROWS = 400
FORCED = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.minTaskRuntime": "200ms",
    "spark.speculation.task.duration.threshold": "1s",
}
STEP = """
import time
from pathlib import Path
import pyarrow as pa
from pyspark import TaskContext

PLACE = Path(__file__).parent / "copies"

def dawdle(rows: pa.RecordBatch) -> pa.RecordBatch:
    task = TaskContext.get()
    if task is None or not rows.num_rows:
        return rows
    PLACE.mkdir(exist_ok=True)
    (PLACE / f"{task.partitionId()}-{task.attemptNumber()}").touch()
    if task.attemptNumber() == 0 and task.partitionId() == 0:
        time.sleep(30)
    return rows
"""


def main(order: str) -> None:
    body = json.loads(order)
    folder = Path(body["folder"])
    folder.mkdir(parents=True)
    (folder / "dawdling.py").write_text(STEP)
    spark = session("speculation", {**body["spark"], **FORCED}, folder / "spark.log")
    bench = Bench(spark, folder, sections={"steps": (Step(python="dawdling:dawdle"),)})
    bench.write([json.dumps({"id": number}).encode() for number in range(ROWS)])
    found, wanted = Counter(bench.names()), Counter((0, number) for number in range(ROWS))
    copies = [path.name.split("-")[0] for path in (folder / "copies").iterdir()]
    told = {
        "tasks": len(set(copies)),
        "copies": len(copies),
        "lost": sum((wanted - found).values()),
        "doubled": sum((found - wanted).values()),
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
