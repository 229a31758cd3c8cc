"""The registry that a pipeline file names."""

from __future__ import annotations

from pathlib import Path

from penstock.files import Place
from penstock.schemas.cache import Kept
from penstock.schemas.client import Client
from penstock.schemas.contract import Registry
from penstock.schemas.folder import Folder
from penstock.schemas.options import RegistryOptions


def open_registry(options: RegistryOptions, state: Place | None = None, *, write: bool = True) -> Kept:
    """The registry, its answers kept in memory and, where there is a state, under `<state>/schemas`."""
    registry: Registry = Folder(Path(options.folder)) if options.folder is not None else Client(options)
    return Kept(registry, options.place, state, write=write)
