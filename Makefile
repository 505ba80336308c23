# One-line calls of `dlscale`. `make help` lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV := .venv
DLSCALE := $(VENV)/bin/python -m runners.cli

# A variable's value, as it was typed, as one word of the shell; an option where it is set.
quote = '$(subst ','\'',$(value $(1)))'
option = $(if $(value $(2)),$(1) $(call quote,$(2)))
switch = $(if $(filter-out 0 no false,$(value $(2))),$(1))

BENCH_OPTIONS = $(call option,--edition,EDITION) \
  $(call option,--nodes,NODES) $(call option,--devices,DEVICES) \
  $(call option,--cases,CASES) $(call option,--device,DEVICE) \
  $(call option,--batch,BATCH) $(call option,--precision,PRECISION) \
  $(call option,--amp-dtype,AMP_DTYPE) $(call option,--image-size,IMAGE_SIZE) \
  $(call option,--layout,LAYOUT) $(call switch,--compile,COMPILE) \
  $(call option,--strategy,STRATEGY) $(call option,--backend,BACKEND) \
  $(call option,--seed,SEED) \
  $(call option,--data,DATA) $(call option,--loader,LOADER) \
  $(call option,--workers,WORKERS) $(call option,--warmup,WARMUP) \
  $(call option,--steps,STEPS) $(call option,--repeats,REPEATS) \
  $(call option,--timeout,TIMEOUT) $(call option,--hostfile,HOSTFILE) \
  $(call option,--python,FRAMEWORK_PYTHON) $(call option,--interpreter,INTERPRETER) \
  $(call switch,--any-version,ANY_VERSION) \
  $(call option,--results,RESULTS) $(call option,--reports,REPORTS) \
  $(if $(filter-out 0 no false,$(value RESUME)),--resume $(if $(filter-out 1 yes true,$(value RESUME)),$(call quote,RESUME))) \
  $(call switch,--dry-run,DRY_RUN)

PARSE_OPTIONS = $(call switch,--csv,CSV) $(call option,--rule,RULE) $(call option,--warmup,WARMUP) \
  $(call option,--steps,STEPS) $(call option,--batch,BATCH) $(call option,--nodes,NODES) \
  $(call option,--devices,DEVICES) $(call option,--format,FORMAT)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name about; do \
	  printf '  make %-17s %s\n' "$$name" "$$about"; done

.PHONY: setup
setup: $(VENV)/.driver ## make the driver's environment in .venv

$(VENV)/.driver: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "dlscale: $(PYTHON) is not Python 3.11 or newer: name one, as in make setup PYTHON=/usr/bin/python3.12" >&2; exit 2; }
	@echo "Making dlscale's environment in $(VENV) ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.driver
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

.PHONY: bench
bench: $(VENV)/.driver ## run a benchmark: FRAMEWORK=pytorch (README, Options)
	@$(DLSCALE) bench $(if $(value FRAMEWORK),$(call quote,FRAMEWORK)) $(BENCH_OPTIONS)

.PHONY: build
build: $(VENV)/.driver ## make environments beforehand: FRAMEWORK=all
	@$(DLSCALE) build $(if $(value FRAMEWORK),$(call quote,FRAMEWORK)) $(call option,--strategy,STRATEGY) \
	  $(call option,--edition,EDITION) $(call option,--python,FRAMEWORK_PYTHON)

.PHONY: convert
convert: $(VENV)/.driver ## convert images: DATA=DIR FORM=tfrecord TO=DIR
	@$(DLSCALE) data convert $(if $(value DATA),$(call quote,DATA)) $(call option,--form,FORM) \
	  $(call option,--to,TO) $(call option,--shards,SHARDS) $(call option,--workers,WORKERS) \
	  $(call switch,--verify,VERIFY)

.PHONY: tables
tables: $(VENV)/.driver ## regenerate DLPerf's tables and plots
	@$(DLSCALE) tables

.PHONY: compare
compare: $(VENV)/.driver ## set a run beside the published figures: RUN=ID
	@$(DLSCALE) compare $(if $(value RUN),$(call quote,RUN)) $(call option,--results,RESULTS)

.PHONY: parse
parse: $(VENV)/.driver ## compute figures from raw logs: RUN=ID, or LOGS=PATH
	@$(DLSCALE) parse $(if $(value LOGS),$(call quote,LOGS),$(if $(value RUN),$(call quote,RUN))) \
	  $(call option,--results,RESULTS) $(call switch,--json,JSON) $(if $(value LOGS),$(PARSE_OPTIONS))

.PHONY: audit
audit: $(VENV)/.driver ## compute DLPerf's figures again, list what disagrees
	@$(DLSCALE) audit

.PHONY: report
report: $(VENV)/.driver ## render a run's report again: RUN=ID
	@$(DLSCALE) report $(if $(value RUN),$(call quote,RUN)) $(call option,--results,RESULTS)

.PHONY: compare-upstream
compare-upstream: $(VENV)/.driver ## measure each of our scripts beside its framework's official one
	@scripts/compare_with_upstream.sh $(BENCH_OPTIONS)

.PHONY: list
list: $(VENV)/.driver ## show the implementations and what each supports
	@$(DLSCALE) list $(call option,--edition,EDITION)

.PHONY: lint
lint: $(VENV)/.dev ## check style, formatting and types
	@$(VENV)/bin/ruff check --quiet . && $(VENV)/bin/ruff format --quiet --check . && $(VENV)/bin/mypy

# Two files of tests at once, the long ones first: a framework's ranks seldom keep two cores busy.
PARALLEL = -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: lint ## run all tests, style and types too (half an hour)
	-@$(DLSCALE) build --strategy=all
	@$(VENV)/bin/pytest $(PARALLEL) -m "not upstream"

.PHONY: test-quick
test-quick: $(VENV)/.dev ## run the tests that need no framework (seconds)
	@$(VENV)/bin/pytest $(PARALLEL) -m "not slow"

.PHONY: test-upstream
test-upstream: $(VENV)/.dev ## run each upstream script once (10 GB of environments)
	@$(VENV)/bin/pytest -m upstream

.PHONY: lock
lock: $(VENV)/.driver ## lock the dependencies again
	@sh scripts/lock.sh
