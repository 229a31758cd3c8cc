"""The pipeline file: text with line numbers in, a Pipeline or every problem out. No Spark, no JVM."""

from __future__ import annotations

from pathlib import Path

from penstock.pipeline import Pipeline
from penstock.spec.check import check
from penstock.spec.load import read_file, read_text

__all__ = ["load_pipeline", "pipeline_from_text"]


def load_pipeline(path: str | Path) -> Pipeline:
    """The pipeline that this file describes. Raises InvalidPipeline with every problem of the file."""
    return check(read_file(path))


def pipeline_from_text(text: str, *, file: str = "<text>", folder: Path | None = None) -> Pipeline:
    """The pipeline that this text describes; its paths begin at `folder`, or where the process stands."""
    return check(read_text(text.encode("utf-8", "surrogatepass"), file, (folder or Path.cwd()).absolute()))
