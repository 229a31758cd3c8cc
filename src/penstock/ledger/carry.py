"""Frozen rows of a state that lies on another file system: put there before the manifest, fetched back for a replay.

Tasks write to the disk of their machine, in the folder that stands for the batch's stage. What the manifest names must
outlive that machine, so the driver copies it to the stage itself before the manifest is created. The manifest then
names no folder of this machine: whoever publishes the batch fetches into a folder of his own what he does not have.
A table's own files are not carried: they are where the table is.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from penstock.files import Place, Remote
from penstock.ledger.records import Manifest
from penstock.sinks.contract import Frozen

STAGE = "<stage>"
"""Stands in a manifest for the folder that each machine has for the batch's stage."""


def away(manifest: Manifest, stage: Place) -> Manifest:
    """The manifest as it is kept. When this returns, every file that it names in the stage is there, durably."""
    if not isinstance(stage, Remote):
        return manifest
    for frozen in _staged(manifest, str(stage.here)):
        for file in frozen.files:
            stage.on.put(stage.here / file.path, str(stage / file.path))
    return _renamed(manifest, str(stage.here), STAGE)


def back(manifest: Manifest, stage: Place) -> Manifest:
    """The manifest for this machine, with every file of it that lies in the stage. Of a file that is gone from there
    it is the sink that says so: it may have the batch, and not need the file."""
    if not isinstance(stage, Remote):
        return manifest
    for frozen in _staged(manifest, STAGE):
        for file in frozen.files:
            if not _is_here(stage.here / file.path, file.size):
                _fetch(stage / file.path)
    return _renamed(manifest, STAGE, str(stage.here))


def _fetch(file: Remote) -> None:
    try:
        file.on.fetch(str(file), file.here)
    except FileNotFoundError:
        file.here.unlink(missing_ok=True)


def _is_here(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size == size


def _staged(manifest: Manifest, folder: str) -> list[Frozen]:
    return [frozen for frozen in manifest.sinks.values() if folder in frozen.target.values()]


def _renamed(manifest: Manifest, old: str, new: str) -> Manifest:
    """The same manifest, where one folder is called by another name."""
    sinks = {
        name: Frozen({key: new if value == old else value for key, value in frozen.target.items()}, frozen.files)
        for name, frozen in manifest.sinks.items()
    }
    return replace(manifest, sinks=sinks)
