"""The garbage collector of a local session."""

from __future__ import annotations

import pytest

from penstock.engine.collector import java_options
from penstock.engine.session import defaults


def test_a_session_with_our_defaults_gets_the_parallel_collector() -> None:
    assert java_options(defaults()) == "-XX:+UseParallelGC"


@pytest.mark.parametrize("key", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
@pytest.mark.parametrize("option", ["-XX:+UseG1GC", "-Xss4m -XX:+UseZGC", "-XX:-UseParallelGC"])
def test_a_collector_that_the_user_names_stays_alone(key: str, option: str) -> None:
    assert java_options({**defaults(), key: option}) == ""


def test_other_java_options_leave_the_choice_to_us() -> None:
    assert java_options({**defaults(), "spark.driver.extraJavaOptions": "-XX:+UseStringDeduplication"})


@pytest.mark.parametrize("memory", ["8g", "8G", "8192m", "9gb", "8192", "1t"])
def test_a_large_heap_keeps_the_choice_of_java(memory: str) -> None:
    assert java_options({**defaults(), "spark.driver.memory": memory}) == ""


@pytest.mark.parametrize("memory", ["7g", "512m", "2048", "4194304k"])
def test_a_small_heap_does_not(memory: str) -> None:
    assert java_options({**defaults(), "spark.driver.memory": memory})
