"""The pipeline file: text with line numbers in, a Pipeline or every problem out. No Spark, no JVM."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.pipeline import Pipeline
from penstock.spec.check import check
from penstock.spec.load import read_file, read_text
from penstock.spec.python import problems_of
from penstock.spec.write import to_yaml

__all__ = ["load_pipeline", "pipeline_from_text", "problems_of", "to_yaml"]


def load_pipeline(path: str | Path, env: str | None = None, set: Mapping[str, str] | None = None) -> Pipeline:
    """The pipeline that this file describes. Raises InvalidPipeline with every problem of the file.

    `env` lays that environment of the file over its `vars`; `set` lays over both: `set={"brokers": "kafka:9092"}`.
    """
    return check(read_file(path), env, set)


def pipeline_from_text(
    text: str,
    *,
    file: str = "<text>",
    folder: Path | None = None,
    env: str | None = None,
    set: Mapping[str, str] | None = None,
) -> Pipeline:
    """The pipeline that this text describes; its paths begin at `folder`, or where the process stands."""
    document = read_text(text.encode("utf-8", "surrogatepass"), file, (folder or Path.cwd()).absolute())
    return check(document, env, set)
