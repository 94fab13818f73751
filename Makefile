PYTHON ?= python3
MACFM_DATA ?= ../shared/data
export MACFM_DATA

TORCH := torch==2.13.0
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help venv peers impute bench bench-speed docs gallery check test test-examples test-slow test-gpu test-data test-aims test-peers lint format clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "macfm needs Python 3.11 or newer, got: $$($(PYTHON) --version 2>&1)."; \
	    echo "Name another one: make PYTHON=python3.12 ..."; exit 1; } >&2
	$(PYTHON) -m venv .venv

# torch comes first and by its exact version: its build (CPU or CUDA) is then
# settled before anything else asks for it.
.venv/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) $(TORCH)
	$(PIP) -e ".[report]"
	@touch $@

.venv/.dev: .venv/.core
	$(PIP) -e ".[dev]"
	@touch $@

venv: .venv/.dev ## create .venv with macfm and the tools to work on it

# Imputers to compare with, each in an environment of its own: they need older
# packages than macfm does. In them macfm runs from this folder; its own networks
# are not wanted there, so torch comes only where the peer itself asks for it.
PEERS := $(patsubst benchmarks/peers/%.txt,.peers/%/.done,$(wildcard benchmarks/peers/*.txt))

peers: $(PEERS) ## build .peers, the environments of other imputers

.peers/%/.done: benchmarks/peers/%.txt pyproject.toml
	$(PYTHON) -m venv --clear .peers/$*
	@if grep -q '^torch==' $<; then set -x; \
	    .peers/$*/bin/python -m pip install --disable-pip-version-check \
	    "$$(grep '^torch==' $<)"; fi
	.peers/$*/bin/python -m pip install --disable-pip-version-check -r $<
	.peers/$*/bin/python -m pip install --disable-pip-version-check --no-deps -e .
	@touch $@

impute: .venv/.core ## complete the example table into output/, with a report
	$(BIN)/python examples/impute_table.py

bench: .venv/.core ## the quick benchmark and its report, in output/
	$(BIN)/macfm bench run benchmarks/quick.toml -o output/quick.jsonl
	$(BIN)/macfm bench report output/quick.jsonl -o output/bench --force

bench-speed: .venv/.core ## seconds of fits and calls against rows and columns, in output/
	$(BIN)/python scripts/speed.py --output output/speed.json

docs: .venv/.dev ## build the documentation into site/, to be opened from there
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

gallery: .venv/.dev ## run the examples and keep their pictures for the documentation
	$(BIN)/python scripts/build_gallery.py

check: lint ## for daily work: lint, and what neither trains nor starts a process
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --quick

test: lint ## what CI runs: lint, the quick tests, the gallery's examples
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2
	$(MAKE) test-examples

test-examples: .venv/.dev ## the examples of the gallery, two at a time
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m example -n 2

test-slow: .venv/.dev ## the tests that train for longer
	$(BIN)/python -m pytest -q -m "slow and not gpu and not data" --timeout=1800

test-gpu: .venv/.dev ## the tests that need a CUDA device
	$(BIN)/python -m pytest -q -m "gpu and not data" --timeout=1800

test-data: .venv/.dev ## the tests on the tables in MACFM_DATA
	$(BIN)/python -m pytest -q -m "data and not gpu and not slow" --timeout=1800

# K=grape takes one of them; RECORDS=FILE judges the records of a benchmark instead of
# training, in seconds.
test-aims: .venv/.dev ## what the learned baselines should reach on letter and magic: hours
	MACFM_RECORDS="$(RECORDS)" $(BIN)/python -m pytest -q -rs -m "slow and data" -k "$(K)" \
	    tests/bench/test_aims.py

# Their packages warn a great deal, so that warnings are no errors here.
test-peers: peers ## the no-leak tests of the other imputers, in their environments
	@set -e; for folder in $(dir $(PEERS)); do \
	    $$folder/bin/python -m pip install -q --disable-pip-version-check \
	        pytest pytest-timeout; \
	    $$folder/bin/python -m pytest -q -W default --timeout=1800 \
	        tests/judge/methods/test_battery.py tests/judge/methods/test_laws.py \
	        -k "$$(basename $$folder)"; \
	done

lint: .venv/.dev ## check style, formatting and types, change nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev ## apply the safe fixes and the formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove outputs and caches, keep .venv
	rm -rf output site build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage htmlcov
	find src tests examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	rm -rf src/*.egg-info

distclean: clean ## remove .venv and .peers as well
	rm -rf .venv .peers
