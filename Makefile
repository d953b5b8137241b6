# make run        everything from nothing: address and sign-in are printed (PORT, HOST, FSBENCH_DATA)
# make tools      what benchmarks need of this machine where there is no Docker (sudo make tools)
# make test       installs what the tests need, then lint and the whole suite (root on Debian)
# make test-quick lint and the tests that need neither Docker, Chromium, PostgreSQL nor root
# make test-contenders  guests with ZFS, and kernels and tools of other releases of Debian (slow, downloads)
# make docs       the pages of docs/ as a site in .cache/docs, and the links to other hosts
# make audit      pins, licences, yanked versions, known vulnerabilities (asks the package index)
# make lint  make format  make lock  make image  make clean

.DEFAULT_GOAL := help
.SHELLFLAGS := -ec
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:

# The first Python of 3.11 or newer. Choose another with: make run PYTHON=/path/to/python3
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

PY := .venv/bin/python
# A stamp is named after what it stands for, so that other requirements are another file.
digest = $(shell cat $(1) | cksum | cut -d' ' -f1)
INSTALLED := .venv/.installed-$(call digest,requirements.txt)
INSTALLED_DEV := .venv/.installed-dev-$(call digest,requirements.txt requirements-dev.txt)

.PHONY: help run test test-quick test-beside test-contenders test-packages python test-prepared lint format lock image tools docs audit clean

help:
	@sed -n 's/^# \(make .*\)/  \1/p' Makefile

run: $(INSTALLED)
	@exec $(PY) manage.py serve

$(INSTALLED):
	@sh deploy/environment.sh "$(PYTHON)" requirements.txt
	@touch $@

$(INSTALLED_DEV):
	@sh deploy/environment.sh "$(PYTHON)" requirements.txt requirements-dev.txt
	@touch $(INSTALLED) $@

# The whole suite on SQLite: disks, daemons, machines and browsers beside each other, and files that
# need none of them between (conftest.py). These wait more than they compute; lint and everything
# that touches the database, on PostgreSQL, have the time that they leave, and are shown at the end.
# What fails is run once more by itself (rerun_failed.py). An interrupt reaches each process once: a second
# one would end the ends of fixtures. PostgreSQL's part is one process: a second one would collect and make a
# database for 9 seconds of a processor, and both are busy.
SERVICES := docker or browser or postgres or redis or root or systemd or install
ON_TWO_CORES := -n 2 --dist loadfile
IN_LANES := -n 5 --dist loadgroup --after-database
# Every process of the tests would compile them anew where the environment says to keep nothing, and
# all of them at once where nobody did it before: on a new checkout one does, beside style and types.
COMPILED := .venv/.compiled
# A session has as much of the processors as each other one, whatever nice says of its processes, where
# the kernel groups them (sched_autogroup): then its group has to give way.
GIVES_WAY := [ ! -w /proc/self/autogroup ] || echo 8 2>/dev/null >/proc/self/autogroup
test test-quick test-beside: export PYTHONDONTWRITEBYTECODE :=
test: test-prepared
	@echo "== on SQLite, with real disks, daemons and browsers"
	@said=$$(mktemp); failed=0; \
		setsid nice -n 5 sh -c '$(GIVES_WAY); exec $(MAKE) test-beside' >"$$said" 2>&1 & beside=$$!; \
		setsid sh -c '$(MAKE) $(COMPILED) && \
			exec $(PY) -m tests.rerun_failed -q $(IN_LANES) --durations=10' & there=$$!; \
		trap 'kill -INT -$$there || true; kill -- -$$beside || true; wait; rm -f "$$said"; exit 1' INT TERM; \
		wait $$there || failed=$$?; wait $$beside || failed=$$?; \
		cat "$$said"; rm -f "$$said"; exit $$failed

$(COMPILED): $(INSTALLED_DEV)
	@said=$$($(PY) -m pytest -q --collect-only 2>&1) || { echo "$$said" | tail -n 100; exit 1; }
	@touch $@

test-beside: $(INSTALLED_DEV)
	@failed=0; echo "== style and types"; $(MAKE) lint || failed=$$?; echo "== on PostgreSQL"; \
		$(PY) -m tests.services $(PY) -m tests.rerun_failed -q --database || failed=$$?; \
		exit $$failed

test-quick: $(INSTALLED_DEV) lint
	@$(PY) -m pytest -q $(ON_TWO_CORES) -m "not ($(SERVICES))"

# Real guests of what Debian 12 has not: an hour and more, and what it downloads is kept.
test-contenders: test-prepared
	@$(PY) -m pytest -q --contenders --durations=20 tests/contenders

test-packages:
	@tests/services/install.sh

# Before anything is downloaded for it.
python:
	@[ -n "$(PYTHON)" ] || sh deploy/environment.sh ""

# Packages and environment beside each other, where this Python can make one already.
test-prepared: python
	@if "$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null; then \
		$(MAKE) $(INSTALLED_DEV) & there=$$!; $(MAKE) test-packages; wait $$there; \
	else $(MAKE) test-packages; $(MAKE) $(INSTALLED_DEV); fi

lint: $(INSTALLED_DEV)
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@.venv/bin/lint-imports
	@$(PY) tools/prose.py
	@export FSBENCH_DATA=$$(mktemp -d); trap 'rm -rf "$$FSBENCH_DATA"' EXIT; \
		$(PY) manage.py makemigrations --check --dry-run --skip-checks && $(PY) manage.py check

format: $(INSTALLED_DEV)
	@$(PY) -m ruff check --fix
	@$(PY) -m ruff format

LOCK_OPTIONS := --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-find-links
lock: $(INSTALLED_DEV)
	@$(PY) -m piptools compile $(LOCK_OPTIONS) --output-file=requirements.txt requirements.in
	@$(PY) -m piptools compile $(LOCK_OPTIONS) --output-file=requirements-dev.txt requirements-dev.in

image:
	@PYTHON="$(PYTHON)" runner/image/build

# Without the virtual environment, and without leaving files of root in the checkout.
tools: python
	@"$(PYTHON)" -B deploy/install_tools.py

docs: $(INSTALLED_DEV)
	@$(PY) -m mkdocs build --strict --quiet
	@echo "The pages are in .cache/docs/index.html. They link to these places elsewhere:"
	@grep -rhoE 'href="https?://[^"]+"' .cache/docs --include=*.html | sort -u | sed 's/^href=/  /'

# pip-audit has an environment of its own: what it needs is not what fsbench needs.
AUDIT := .cache/audit/bin/pip-audit
$(AUDIT):
	@rm -rf .cache/audit && "$(PYTHON)" -m venv .cache/audit
	@.cache/audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit==2.10.*'

audit: $(INSTALLED_DEV) $(AUDIT)
	@$(PY) tools/audit.py

clean:
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
