"""The endpoint that Prometheus asks: `http://127.0.0.1:9464/metrics`, for as long as the run lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import SetupFailed
from penstock.observe.metrics import METRICS, PREFIX, Readings

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class Collector:
    """The figures at the moment of asking, as Prometheus' own client wants them."""

    def __init__(self, pipeline: str, read: Callable[[], Readings]) -> None:
        self.pipeline, self.read = pipeline, read

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        readings = self.read()
        for name, metric in METRICS.items():
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = kind(f"{PREFIX}{name}", metric.about, labels=("pipeline", *metric.labels))
            for labels, value in readings.get(name, {}).items():
                family.add_metric((self.pipeline, *labels), value)
            if family.samples:
                yield family


@contextmanager
def serving(address: str, pipeline: str, read: Callable[[], Readings]) -> Iterator[int]:
    """Answer at this address while the block runs; gives the port.

    A port that is taken is an error before anything is read: a pipeline that nobody sees, or that is taken for another
    one which answers there, is worse than one that says at once why it does not start.
    """
    from prometheus_client import CollectorRegistry, start_http_server

    host, _, port = address.rpartition(":")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(pipeline, read))
    try:
        server, thread = start_http_server(int(port), host.strip("[]"), registry)
    except OSError as error:
        raise SetupFailed(
            f"{pipeline}: metrics cannot be offered at {address} (observe.prometheus): {error.strerror or error}.",
            data="Nothing was read.",
            remedy="Free the port, or write another one. Each pipeline of a machine needs its own.",
        ) from error
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
