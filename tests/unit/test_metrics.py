"""Metrics: counted from events, scraped over HTTP, sent by OTLP; dashboard and rules name none but these."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML
from typer.testing import CliRunner

from penstock.cli import built
from penstock.errors import SetupFailed
from penstock.observe import otlp, prometheus
from penstock.observe.events import (
    BatchCommitted,
    LagMeasured,
    Paced,
    RecordsLost,
    Recovered,
    RunStarted,
    SchemaChanged,
    Waiting,
)
from penstock.observe.lag import Lag, PartitionLag, Runway, together
from penstock.observe.metrics import METRICS, MOST_VALUES, OTHER, Readings
from penstock.observe.metrics_kept import Figures, Sums, Usual, state_of
from penstock.observe.now import InHand, LastBatch, Now
from penstock.testing.harness import wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"


def committed(**changes: Any) -> BatchCommitted:
    told: dict[str, Any] = {
        "pipeline": "p", "batch_id": 1, "read": 100, "written": 90, "rejected": {"wrong_type": 6},
        "dropped": {"old": 4}, "seconds": 2.0, "phases": {"pass": 1.5, "tables": 0.5},
        "sinks": {"lake": {"rows": 90, "version": 3}},
        "warned": {"odd": 2}, "not_routed": {"big": 80}, "replayed": False, "files": 2, "bytes": 4000,
    }  # fmt: skip
    return BatchCommitted(**{**told, **changes})


def lag_of(*topics: str, at: float = 1000.0, **changes: Any) -> Lag:
    parts = [PartitionLag(topic, 0, position=10, end=25, offsets=15, rows=12, waiting_seconds=4.0) for topic in topics]
    parts = [PartitionLag(**{**part.__dict__, **changes}) for part in parts]
    each = tuple(together(part.topic, [part]) for part in parts)
    return Lag(at, tuple(parts), each, together("", parts))


def figures(now: Now | None = None, usual: Usual | None = None, at: float = 1000.0) -> Figures:
    known = now or Now("p", started_at=900.0, tries=1)
    return Figures(usual or Usual(10.0), lambda: known, lambda: at)


def test_every_metric_is_named_by_one_rule() -> None:
    for name, metric in METRICS.items():
        assert re.fullmatch(r"[a-z][a-z_]*[a-z]", name)
        assert metric.about.endswith(".")
        assert not name.endswith("_total")
        if metric.unit in ("seconds", "bytes") and metric.kind == "gauge":
            assert name.endswith(f"_{metric.unit}")


def test_a_committed_batch_is_counted_by_its_labels() -> None:
    kept = figures()
    kept.take(committed())
    kept.take(committed(rejected={"wrong_type": 10, "too_large": 1}))
    seen = kept.read()
    assert seen["rows_read"] == {(): 200}
    assert seen["rows_written"] == {("lake",): 180}
    assert seen["rows_rejected"] == {("wrong_type",): 16, ("too_large",): 1}
    assert seen["rows_dropped"] == {("old",): 8}
    assert seen["rows_warned"] == {("odd",): 4}
    assert seen["rows_not_routed"] == {("big",): 160}
    assert seen["phase_seconds"] == {("pass",): 3.0, ("tables",): 1.0}
    assert (seen["files_written"], seen["bytes_written"], seen["batches"]) == ({(): 4}, {(): 8000}, {(): 2})
    assert seen["reject_share"] == {(): 17 / 200}
    assert seen["file_bytes"] == {(): 2000}


def test_what_else_happens_is_counted() -> None:
    kept = figures(Now("p", tries=2))
    kept.take(RunStarted(pipeline="p", generation=1, brokers="b", state="s", resumes_at=4))
    kept.take(Paced(pipeline="p", batch_id=1, limit=10, before=5, reason="r"))
    kept.take(Paced(pipeline="p", batch_id=2, limit=5, before=5, reason="r"))
    kept.take(Waiting(pipeline="p", cause="c", pause_seconds=1.0, attempt=1))
    kept.take(RecordsLost(pipeline="p", batch_id=1, gaps=({"topic": "t", "partition": 0, "start": 5, "end": 9},)))
    kept.take(SchemaChanged(pipeline="p", batch_id=1, topic="t", subject="s", old=1, new=2, action="park"))
    seen = kept.read()
    assert seen["restarts"] == {(): 1}
    assert seen["pace_changes"] == {("up",): 1, ("down",): 0, ("same",): 1}, "known labels begin at 0"
    assert (seen["waits"], seen["rows_lost"]) == ({(): 1}, {(): 4})
    assert seen["schema_changes"] == {("read",): 0, ("park",): 1}


def test_a_wait_is_counted_from_its_first_try_until_it_is_over() -> None:
    clock = [100.0]
    kept = Figures(Usual(), lambda: Now("p", waiting="a broker", waiting_since=clock[0]), lambda: clock[0])
    for at in (100.0, 110.0, 130.0):
        clock[0] = at
        kept.take(Waiting(pipeline="p", cause="a broker", pause_seconds=10.0, attempt=1))
    assert (kept.read()["waiting_seconds"], kept.read()["waits"]) == ({(): 30.0}, {(): 3})
    kept.take(Recovered(pipeline="p", after_seconds=30.0))
    assert kept.read()["waiting_seconds"] == {(): 0.0}


def test_lag_is_told_for_each_topic_and_not_for_each_partition() -> None:
    runway = Runway(retention_seconds=100.0, slack_seconds=30.0, seconds=60.0, by="time")
    now = Now("p", lag=lag_of("a", "b", runway=runway))
    seen = figures(now, at=1002.0).read()
    assert seen["lag_rows"] == {("a",): 12, ("b",): 12}
    assert seen["lag_seconds"] == {("a",): 4.0, ("b",): 4.0}
    assert seen["runway_seconds"] == {("a",): 60.0, ("b",): 60.0}
    assert seen["runway_share"] == {("a",): 0.3, ("b",): 0.3}
    assert seen["poll_age_seconds"] == {(): 2.0}
    assert "catch_up_seconds" not in seen


def test_a_label_never_has_many_values() -> None:
    sums = Sums()
    for number in range(3 * MOST_VALUES):
        sums.add("rows_rejected", 1.0, f"code{number}")
    assert len(sums.copy()["rows_rejected"]) == MOST_VALUES + 1
    assert sums.copy()["rows_rejected"][OTHER,] == 2 * MOST_VALUES
    many = figures(Now("p", lag=lag_of(*(f"t{number:03}" for number in range(150))))).read()
    assert len(many["lag_rows"]) == MOST_VALUES + 1
    assert many["lag_rows"][OTHER,] == 12


def test_a_batch_is_overdue_by_what_is_usual() -> None:
    hand = Now("p", tries=1, started_at=0.0, in_hand=InHand(3, 900.0, "tables", 950.0))
    kept = figures(hand, Usual(10.0, target_seconds=20.0))
    kept.take(committed(seconds=50.0))
    assert kept.read()["batch_overdue"] == {(): 2.0}
    assert kept.read()["batch_in_hand_seconds"] == {(): 100.0}
    waiting = figures(Now("p", in_hand=hand.in_hand, waiting="a broker", waiting_since=940.0)).read()
    assert (waiting["batch_overdue"], waiting["waiting_seconds"]) == ({(): 0.0}, {(): 60.0})
    assert "batch_overdue" not in figures(hand, Usual(batches=False)).read()


def test_records_that_wait_while_no_batch_begins_are_overdue_too() -> None:
    last = LastBatch(1, 700.0, 1, 1, {}, {}, 1.0, {}, {})
    kept = figures(Now("p", tries=1, last_batch=last), Usual(10.0, target_seconds=20.0))
    kept.take(committed(seconds=5.0))
    assert kept.read()["batch_overdue"] == {(): 0.0}
    kept.take(LagMeasured(pipeline="p", lag=lag_of("a", at=850.0)))
    assert kept.read()["batch_overdue"] == {(): 5.0}
    assert kept.read()["commit_age_seconds"] == {(): 300.0}


def test_the_state_is_one_word() -> None:
    assert state_of(Now("p")) == "starting"
    assert state_of(Now("p", tries=1)) == "idle"
    assert state_of(Now("p", tries=1, in_hand=InHand(1, 0.0, "pass", 0.0))) == "working"
    assert state_of(Now("p", tries=1, waiting="x")) == "waiting"
    assert state_of(Now("p", tries=1, read_limit=0)) == "paused"
    assert [state_of(Now("p", ended=how)) for how in ("failed", "done", "stopped")] == ["failed", "ended", "ended"]
    assert sum(figures().read()["state"].values()) == 1.0


READINGS: Readings = {
    "rows_read": {(): 7.0},
    "lag_rows": {('a"\\\n<script>',): 3.0, ("b",): 4.0},
    "state": {("idle",): 1.0},
}


def test_the_endpoint_is_read_by_prometheus_own_parser_and_ends_with_the_run() -> None:
    with prometheus.serving("127.0.0.1:0", "orders", lambda: READINGS) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        with pytest.raises(SetupFailed, match="in use") as refused, prometheus.serving(
            f"127.0.0.1:{port}", "other", lambda: READINGS
        ):  # fmt: skip
            pass
    assert "Nothing was read." in str(refused.value)
    assert {sample.labels["topic"]: sample.value for sample in families["penstock_lag_rows"].samples} == {
        'a"\\\n<script>': 3.0,
        "b": 4.0,
    }
    [total] = [sample for sample in families["penstock_rows_read"].samples if sample.name.endswith("_total")]
    assert (total.value, total.labels) == (7.0, {"pipeline": "orders"})
    assert families["penstock_rows_read"].type == "counter"
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10)


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[tuple[str, str | None, ExportMetricsServiceRequest]]]]:
    """An OTLP receiver: its address, and path, key and body of what came."""
    got: list[tuple[str, str | None, ExportMetricsServiceRequest]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, self.headers["x-key"], ExportMetricsServiceRequest.FromString(body)))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Not to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()


ABOUT = {"penstock.pipeline": "orders", "service.instance.id": "r1"}


def test_an_otlp_receiver_gets_every_figure_with_its_labels() -> None:
    said: list[str] = []
    with collector() as (url, got), otlp.sending(url, {"x-key": "k"}, 0.05, ABOUT, lambda: READINGS, said.append):
        wait_until(lambda: got, "something was sent")
    path, key, request = got[-1]  # the first may be sent while figures are still being made known
    assert (path, key, said) == ("/v1/metrics", "k", [])
    [resource] = request.resource_metrics
    about = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert (about["service.name"], about["penstock.pipeline"]) == ("penstock", "orders")
    metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    points = {
        tuple(sorted((each.key, each.value.string_value) for each in point.attributes)): point.as_double
        for point in metrics["penstock_lag_rows"].gauge.data_points
    }
    assert points[("pipeline", "orders"), ("topic", "b")] == 4.0
    counter = metrics["penstock_rows_read"].sum
    assert (counter.is_monotonic, counter.data_points[0].as_double) == (True, 7.0)
    assert set(metrics) == {"penstock_lag_rows", "penstock_rows_read", "penstock_state"}


def test_a_receiver_that_refuses_is_told_of_once_and_stops_nothing() -> None:
    said: list[str] = []
    with collector(status=401) as (url, got):
        with otlp.sending(f"{url}/in?key=secret", {}, 0.05, ABOUT, lambda: READINGS, said.append):
            wait_until(lambda: len(got) > 2, "it was tried again")
        assert got[0][0] == "/in/v1/metrics?key=secret"
    assert len(said) == 1
    assert "No batch is affected" in said[0]
    assert "secret" not in said[0]


def test_a_bare_address_gets_the_path_of_otlp_and_a_whole_one_keeps_its_own() -> None:
    assert otlp.address("http://localhost:4318") == "http://localhost:4318/v1/metrics"
    assert otlp.address("https://a.b/otlp/") == "https://a.b/otlp/v1/metrics"
    assert otlp.address("https://a.b/api/v1/metrics?x=1") == "https://a.b/api/v1/metrics?x=1"


def named_in(text: str) -> set[str]:
    return set(re.findall(r"\bpenstock_[a-z_]+\b", text))


def test_the_dashboard_and_the_rules_name_metrics_that_exist() -> None:
    known = {metric.exposed for metric in METRICS.values()}
    dashboard = json.loads((DEPLOY / "grafana" / "penstock.json").read_text(encoding="utf-8"))
    shown = named_in(json.dumps([dashboard["panels"], dashboard["templating"]]))
    rules = YAML(typ="safe").load((DEPLOY / "prometheus" / "penstock.rules.yml").read_text(encoding="utf-8"))
    told = [rule for group in rules["groups"] for rule in group["rules"]]
    used = {name for rule in told for name in named_in(rule["expr"])}
    assert shown | used <= known
    assert (len(shown) > 20, len(used) > 10) == (True, True)


def test_every_panel_asks_for_labels_that_its_metric_has() -> None:
    dashboard = (DEPLOY / "grafana" / "penstock.json").read_text(encoding="utf-8")
    rules = (DEPLOY / "prometheus" / "penstock.rules.yml").read_text(encoding="utf-8")
    by_name = {metric.exposed: {"pipeline", "instance", "job", *metric.labels} for metric in METRICS.values()}
    asked = re.findall(r"\b(penstock_[a-z_]+)\{([^}]*)\}", dashboard.replace('\\"', '"') + rules)
    assert len(asked) > 20
    for name, inside in asked:
        assert set(re.findall(r"([a-z_]+)\s*(?:=~|!=|!~|=)", inside)) <= by_name[name], name


def test_every_rule_for_prometheus_has_a_cause_and_a_next_step() -> None:
    rules = YAML(typ="safe").load((DEPLOY / "prometheus" / "penstock.rules.yml").read_text(encoding="utf-8"))
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        assert {"summary", "cause", "next_step"} <= set(rule["annotations"]), rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_describe_lists_every_metric() -> None:
    said = CliRunner().invoke(built(), ["describe", "metrics"]).output
    assert [line.split()[0] for line in said.splitlines()[1:]] == list(METRICS)
    told = json.loads(CliRunner().invoke(built(), ["describe", "metrics", "--json"]).output)["metrics"]
    assert {each["prometheus"] for each in told} == {metric.exposed for metric in METRICS.values()}
