# `make demo` and `make test` set up all they need in $(VENV). A machine needs git, make and Python 3.11 with venv.

PYTHON  ?= python3
WORKERS ?= 2
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
RACE    := $(VENV)/.ready-bench

.DEFAULT_GOAL := help
.PHONY: help demo test slow lint unit bench bench-quick bench-check clean constraints

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## a small database in a throw-away PostgreSQL, and what sqlsvm makes of it
	@$(BIN)/sqlsvm demo

test: lint ## lint, then the tests; CI runs `make slow` as well
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

slow: $(READY) ## the long campaigns: training, sketches, evaluation, over many problems
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow

lint: $(READY) ## ruff and mypy
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy

unit: $(READY) ## the tests that need no database
	$(BIN)/python -m pytest -n $(WORKERS) tests/unit -m "not slow"

bench: $(RACE) ## whole tasks beside what users would pick instead, 20 minutes; writes bench/RESULTS.md; MORE=1 goes on
	$(BIN)/python -m bench.run $(if $(MORE),--more)

bench-quick: $(RACE) ## the same on small tasks, about 3 minutes; writes build/bench/RESULTS.md
	$(BIN)/python -m bench.run --quick

bench-check: $(READY) ## fail where training costs more than bench/baseline.json; UPDATE=1 makes a new baseline
	$(BIN)/python -m bench.check $(if $(UPDATE),--update)

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) build dist report.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

constraints: ## resolve the dependencies anew and pin them in constraints.txt (needs uv)
	uv lock --quiet --upgrade
	uv export --quiet --all-extras --no-hashes --no-header --no-annotate --no-emit-project -o constraints.txt

# An environment that is broken, too old or without pip is made anew; any other is brought up to date in place.
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (about a minute the first time) ..."
	@$(BIN)/python -c 'import pip; $(RECENT)' 2>/dev/null || { \
	  $(PYTHON) -c '$(RECENT)' || { echo "sqlsvm needs Python 3.11 or newer: make PYTHON=/path/to/python" >&2; exit 1; }; \
	  $(PYTHON) -m venv --clear $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt -e '.[dev]'
	@touch $(READY)

# The peers of the benchmarks come on top.
$(RACE): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt -e '.[dev,bench]'
	@touch $(RACE)
