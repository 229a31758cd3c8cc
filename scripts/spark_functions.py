"""Writes the functions of the installed Spark, each with its sort, into the list that `validate` reads.

Needs a JVM, for a minute. After a change of Spark's version:  .venv/bin/python scripts/spark_functions.py
"""

import tempfile
from pathlib import Path

from penstock.engine.session import session
from penstock.testing.spark_functions import listed, spark_functions

LIST = Path(__file__).resolve().parent.parent / "src" / "penstock" / "sql" / "spark_functions.txt"

with tempfile.TemporaryDirectory() as folder:
    spark = session("functions", {"spark.master": "local[1]"}, Path(folder, "spark.log"))
    LIST.write_text(listed(spark.version, spark_functions(spark)), encoding="utf-8")
    spark.stop()
