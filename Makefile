# Every target sets up what it needs in .venv; there is no first step.

PYTHON ?= python3
WORKERS ?= 6
SEEDS ?= 10000
MODEL_EXAMPLES ?= 2000
EXAMPLES ?= 2000
MINUTES ?= 30
PEERS_FLAGS ?=
PYTHONS ?=
REAL ?=
WHOLE ?=
# Tests start hundreds of processes, which would all compile the same modules.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -q

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo quick test test-slow test-pythons test-deploy test-browser simulate model explore chaos soak healthy mutate fuzz check format bench bench-scale bench-scaling experiments bench-peers crash-peers \
	stubs constraints docs sbom clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

demo: $(VENV)/.installed-run ## watch bulk work being spread over workers, while small groups pass it
	$(BIN)/queuepool demo

# What every change can wait for: no server, nothing that measures time or is thorough.
quick: check ## run every check, unit tests, and contract tests in memory: under a minute
	$(PYTEST) -n 4 --dist loadgroup -m "not slow and not serial and not server and not thorough" \
		tests/unit tests/contract

# Tests wait for servers and processes for two thirds of their time: three for a core keep both
# cores of a small machine busy. Those of one xdist_group stay on one worker. Faults of real
# processes are sensitive to a busy machine, so they run apart, and tests that measure time follow
# alone. Exit code 5 is "none selected".
FAULTS := tests/chaos/test_faults.py
test: check ## run every check and all tests that take seconds
	$(PYTEST) -n $(WORKERS) --dist loadgroup -m "not slow and not serial" --ignore=$(FAULTS)
	$(PYTEST) -n 3 $(FAULTS)
	$(PYTEST) -m "serial and not slow" || [ $$? -eq 5 ]

simulate: $(VENV)/.installed-dev ## run 10,000 seeds of the simulation, and every crash point
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)
	$(BIN)/python -m tests.simulation.crash_points

test-slow: $(VENV)/.installed-dev ## run the tests that take minutes
	$(PYTEST) -m slow

test-pythons: $(VENV)/.installed-dev ## unit and contract tests on Python 3.11 to 3.15 (PYTHONS=3.14 WHOLE=1)
	$(BIN)/python -m tools.pythons $(PYTHONS) $(if $(WHOLE),--whole) --workers $(WORKERS)

# Only this starts a container engine, where none runs and root on Debian may install one: its daemon
# changes the machine's packet filter.
test-deploy: $(VENV)/.installed-deploy ## check deploy/, build the image, run a cluster of containers and kill parts of it
	$(PYTEST) -n $(WORKERS) --dist loadgroup tests/deploy
	$(BIN)/python -m tests.deploy.real

test-browser: $(VENV)/.installed-browser ## the page in a real Chromium, which root on Debian gets; --picture: python -m tests.browser
	$(BIN)/python -m tests.browser

model: $(VENV)/.installed-dev ## walk every script beside a model, MODEL_EXAMPLES=2000 times 80 steps
	MODEL_EXAMPLES=$(MODEL_EXAMPLES) MODEL_STEPS=80 $(PYTEST) tests/property/test_model.py -k say

explore: $(VENV)/.installed-dev ## run all property tests on new random examples, EXAMPLES=2000 of each
	EXAMPLES=$(EXAMPLES) $(PYTEST) -n $(WORKERS) --dist loadgroup -m hypothesis --ignore=tests/property/test_model.py

chaos: $(VENV)/.installed-dev ## kill, stop and cut off real processes, many times; writes docs/reliability.md
	$(BIN)/python -m tests.chaos --write

soak: $(VENV)/.installed-dev ## steady load and a random fault a minute, for MINUTES=30: nothing may grow
	$(BIN)/python -m tests.chaos.soak --minutes $(MINUTES)

mutate: $(VENV)/.installed-dev ## drop each line of each Lua file: a test must notice; goes on with .mutants.jsonl; writes docs/reliability.md
	$(BIN)/python -m tests.mutation --jobs 2 --record .mutants.jsonl --write

healthy: $(VENV)/.installed-dev ## a healthy cluster whose workers are all busy, for MINUTES=60: the doctor may find nothing
	$(BIN)/python -m tests.e2e.healthy --minutes $(if $(filter command line,$(origin MINUTES)),$(MINUTES),60)

fuzz: $(VENV)/.installed-fuzz ## feed odd bytes to all that reads bytes, guided by coverage, for MINUTES=60
	$(BIN)/python -m tests.fuzz --minutes $(if $(filter command line,$(origin MINUTES)),$(MINUTES),60)

check: $(VENV)/.installed-dev ## lint, format, types, import rules, generated code, file sizes
	$(BIN)/python -m tools.check

format: $(VENV)/.installed-dev ## fix what ruff can fix
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## measure rates, waits and costs; write the table of docs/performance.md
	$(BIN)/python -m benchmarks --write

bench-scaling: $(VENV)/.installed-bench ## measure 8 -> 64 -> 8 workers over 100,000 jobs, with a chart
	$(BIN)/python -m benchmarks.scaling

bench-scale: $(VENV)/.installed-bench ## measure what must not grow: 4,000 partitions, idle consumers, producers, dead jobs
	$(BIN)/python -m benchmarks.scale --write

experiments: $(VENV)/.installed-dev ## run the experiments of docs/experiments.md, and write its charts (REAL=20000)
	$(BIN)/python -m benchmarks.experiments --write $(if $(REAL),--real $(REAL))

bench-peers: $(VENV)/.installed-bench ## measure other job queues beside ours; PEERS_FLAGS=--write keeps the tables
	$(BIN)/python -m benchmarks.peers $(PEERS_FLAGS)

crash-peers: $(VENV)/.installed-bench ## kill the workers of other queues and ours; writes docs/reliability.md
	$(BIN)/python -m benchmarks.peers --only crash --out benchmarks/results/crash-peers.json \
		--write $(PEERS_FLAGS)

stubs: $(VENV)/.installed-dev ## generate the stubs of queuepool/rpc from proto/ again
	$(BIN)/python -m tools.stubs --write

constraints: $(VENV)/.installed-dev ## resolve constraints.txt anew, for every platform at once
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --all-extras --upgrade --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --no-header pyproject.toml -o constraints.txt

docs: $(VENV)/.installed-docs ## build the documentation as a site: build/site; no link may be broken
	$(BIN)/python -m tools.site

sbom: $(VENV)/.installed-dev ## list what queuepool runs on, with versions and licences: build/sbom.cdx.json
	$(BIN)/python -m tools.sbom --out build/sbom.cdx.json

clean: ## remove the environment, caches and builds
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of extras. Rerun only when what is installed has changed.
EXTRAS_run := [web]
EXTRAS_dev := [dev,gen]
EXTRAS_bench := [bench]
EXTRAS_docs := [docs]
EXTRAS_deploy := [dev,gen,deploy]
EXTRAS_browser := [dev,browser]
EXTRAS_fuzz := [dev,gen,fuzz]

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.$(EXTRAS_$*)'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "queuepool needs Python 3.11 or newer, and $(PYTHON) is: $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) has no working venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
