"""Fetching with the real Ivy and a real Java, from a mirror that is a folder: no network."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from penstock.engine import ivy, truststore
from penstock.engine.jars import Jar
from penstock.engine.java import java
from penstock.errors import SetupFailed

ALPHA = Jar("org.example", "alpha", "1.0", hashlib.sha256(b"the jar").hexdigest())


def test_a_settings_file_that_ivy_cannot_use_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "mirror.xml"
    settings.write_text('<ivysettings><settings defaultResolver="gone"/></ivysettings>')
    monkeypatch.setenv("PENSTOCK_IVY_SETTINGS", str(settings))
    with pytest.raises(SetupFailed) as failure:
        ivy.fetch([ALPHA], tmp_path, lambda _line: None)
    assert str(settings) in str(failure.value)
    assert "gone" in str(failure.value)


def test_a_mirror_of_the_users_own_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "mirror" / "org" / "example" / "alpha" / "1.0"
    kept.mkdir(parents=True)
    (kept / "alpha-1.0.jar").write_bytes(b"the jar")
    settings = tmp_path / "mirror.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="own"/><resolvers><ibiblio name="own" m2compatible="true"'
        f' usepoms="false" useMavenMetadata="false" root="{(tmp_path / "mirror").as_uri()}"/></resolvers></ivysettings>'
    )
    monkeypatch.setenv("PENSTOCK_IVY_SETTINGS", str(settings))
    into = tmp_path / "into"
    into.mkdir()
    said: list[str] = []
    ivy.fetch([ALPHA], into, said.append)
    assert (into / "alpha-1.0.jar").read_bytes() == b"the jar"
    assert said == ["  1 of 1  alpha.jar"]


def test_java_reads_the_trust_store_we_write(tmp_path: Path) -> None:
    keytool: list[str | Path] = [
        java(),
        "-m",
        "java.base/sun.security.tools.keytool.Main",
    ]  # in every runtime, unlike the program
    certificates = truststore.system_certificates()
    truststore.write_store(tmp_path / "trusted.jks", certificates)
    told = subprocess.run(
        [*keytool, "-list", "-keystore", tmp_path / "trusted.jks", "-storepass", truststore.PASSWORD],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert told.count("trustedCertEntry") == len(certificates) > 0
