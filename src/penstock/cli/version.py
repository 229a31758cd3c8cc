"""penstock version."""

from __future__ import annotations

from importlib.metadata import version as installed

from penstock.version import __version__


def version() -> None:
    """Print the versions of penstock and of what it stands on."""
    from penstock.formats.json.native import choice

    names = ("pyspark", "deltalake", "pyarrow", "confluent-kafka")
    parts = ", ".join(f"{name} {installed(name)}" for name in names)
    print(f"penstock {__version__} ({parts}; JSON decoder {choice().why})")
