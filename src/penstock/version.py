"""The version, in one place: the wheel, `penstock version` and every dead letter read it here."""

__version__ = "0.1.0"
