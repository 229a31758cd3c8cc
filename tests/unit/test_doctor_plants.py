"""Every diagnosis has a test that plants its fault on real components, and expects it first."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from penstock.operate.doctor import DIAGNOSES

TESTS = Path(__file__).parents[1]
RUNS, FAULTS = "broker/test_doctor_runs.py", "broker/test_doctor_faults.py"
ALERTS, SLOW = "broker/test_doctor_alerts.py", "broker/test_doctor_slow.py"
REACH, TOPICS = "broker/test_doctor_reach.py", "broker/test_doctor_topics.py"
TABLES, MACHINE = "unit/test_doctor_tables.py", "unit/test_doctor_machine.py"
PLANTS = {
    # on runs of ours that are under way, or were
    "alert_raised": (RUNS, "test_an_alert_of_the_files_own_is_told_where_nothing_else_is_wrong"),
    "burst": (ALERTS, "test_a_burst_is_alerted_and_told_first"),
    "hot_partition": (ALERTS, "test_a_hot_partition_is_alerted_and_told_first"),
    "max_rows": (RUNS, "test_batches_that_are_cut_off_while_more_comes_are_told_by_their_cap"),
    "reject_rate": (RUNS, "test_many_bad_records_are_told_with_their_code"),
    "retention": (ALERTS, "test_a_topic_about_to_lose_records_is_alerted_and_told_first"),
    "run_failed": (RUNS, "test_a_step_that_raises_is_the_error_of_the_run_that_failed"),
    "schema_parked": (RUNS, "test_records_of_a_schema_that_is_parked_are_told_before_the_rate_that_they_make"),
    "slow_sink": (SLOW, "test_a_topic_that_answers_late_is_the_slow_sink_by_name"),
    "slow_state": (SLOW, "test_a_state_on_a_slow_disk_is_told"),
    "stuck_batch": (ALERTS, "test_a_batch_that_hangs_is_alerted_and_told_first"),
    "too_frequent": (RUNS, "test_batches_of_one_row_after_another_are_too_frequent"),
    "under_provisioned": (RUNS, "test_more_than_the_step_can_do_is_told"),
    "damaged_ledger": (FAULTS, "test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped"),
    "gap_accepted": (FAULTS, "test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped"),
    "group_behind": (FAULTS, "test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped"),
    "killed": (FAULTS, "test_a_process_stopped_then_killed_in_mid_batch_is_the_cause"),
    "message_size": (FAULTS, "test_rows_too_large_for_their_topic_are_told_with_its_setting"),
    "records_gone": (FAULTS, "test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped"),
    "refused": (FAULTS, "test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped"),
    "silent": (FAULTS, "test_a_process_stopped_then_killed_in_mid_batch_is_the_cause"),
    "waiting": (ALERTS, "test_a_registry_that_is_away_is_waited_for_and_told_first"),
    # on jobs of plain Spark
    "behind": (FAULTS, "test_a_plain_spark_job_is_healthy_then_dead_then_loses_records"),
    "damaged_checkpoint": (FAULTS, "test_a_plain_spark_job_is_healthy_then_dead_then_loses_records"),
    "table_ahead": (FAULTS, "test_a_plain_spark_job_is_healthy_then_dead_then_loses_records"),
    # on brokers and topics
    "advertised": (REACH, "test_a_broker_that_sends_its_clients_nowhere_is_told"),
    "broker_away": (REACH, "test_a_broker_that_is_written_to_and_away_is_told"),
    "login": (REACH, "test_a_broker_that_wants_a_login_is_told_from_one_that_is_away"),
    "no_permission": (REACH, "test_a_topic_that_may_not_be_read_is_told_with_the_missing_permission"),
    "no_topic": (REACH, "test_a_topic_that_is_not_there_is_told_with_the_nearest_name"),
    "short_retention": (TOPICS, "test_settings_of_topics_and_brokers_that_do_not_fit_are_told"),
    "time_skew": (TOPICS, "test_records_dated_in_the_future_are_told_by_whose_clock_it_was"),
    "transaction_timeout": (TOPICS, "test_settings_of_topics_and_brokers_that_do_not_fit_are_told"),
    # on tables, disks, jars and Java of this machine
    "dead_files": (TABLES, "test_a_folder_full_of_dead_files_is_told"),
    "disk_full": (MACHINE, "test_a_disk_that_is_nearly_full_is_the_cause_of_a_wait"),
    "jars": (MACHINE, "test_a_corrupt_jar_is_the_cause"),
    "java": (MACHINE, "test_a_machine_without_java_is_told"),
    "long_log": (TABLES, "test_a_log_without_a_checkpoint_is_told"),
    "small_files": (TABLES, "test_a_table_of_small_files_is_told_and_the_command_mends_it"),
    "table_properties": (TABLES, "test_table_properties_that_do_not_fit_are_told_with_better_ones"),
    "table_unreadable": (TABLES, "test_a_table_that_cannot_be_read_is_a_diagnosis"),
}


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    found = ast.parse(path.read_text(encoding="utf-8")).body
    return {each.name: each for each in found if isinstance(each, ast.FunctionDef)}


def words(test: str, known: dict[str, ast.FunctionDef]) -> set[str]:
    """Every text that the test names, and that functions of its file name which it calls."""
    nodes = list(ast.walk(known[test]))
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    own = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return own.union(*(words(name, known) for name in called & set(known) - {test}))


def test_every_diagnosis_has_a_plant_and_no_plant_is_left_over() -> None:
    assert set(PLANTS) == {each.code for each in DIAGNOSES}


@pytest.mark.parametrize("code", PLANTS)
def test_the_plant_is_there_and_expects_its_diagnosis(code: str) -> None:
    file, test = PLANTS[code]
    assert code in words(test, functions(TESTS / file)), f"{file} {test} expects {code}"
