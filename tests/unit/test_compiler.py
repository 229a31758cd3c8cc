"""How soon the JVM of a local session compiles."""

from __future__ import annotations

import subprocess

import pytest

from penstock.engine import java
from penstock.engine.compiler import java_options
from penstock.engine.session import defaults


def test_a_session_with_our_defaults_compiles_later() -> None:
    assert "-XX:Tier4InvocationThreshold=20000" in java_options(defaults()).split()


@pytest.mark.parametrize("key", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
@pytest.mark.parametrize(
    "option", ["-XX:TieredStopAtLevel=1", "-XX:Tier4InvocationThreshold=5000", "-XX:-TieredCompilation", "-Xint"]
)
def test_what_the_user_says_of_the_compilers_stays_alone(key: str, option: str) -> None:
    assert java_options({**defaults(), key: option}) == ""


def test_other_java_options_leave_the_choice_to_us() -> None:
    assert java_options({**defaults(), "spark.driver.extraJavaOptions": "-XX:+UseG1GC -Xss4m"})


def test_java_takes_the_options() -> None:
    """Unknown ones are passed over in a session; a misspelt one would go unseen."""
    told = subprocess.run([java.java(), *java_options({}).split(), "-version"], capture_output=True, check=False)
    assert told.returncode == 0, told.stderr
