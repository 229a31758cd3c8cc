"""A real Prometheus: it reads a live pipeline, and every question of the dashboard and of the alert rules is answered.

Needs `prometheus` and `promtool` on the PATH, which most systems have as a package named `prometheus`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from penstock.dev.ports import free_port
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, produce
from penstock.testing.meanwhile import meanwhile

pytestmark = pytest.mark.slow
DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "penstock.rules.yml"


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, (
        f"{name} is not on the PATH, and this test asks a real one. Install the package `prometheus` of your system "
        "(for example:  apt-get install prometheus), or put the programs of a release on the PATH."
    )
    return found


class Server:
    """A Prometheus of the test's own, that asks one pipeline every second."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **parameters: str) -> Any:
        url = f"{self.address}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression: str) -> list[dict[str, Any]]:
        return list(self.ask("/api/v1/query", query=expression)["result"])

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def prometheus(folder: Path, pipeline: int) -> Iterator[Server]:
    port, config = free_port(), folder / "prometheus.yml"
    scrape = {"job_name": "penstock", "static_configs": [{"targets": [f"127.0.0.1:{pipeline}"]}]}
    told = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [scrape],
        "rule_files": [str(RULES)],
    }
    config.write_text(json.dumps(told))  # JSON is YAML
    command = [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "prometheus.log").open("wb") as log:
        popen = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        server = Server(port)
        wait_until(lambda: server.ready() or popen.poll() is not None, "Prometheus is ready")
        assert popen.poll() is None, (folder / "prometheus.log").read_text()
        yield server
    finally:
        popen.terminate()
        popen.wait(30)


def records(number: int) -> list[bytes]:
    """Good ones, some that a check drops or warns of, one that is not JSON."""
    made = [b'{"id": %d}' % (number * 500 + place) for place in range(500)]
    return [*made, b'{"id": -1}', b'{"id": -2}', b"oops"]


def case_of(folder: Path, bootstrap: str, topic: str, port: int) -> Case:
    """Everything that the dashboard shows happens: it falls behind, drops, warns, rejects, leaves out, and alerts."""
    ensure_topic(bootstrap, topic, 2, {"retention.ms": "3600000"})
    return Case(
        folder,
        {
            "pipeline": "p",
            "source": {"kafka": {"brokers": [bootstrap], "topics": [topic]}},
            "decode": {"json": {"schema": "id BIGINT NOT NULL"}},
            "checks": [
                {"name": "no_ones", "rule": "id <> -1", "on_fail": "drop"},
                {"name": "no_twos", "rule": "id <> -2", "on_fail": "warn"},
            ],
            "sinks": {
                "lake": {"delta": {"table": "./lake/all"}},
                "even": {"where": "id % 2 = 0", "delta": {"table": "./lake/even"}},
            },
            "trigger": {"every": "1 second"},
            "pace": {"max_rows": 100},
            "observe": {"poll": "1 second", "prometheus": f"127.0.0.1:{port}"},
            "alerts": [{"name": "any", "when": "batch_rows > 0", "for": "1 seconds"}],
        },
    )


