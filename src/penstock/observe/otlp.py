"""Metrics to an OpenTelemetry collector, by OTLP over HTTP, in a thread of OpenTelemetry's own.

A collector that is away costs nothing but its figures: that is said once, and again after it was back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from penstock.observe.metrics import METRICS, PREFIX, Metric, Readings
from penstock.version import __version__

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation

TIMEOUT_SECONDS = 5.0
MOMENT_SECONDS = 0.05
PATH = "/v1/metrics"
UNITS = {"seconds": "s", "bytes": "By", "rows": "{row}", "share": "1", "": "1"}


def address(url: str) -> str:
    """Where metrics are sent: the path that OTLP wants is added to a bare address."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(PATH) else path + PATH))


@contextmanager
def sending(
    url: str,
    headers: Mapping[str, str],
    seconds: float,
    about: Mapping[str, str],
    read: Callable[[], Readings],
    say: Callable[[str], None],
) -> Iterator[None]:
    """Send the figures so often while the block runs, and once at its end. `about` names the pipeline and the run."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource

    _quieten()
    exporter = _exporter(url, headers, say)
    reader = PeriodicExportingMetricReader(exporter, seconds * 1000, TIMEOUT_SECONDS * 1000)
    resource = Resource.create({"service.name": "penstock", "service.version": __version__, **about})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    _declare(provider.get_meter("penstock", __version__), {"pipeline": about["penstock.pipeline"]}, read)
    try:
        yield
    finally:
        provider.shutdown(TIMEOUT_SECONDS * 1000)


def _declare(meter: Meter, common: Mapping[str, str], read: Callable[[], Readings]) -> None:
    """An instrument for each metric. They are asked one after the other, and told what was so at the first."""
    read = _of_one_moment(read)
    for metric in METRICS.values():
        make = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
        callback = _callback(metric, common, read)
        make(f"{PREFIX}{metric.name}", callbacks=[callback], unit=UNITS[metric.unit], description=metric.about)


def _of_one_moment(read: Callable[[], Readings]) -> Callable[[], Readings]:
    kept: list[tuple[float, Readings]] = []

    def same() -> Readings:
        if not kept or time.monotonic() - kept[0][0] > MOMENT_SECONDS:
            kept[:] = [(time.monotonic(), read())]
        return kept[0][1]

    return same


def _callback(
    metric: Metric, common: Mapping[str, str], read: Callable[[], Readings]
) -> Callable[[CallbackOptions], Iterator[Observation]]:
    from opentelemetry.metrics import Observation

    def observe(_options: CallbackOptions) -> Iterator[Observation]:
        for labels, value in read().get(metric.name, {}).items():
            yield Observation(value, {**common, **dict(zip(metric.labels, labels, strict=True))})

    return observe


def _exporter(url: str, headers: Mapping[str, str], say: Callable[[str], None]) -> Any:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData

    class Telling(OTLPMetricExporter):  # type: ignore[misc,unused-ignore]
        """Says it once when nobody takes the figures."""

        said = False

        def export(
            self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
        ) -> MetricExportResult:
            result = super().export(metrics_data, timeout_millis, **kwargs)
            if result is not MetricExportResult.SUCCESS and not self.said:
                say(f"metrics do not reach {_bare(url)} (observe.otlp): it does not answer, or refuses them. "
                    "No batch is affected; it is tried again.")  # fmt: skip
            self.said = result is not MetricExportResult.SUCCESS
            return result

    return Telling(endpoint=address(url), headers=dict(headers), timeout=TIMEOUT_SECONDS)


def _bare(url: str) -> str:
    """The address without what may be a secret in its query."""
    return urlunsplit(urlsplit(url)._replace(query="", fragment=""))


def _quieten() -> None:
    """What OpenTelemetry says of itself is not for the user's terminal: we say it in our words."""
    for name in ("opentelemetry.exporter.otlp", "opentelemetry.sdk.metrics"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
            log.propagate = False
