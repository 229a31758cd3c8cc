"""A live pipeline as Prometheus sees it, and its alerts as a webhook gets them."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.dev.ports import free_port
from penstock.errors import SetupFailed
from penstock.observe import now as present
from penstock.observe.events import AlertRaised, BatchCommitted
from penstock.operate.panorama import Panorama
from penstock.operate.standings import Subject
from penstock.spec import load_pipeline
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka, produce
from penstock.testing.runs import run_once, running
from tests.broker.cases import ids_case, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]


def scraped(port: int) -> dict[tuple[str, str], float]:
    """(name, value of its own label) -> figure."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    made = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            own = [value for key, value in sample.labels.items() if key != "pipeline"]
            made[sample.name, "".join(own)] = sample.value
    return made


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A webhook: its address, and what was POSTed to it."""
    got: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Not to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", got
    finally:
        server.shutdown()
        server.server_close()


def _standing(state: Path) -> list[str]:
    now = present.read(state)
    return [alert["alert"] for alert in now.alerts] if now else []


def test_prometheus_and_a_webhook_see_a_live_pipeline(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, port = topic(partitions=2), free_port()
    produce(kafka.bootstrap, name, [*values(0, 30), b'{"id": "x"}'])
    with listening() as (url, got):
        monkeypatch.setenv("HOOK", url)
        case = ids_case(
            tmp_path,
            kafka.bootstrap,
            name,
            observe={"poll": "200 milliseconds", "prometheus": f"127.0.0.1:{port}"},
            alerts=[{"name": "much", "when": "batch_rows >= 31", "for": "1 milliseconds"}],
            notify={"ops": {"webhook": {"url": "${env:HOOK}"}}},
        )
        with running(spark, case) as told:
            wait_until(lambda: told.of(BatchCommitted) or told.error, "a batch was committed")
            assert told.error is None, told.error
            wait_until(lambda: scraped(port).get(("penstock_rows_read_total", "")) == 31, "the batch is counted")
            wait_until(lambda: scraped(port).get(("penstock_lag_rows", name)) == 0, "nothing is unread")
            seen = scraped(port)
            wait_until(lambda: got, "the webhook was told")
            wait_until(lambda: _standing(case.state) == ["much"], "the alert stands in the state")
            panorama = Panorama([Subject.of(load_pipeline(case.file), case.file.name)])
            [alive] = panorama.look()
            taken = ids_case(tmp_path / "other", kafka.bootstrap, name, pipeline="q", observe=case.spec["observe"])
            with pytest.raises(SetupFailed, match=f"cannot be offered at 127.0.0.1:{port}"):
                run_once(spark, taken)
    assert (alive.state in ("idle", "working"), alive.lag_rows, alive.running) == (True, 0, True)
    assert [alert["alert"] for alert in alive.alerts] == ["much"]
    assert alive.rows_per_second > 0
    assert alive.freshness_seconds is not None
    assert [(each.state, each.running, each.lag_rows) for each in panorama.look()] == [("stopped", False, 0)]
    assert seen["penstock_rows_written_total", "lake"] == 30
    assert seen["penstock_rows_rejected_total", "wrong_type"] == 1
    assert seen["penstock_files_written_total", ""] > 0
    assert seen["penstock_batches_total", ""] == len(told.of(BatchCommitted))
    assert (got[0]["event"], got[0]["alert"], got[0]["value"]) == ("alert_raised", "much", 31)
    assert [event.alert for event in told.of(AlertRaised)] == ["much"]
    with pytest.raises(urllib.error.URLError):
        scraped(port)
