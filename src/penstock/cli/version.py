"""penstock version."""

from __future__ import annotations

from importlib.metadata import version as installed

from penstock.version import __version__


def version() -> None:
    """Print the versions of penstock and of what it stands on."""
    parts = ("pyspark", "deltalake", "pyarrow", "confluent-kafka")
    print(f"penstock {__version__} ({', '.join(f'{part} {installed(part)}' for part in parts)}; decoder pyarrow)")
