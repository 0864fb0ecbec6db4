# Every recipe of the project. `make help` lists them; CI and pre-commit call the same ones.
# PYTHON=/path/to/python3.12 chooses the interpreter; ARGS="…" is handed to pytest, the demo and the benchmarks.

PYTHON ?=
ARGS ?=
VENV := .venv
DEMO_VENV := .venv-demo
LOWEST_VENV := .venv-lowest
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(DEMO_VENV)/.ready
EVAL_READY := $(VENV)/.ready-eval
CODE := src tests scripts benchmarks evals examples

export PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-local test-lowest check format format-check lint types layers docs bench eval-local figures proofs lock clean

help: ## list the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## create .venv: the project (editable), all extras, the development tools

$(READY): pyproject.toml
	@python=$$(sh scripts/find_python) && { $(BIN)/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev --group docs
	@$(BIN)/python scripts/fetch_test_servers.py >/dev/null || echo "no MCP server from npm: its tests are skipped"
	@touch $@

$(DEMO_READY): pyproject.toml
	@python=$$(sh scripts/find_python) && { $(DEMO_VENV)/bin/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv $(DEMO_VENV); }
	@echo "Installing Surehand with its command line into $(DEMO_VENV) …"
	$(DEMO_VENV)/bin/python -m pip install --quiet --editable '.[cli]'
	@touch $@

$(EVAL_READY): $(READY)
	$(BIN)/python -m pip install --quiet --group eval
	@touch $@

demo: ## a guided tour that needs no key and no development tools
	@if [ -f $(READY) ]; then $(BIN)/surehand demo $(ARGS); \
	else $(MAKE) --no-print-directory --silent $(DEMO_READY) && $(DEMO_VENV)/bin/surehand demo $(ARGS); fi

test: $(READY) ## the tests, without the slow ones and those of the embedded model
	$(BIN)/python -m pytest $(ARGS)

test-slow: $(READY) ## the tests that take longer than a few seconds
	$(BIN)/python -m pytest -m slow $(ARGS)

test-local: $(READY) ## the tests that run the embedded model
	SUREHAND_LOCAL_MODEL="$${SUREHAND_LOCAL_MODEL:-$$($(BIN)/python scripts/fetch_test_model.py)}" \
	$(BIN)/python -m pytest -m local $(ARGS)

test-lowest: $(READY) ## the tests with the oldest versions of the dependencies that we accept
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST_VENV)
	$(BIN)/uv pip install --quiet --python $(LOWEST_VENV)/bin/python --resolution lowest-direct \
		--editable '.[anthropic,cli,draw,google,jsonschema,langchain,langgraph,mcp,openai,openapi,postgres]'
	$(BIN)/uv pip install --quiet --python $(LOWEST_VENV)/bin/python --group dev
	$(LOWEST_VENV)/bin/python -m pytest $(ARGS)

check: format-check lint types layers docs ## format, lint, types, layers, docs; changes nothing

format: $(READY) ## put the code in form
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

format-check: $(READY) ## is the code in form?
	$(BIN)/ruff format --check $(CODE)

lint: $(READY) ## ruff
	$(BIN)/ruff check $(CODE)

types: $(READY) ## mypy and pyright, both strict
	$(BIN)/mypy
	$(BIN)/pyright

layers: $(READY) ## the import contracts
	$(BIN)/lint-imports --no-cache

docs: $(READY) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(READY) ## overhead per call, beside LangGraph and the bare floor
	$(BIN)/python -m benchmarks $(ARGS)

eval-local: $(EVAL_READY) ## how far the embedded model gets with us and with others; writes the table into the docs
	SUREHAND_LOCAL_MODEL="$${SUREHAND_LOCAL_MODEL:-$$($(BIN)/python scripts/fetch_test_model.py)}" \
	$(BIN)/python -m evals --write $(ARGS)

figures: $(READY) ## our size figures beside those of codebases we admire
	$(BIN)/python scripts/figures.py

proofs: $(READY) ## write into the docs which tests prove which requirement and behaviour
	$(BIN)/python scripts/proofs.py

lock: $(READY) ## renew uv.lock from pyproject.toml, against the public index
	$(BIN)/uv lock --no-config --default-index https://pypi.org/simple

clean: ## remove what the recipes made
	rm -rf $(VENV) $(DEMO_VENV) $(LOWEST_VENV) site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
