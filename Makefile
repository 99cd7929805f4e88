# `make demo` and `make test` are all that is needed on a fresh machine with Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# --no-compile: only what is imported gets compiled, which is a small part of torch
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt

.PHONY: demo test lint types clean

demo: $(VENV)/demo
	$(BIN)/python -m sk_equivae --output digits.png

test: $(VENV)/test lint types
	$(BIN)/python -m pytest

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable ".[plot]"
	touch $@

$(VENV)/test: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable ".[test]"
	touch $@ $(VENV)/demo

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache
