# `make demo` and `make test` are all that is needed on a fresh machine with Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# CONSTRAINTS=/dev/null takes the newest torch
CONSTRAINTS ?= constraints.txt
# two processes take the tests from a common store; those marked serial follow, one at a time
WORKERS ?= 2
PARALLEL := -m "not serial" --numprocesses $(WORKERS) --dist worksteal
# --no-compile: only what is imported gets compiled, which is a small part of torch
INSTALL := -m pip install --quiet --no-compile --constraint

# the lowest versions in pyproject.toml are those of the lowest Python
LOWEST_PYTHON ?= python3.11
LOWEST := .venv-lowest

.PHONY: demo docs test test-lowest lint types imports clean

demo: $(VENV)/demo
	$(BIN)/python -m sk_equivae demo --output digits.png

# several threads in each of two processes would compete for the cores
test test-lowest: export OMP_NUM_THREADS = 1

test: $(VENV)/test lint types imports
	$(BIN)/python -m pytest $(PARALLEL)
	$(BIN)/python -m pytest -m serial

# the site in docs/_build/html; warnings are errors, and links are checked
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -W --keep-going -j auto -q -b html docs docs/_build/html
	$(BIN)/python docs/_ext/links.py docs/_build/html

# old packages use what newer ones, not pinned here, deprecate
test-lowest: $(LOWEST)/test
	$(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning $(PARALLEL)
	$(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning -m serial

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test
	$(BIN)/mypy

imports: $(VENV)/test
	$(BIN)/lint-imports

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) $(CONSTRAINTS) --editable ".[plot]"
	touch $@

$(VENV)/test: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) $(CONSTRAINTS) --editable ".[test]"
	touch $@ $(VENV)/demo

$(VENV)/docs: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) $(CONSTRAINTS) --editable ".[docs]"
	touch $@ $(VENV)/demo

$(LOWEST)/test: pyproject.toml .ci/lowest.py
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST_PYTHON) .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(INSTALL) $(LOWEST)/constraints.txt --editable ".[test]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build dist *.egg-info
	rm -rf docs/_build docs/generated docs/gallery docs/start docs/sg_execution_times.rst
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
