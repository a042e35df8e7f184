# Every target sets up its own virtual environment from nothing but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARMIN_DATA ?= $(abspath $(wildcard ../shared/data))
export ARMIN_DATA
EXTRAS := plot,xgboost,lightgbm,catboost,interpret,statsmodels,onnx,dask,gurobi,bundle,parquet
SEED ?= 1
WORKERS ?= 2
DOCTESTS = $(if $(EDITABLE),src desk/src,--pyargs armin armin_desk)
# one thread per test worker: the workers share the cores
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

# the releases that the tests last passed with, for the Python that they were resolved for; elsewhere pip decides
PINNED := 3.11
PINS := $(shell $(PYTHON) -c 'import sys; print("--constraint .ci/constraints.txt" if "%d.%d" % sys.version_info[:2] == "$(PINNED)" else "")')

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# EDITABLE= installs a copy, as users have it
EDITABLE ?= --editable
WANTED = $(EDITABLE) ".[$(EXTRAS)]" $(EDITABLE) "./desk[pdf]" --group test --group readers

.PHONY: lock sbom audit demo test test-shuffled test-slow test-oldest test-bare lint types contract unit bench fuzz fuzz-e2e \
	mutants paper paper-pages paper-quick docs clean same same-record law walk

demo: $(READY)
	@$(BIN)/armin demo

test: lint types contract unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contract: $(READY)
	$(BIN)/lint-imports --no-cache

unit: $(READY)
	$(PYTEST) -n $(WORKERS) --dist loadfile -m "not slow" $(ORDER) tests $(DOCTESTS)

# the same in a random order: make test-shuffled SEED=7 WORKERS=1
test-shuffled: ORDER := --random-order --random-order-bucket=global --random-order-seed=$(SEED)
test-shuffled: unit

test-slow: $(READY)
	$(PYTEST) -n 2 --dist loadfile -m "slow" tests

# the oldest supported releases, and none of the optional libraries
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[plot,parquet]" --editable ./desk --group test --group oldest
	$(subst $(BIN),.venv-oldest/bin,$(PYTEST)) -n 2 --dist loadfile -m "not slow" tests

test-bare:
	$(PYTHON) -m venv .venv-bare
	.venv-bare/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-bare/bin/python -m pip install --quiet --disable-pip-version-check --editable . pytest hypothesis
	$(subst $(BIN),.venv-bare/bin,$(PYTEST)) -m "not slow" tests/laws/test_laws.py tests/explain/test_refusals.py tests/explain/test_views.py tests/schema/test_rules.py

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group peers
	$(BIN)/python -m lab.benchmarks.engine --json out/engine.json
	$(BIN)/python -m lab.benchmarks.engine --end-to-end --json out/peers.json
	$(BIN)/python -m lab.benchmarks.samplers --json out/samplers.json
	$(BIN)/python -m lab.benchmarks.promise --out out/promise.jsonl
	$(BIN)/python -m lab.benchmarks.load --json out/load.json

# every figure and table of the paper; stopped early, it has small tables in full, and goes on where it was
paper: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group peers
	$(BIN)/python -m lab.experiments run all --jobs 2 --resume
	$(BIN)/python -m lab.experiments pack
	$(BIN)/python -m lab.experiments report --out lab/experiments/rows

# all pages and figures from the rows that are kept, without running anything
paper-pages: $(READY)
	$(BIN)/python -m lab.experiments report --out lab/experiments/rows

# the same with a few people per cell, written to out/paper-quick
paper-quick: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group peers
	$(BIN)/python -m lab.experiments run all --quick --jobs 2
	$(BIN)/python -m lab.experiments report --quick

# faults put into the code one at a time: make mutants ROOM=promise COUNT=60; COUNT=0 tries every one
ROOM ?= all
COUNT ?= 60
mutants: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m lab.benchmarks.mutants --room $(ROOM) --count $(COUNT) --json out/mutants.json

# every engine on every goal against plain brute force, on hard cases: make fuzz SECONDS=3600 JOBS=2
SECONDS ?= 3600
JOBS ?= 1
fuzz: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m lab.benchmarks.fuzz --seconds $(SECONDS) --jobs $(JOBS) --json out/fuzz.json

# random tables, pipelines, models and questions against the user's own model: make fuzz-e2e SECONDS=3600 JOBS=1
fuzz-e2e: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m lab.benchmarks.fuzz_e2e --seconds $(SECONDS) --jobs $(JOBS) --json out/fuzz-e2e.json

# answers, speed and size of this tree beside those of a commit: see lab/README.md
LAB := PYTHONPATH=src:desk/src:. OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m

# whether all answers are still the same, to the last digit: make same-record REF=main, then make same after each step
same-record: $(READY)
	$(LAB) lab.same record $(REF)

same: $(READY)
	$(LAB) lab.same

# CPU time, proofs and first plans in turn with a commit: make law REF=main~1
law: $(READY)
	$(LAB) lab.law $(REF)

# functions, files and packages on the way of one answer; lines, names and imports
walk: $(READY)
	$(LAB) lab.walk

# pins for CI, from an environment that pip resolves anew by pyproject.toml alone
lock:
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]" --editable "./desk[pdf]" --group test --group readers --group audit
	{ sed -n '/^#/p' .ci/constraints.txt; .venv-lock/bin/python -m pip freeze --exclude-editable | grep '=='; } > .ci/constraints.new
	mv .ci/constraints.new .ci/constraints.txt
	rm -rf .venv-lock

# what the package is made of, as CycloneDX JSON
sbom: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINS) --group audit
	mkdir -p out
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o out/sbom.json $(BIN)/python

# known holes in what is installed; needs a network that reaches a database of advisories
audit: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINS) --group audit
	$(BIN)/pip-audit --strict --skip-editable --progress-spinner off

docs: $(READY)
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) .venv-lock .venv-oldest .venv-bare out .pytest_cache .mypy_cache .ruff_cache .hypothesis

# A stamp, so that the environment is made once and made again when the project file changes.
$(READY): pyproject.toml desk/pyproject.toml .ci/constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("ARMIN needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(INSTALL) $(PINS) $(WANTED) || { [ -z "$(STRICT)" ] && echo "The pins cannot be had here: pip decides." >&2 && $(INSTALL) $(WANTED); }
	@touch $@
