"""The page's own files: read once, served by name. No path of a client's ever reaches the disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    body: bytes
    media_type: str
    etag: str


def assets() -> dict[str, Asset]:
    """Every file of the page, by its path under `static`."""
    found = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES)
    return {path.relative_to(FOLDER).as_posix(): _asset(path) for path in found}


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:20]}"')