def questions() -> list[str]:
    """Every expression of the dashboard, as Grafana would ask it of all pipelines."""
    dashboard = json.loads((DEPLOY / "grafana" / "penstock.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return [each.replace("$__rate_interval", "20s").replace("$pipeline", ".*") for each in asked]


def test_every_panel_of_the_dashboard_has_data_from_a_live_pipeline(kafka: DevKafka, tmp_path: Path) -> None:
    port, asked = free_port(), questions()
    assert len(asked) > 30
    case = case_of(tmp_path, kafka.bootstrap, "prometheus-live", port)
    left = list(asked)

    def unanswered(but_for: str = "") -> list[str]:
        left[:] = [each for each in left if not server.query(each)]
        return [each for each in left if not but_for or but_for in each]

    with prometheus(tmp_path, port) as server:
        produce(kafka.bootstrap, "prometheus-live", records(0)[:50])
        process = case.start()
        try:
            process.wait_for("batch_committed")
            wait_until(lambda: server.query('up{job="penstock"} == 1'), "Prometheus reads the pipeline")
            wait_until(lambda: not unanswered("catch_up_seconds"), "it has caught up: soon it will never")
            with meanwhile(lambda number: produce(kafka.bootstrap, "prometheus-live", records(number)), lambda: 0.5):
                try:
                    wait_until(lambda: not unanswered() or process.popen.poll() is not None, "every panel has data")
                except AssertionError as error:
                    raise AssertionError(f"no data for {left}") from error
                assert left == [], process.text
                wrong_rules(server)
                assert server.query('penstock_alert_active{alert="any"}')[0]["value"][1] == "1"
                read = float(server.query("penstock_rows_read_total")[0]["value"][1])
                assert 0 < read <= sum(event["read"] for event in process.events("batch_committed"))
        finally:
            process.kill()
        wait_until(lambda: server.query('up{job="penstock"} == 0'), "a pipeline that was killed is down")


def wrong_rules(server: Server) -> None:
    def evaluated() -> bool:
        rules = [rule for group in server.ask("/api/v1/rules")["groups"] for rule in group["rules"]]
        return bool(rules) and all(rule["health"] != "unknown" for rule in rules)

    wait_until(evaluated, "the rules were evaluated")
    rules = [rule for group in server.ask("/api/v1/rules")["groups"] for rule in group["rules"]]
    assert {rule["name"]: rule.get("lastError", "") for rule in rules if rule["health"] != "ok"} == {}


FIRING: dict[str, dict[str, str]] = {
    "PenstockDown": {'up{job="penstock",instance="i"}': "0"},
    "PenstockFailed": {'penstock_state{pipeline="p",state="failed"}': "1"},
    "PenstockLagGrowing": {'penstock_lag_growing{pipeline="p",topic="t"}': "1"},
    "PenstockBurst": {
        'penstock_lag_spike{pipeline="p",topic="t"}': "1",
        'penstock_lag_rows{pipeline="p",topic="t"}': "900",
        'penstock_batch_limit{pipeline="p"}': "100",
    },
    "PenstockHotPartition": {
        'penstock_hot_partitions{pipeline="p",topic="t"}': "1",
        'penstock_lag_rows{pipeline="p",topic="t"}': "900",
        'penstock_batch_limit{pipeline="p"}': "100",
    },
    "PenstockStuckBatch": {'penstock_batch_overdue{pipeline="p"}': "4"},
    "PenstockWaiting": {'penstock_waiting_seconds{pipeline="p"}': "31"},
    "PenstockRejects": {'penstock_reject_share{pipeline="p"}': "0.06"},
    "PenstockRetention": {
        'penstock_runway_seconds{pipeline="p",topic="t"}': "3000",
        'penstock_runway_share{pipeline="p",topic="t"}': "0.4",
    },
    "PenstockRecordsGone": {'penstock_rows_gone{pipeline="p",topic="t"}': "5"},
    "PenstockSmallFiles": {
        'penstock_files_last_hour{pipeline="p"}': "6000",
        'penstock_file_bytes{pipeline="p"}': "20000",
    },
    "PenstockNoData": {'penstock_quiet_share{pipeline="p"}': "6", 'penstock_quiet_seconds{pipeline="p"}': "1000"},
}
"""Figures that stay, and the alert that they must raise."""
CALM: dict[str, dict[str, str]] = {
    "PenstockBurst": {**FIRING["PenstockBurst"], 'penstock_batch_limit{pipeline="p"}': "1000"},
    "PenstockRetention": {**FIRING["PenstockRetention"], 'penstock_runway_share{pipeline="p",topic="t"}': "0.9"},
    "PenstockNoData": {**FIRING["PenstockNoData"], 'penstock_quiet_seconds{pipeline="p"}': "60"},
    "PenstockWaiting": {'penstock_waiting_seconds{pipeline="p"}': "0"},
}


def fires(folder: Path, alert: str, series: dict[str, str]) -> bool:
    """Whether promtool finds the alert raised, when these figures have stood for an hour."""
    rules = YAML(typ="safe").load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    [rule] = [rule for rule in rules if rule["alert"] == alert]
    alone = folder / "rules.yml"
    alone.write_text(json.dumps({"groups": [{"name": "g", "rules": [{**rule, "annotations": {}}]}]}))
    stood = [{"series": name, "values": f"{value}+0x60"} for name, value in series.items()]
    test = {
        "interval": "1m",
        "input_series": stood,
        "alert_rule_test": [{"eval_time": "1h", "alertname": alert, "exp_alerts": []}],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps({"rule_files": [str(alone)], "tests": [test]}))
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0 or "got:" in told, told
    return done.returncode != 0


@pytest.mark.parametrize("alert", FIRING)
def test_an_alert_rule_fires_when_its_figures_say_so(alert: str, tmp_path: Path) -> None:
    assert fires(tmp_path, alert, FIRING[alert])


@pytest.mark.parametrize("alert", CALM)
def test_an_alert_rule_keeps_calm_otherwise(alert: str, tmp_path: Path) -> None:
    assert not fires(tmp_path, alert, CALM[alert])


def test_every_rule_is_tried_and_promtool_finds_nothing_wrong() -> None:
    rules = YAML(typ="safe").load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == set(FIRING)
    subprocess.run([program("promtool"), "check", "rules", str(RULES)], check=True, capture_output=True)
