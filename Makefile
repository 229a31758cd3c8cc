# penstock. `make` lists the targets; each one sets up what it needs (.venv, Java, jars) on a machine that has Python 3.11+.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# What makes .venv: the first of these that is 3.11 or newer. Name another with  make PYTHON=/path/to/python3 ...
PYTHON ?= $(shell for p in .venv/bin/python python3.13 python3.12 python3.11 python3; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)
BIN := .venv/bin
# Tests of one file run one after the other, files at once: each worker has a Spark session and a Kafka of its own.
WORKERS ?= 2
# tests/browser is not among them: it needs a browser, which `make browser` finds or fetches.
TESTS := $(wildcard $(addprefix tests/,unit spark contracts broker pipelines docs faults))

.PHONY: help setup demo test lint types unit spark broker faults browser bench bench-quick native native-wheel fuzz format reference lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## virtual environment, pinned packages, Java if there is none, jars; nothing the second time
	@python="$(PYTHON)"; test -n "$$python" || { echo "setup: no Python 3.11 or newer on the PATH. Install one, or:  make PYTHON=/path/to/python3 setup" >&2; exit 1; }; \
	"$$python" scripts/setup.py

demo: setup ## Kafka, a payments stream, a pipeline killed in mid-batch, and the proof that nothing was lost or doubled
	@$(BIN)/penstock demo

test: lint types native ## lint, types and every test but the slow ones
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" $(TESTS)

lint: setup ## ruff: style and format
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup ## mypy --strict
	@$(BIN)/mypy

unit: native ## tests without a JVM: seconds
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile tests/unit

spark: setup ## formats, checks and sinks in one local Spark session
	@$(BIN)/python -m pytest tests/spark tests/contracts

broker: setup ## tests with a real Kafka
	@$(BIN)/python -m pytest tests/broker tests/pipelines

faults: setup ## kill -9 at every step of a batch, all of them
	@DEADLINE_SECONDS=300 $(BIN)/python -m pytest tests/faults tests/broker/test_remote_state.py tests/contracts/test_ledger_files.py

browser: setup ## the dashboard in a real Chromium, with a pipeline that runs; finds or fetches the browser
	@$(BIN)/python scripts/browser.py

slow: native ## the tests that `make test` leaves out, all of them: long fuzzing, long outages, every fault (hours)
	@DEADLINE_SECONDS=300 EXAMPLES=chance $(BIN)/python -m pytest -m slow $(TESTS)

bench: native ## every peer, penstock with and without its native decoder, limits; into bench/results (45 minutes)
	@$(BIN)/python -m bench.main

bench-quick: native ## the main job of the benchmark: the tutorial's way and ours, side by side
	@$(BIN)/python -m bench.quick

native: setup ## the JSON decoder in Rust, into .venv; where there is no cargo, a line that says so
	@$(BIN)/python scripts/native.py

native-wheel: setup ## a wheel of it for a release, into dist/
	@$(BIN)/python scripts/native.py --wheel

fuzz: native ## both JSON decoders on mutated records, until something differs:  make fuzz MINUTES=10
	@$(BIN)/python -m native.fuzz.compare $(or $(MINUTES),2)

format: setup ## rewrite the sources in the project's style
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

reference: setup ## the reference page and the JSON Schema of the pipeline file, made afresh from the options models
	@$(BIN)/python scripts/reference.py

lock: setup ## new versions of the pinned packages: rewrites requirements*.lock
	@scripts/lock.sh

clean: ## remove .venv and what tests leave; the shared cache of jars stays
	@rm -rf .venv .venv-peers .venv-flink .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
