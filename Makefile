# Every target sets up what it needs: a machine with Python >= 3.11 and make is enough.
#   PYTHON=python3.12 make test    chooses the interpreter of a new .venv

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help run demo test long slow gpu bounds compat bench check docs dist platform clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Two test workers on two cores: a thread pool inside each of them would only get in the way.
test long slow gpu bounds: export OMP_NUM_THREADS ?= 1
# Tests start many processes: where no bytecode may be kept, each of them would compile every module anew.
test long slow gpu bounds: export PYTHONDONTWRITEBYTECODE :=

run: $(VENV)/.installed-plots  ## compare the learners on embedded data; report in build/compare
	$(BIN)/ellipsoid compare digits --output build/compare

demo: $(VENV)/.installed-serve  ## a service that learns an embedded stream, to look at
	$(BIN)/ellipsoid serve --demo

test: $(VENV)/.installed-dev  ## the tests, the doctests and the examples of the documentation
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m "not long and not slow and not gpu"

long: $(VENV)/.installed-dev  ## the tests that take longer than 0.4 seconds, which a gate runs too
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m "long and not slow and not gpu"

slow: $(VENV)/.installed-dev  ## the tests that take longer than a few seconds
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m slow

gpu: $(VENV)/.installed-dev  ## the tests that need a GPU and CuPy, and those of the same code on NumPy
	$(BIN)/python -m pytest tests/device

# Checked code is slower and is kept apart. It finds an index beyond an array, which otherwise reads or writes there.
bounds: export NUMBA_BOUNDSCHECK := 1
bounds: export NUMBA_CACHE_DIR := $(CURDIR)/build/bounds-cache
bounds: $(VENV)/.installed-dev  ## the tests with every index of compiled code checked; compiles for long
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m "not slow and not gpu"

compat:  ## part of the tests with the oldest and the newest libraries that pyproject.toml allows
	$(PYTHON) tools/compat.py

bench: $(VENV)/.installed-bench  ## this library beside its peers
	$(BIN)/ellipsoid bench

check: $(VENV)/.installed-dev  ## formatting, lint, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-docs  ## the documentation in build/docs, its examples run
	$(BIN)/python -m pytest docs README.md CONTRIBUTING.md
	$(BIN)/sphinx-build -E -W --keep-going -b html docs build/docs

dist: $(VENV)/.installed-dist  ## wheel and sdist in build/dist, the wheel tried out in a new environment
	$(BIN)/python tools/dist.py build/dist

platform: dist  ## a wheel for this platform with machine code in it, tried out: its first run compiles nothing
	$(BIN)/python tools/machine_code.py build/dist/*-none-any.whl

clean:  ## remove what the targets made, except .venv
	rm -rf build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache docs/generated

# An existing .venv is kept and completed; a change of pyproject.toml installs again.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@
