# `make demo` and `make test` are all that is needed on a fresh machine with Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# CONSTRAINTS=/dev/null takes the newest torch
CONSTRAINTS ?= constraints.txt
# --no-compile: only what is imported gets compiled, which is a small part of torch
INSTALL := -m pip install --quiet --no-compile --constraint

# the lowest versions in pyproject.toml are those of the lowest Python
LOWEST_PYTHON ?= python3.11
LOWEST := .venv-lowest

.PHONY: demo test test-lowest lint types imports clean

demo: $(VENV)/demo
	$(BIN)/python -m sk_equivae --output digits.png

test: $(VENV)/test lint types imports
	$(BIN)/python -m pytest

# old packages use what newer ones, not pinned here, deprecate
test-lowest: $(LOWEST)/test
	$(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning

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

$(LOWEST)/test: pyproject.toml .ci/lowest.py
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST_PYTHON) .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(INSTALL) $(LOWEST)/constraints.txt --editable ".[test]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build dist docs/_build *.egg-info
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
