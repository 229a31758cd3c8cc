"""The `observe` section: how a pipeline shows itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from penstock.brokers import Broker
from penstock.options import Duration, Field, Noun, Options, Wrong
from penstock.secret import Secret

QUICKEST_SECONDS = 0.1


def _poll(value: Duration) -> Duration:
    if value.seconds < QUICKEST_SECONDS:
        raise Wrong("is too often: the broker would be asked without a pause.", "Write it like  10 seconds")
    return value


def _group(value: str) -> str:
    if not re.fullmatch(r"[^\s]{1,255}", value):
        raise Wrong("is no name for a group: 1 to 255 characters, without spaces.")
    return value


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(?:[/?][^\s#]*)?", value):
        raise Wrong("needs a URL.", "Write it like  http://localhost:4318")
    return value


class Observe(Options):
    """How a pipeline shows itself: to Kafka's own tools, to monitoring, and to who asks later."""

    group: Annotated[str, AfterValidator(_group)] | None = Field(
        None, description="Kafka group that shows the pipeline's progress. Default `<pipeline>`."
    )
    poll: Annotated[Duration, AfterValidator(_poll)] = Field(
        Duration("10 seconds"), description="How often the broker is asked how far the topics are, batch or no batch."
    )
    history: Duration = Field(Duration("30 days"), description="How long progress is kept in `<state>/progress`.")
    prometheus: Broker | None = Field(None, description="Where Prometheus may ask for metrics, like `127.0.0.1:9464`.")
    otlp: Annotated[str, AfterValidator(_url), Noun("URL")] | None = Field(
        None, description="OpenTelemetry endpoint that metrics are sent to (OTLP over HTTP)."
    )
    otlp_headers: dict[str, Secret] = Field(default_factory=dict, description="Headers for that endpoint: secrets.")

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        if given.get("otlp_headers") and not given.get("otlp"):
            yield Wrong("`otlp_headers` without `otlp`: they are sent nowhere.", at=("otlp_headers", "[key]"))

    def group_of(self, pipeline: str) -> str:
        """The group that shows this pipeline's progress."""
        return self.group or pipeline
