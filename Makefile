# Everything lives in .venv inside this checkout; only Python 3.11+, git and make are needed.
# PYTHON=/path/to/python3.12 make test   uses another interpreter.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q --durations=5
READY := .venv/.ready

.PHONY: demo test check soak adapters setup format clean

demo: setup            ## set everything up, then run the guided tour on our demo company
	@$(BIN)/pegboard demo

test: setup            ## set everything up, then run every test (expensive laws are sampled)
	$(PYTEST) -n 2 --dist loadfile tests
	@echo
	@echo "All tests passed. Next: 'make demo' for the guided run, 'make check' for lint, types and layers, 'make soak' for the full counts."

check: setup           ## format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/lint-imports

soak: setup            ## the expensive laws in full; closing notes quote these counts
	PEGBOARD_SOAK=1 $(PYTEST) -s tests

adapters: setup        ## the model APIs' SDKs, in an environment of their own: what goes over the wire, and their types
	@test -x .venv-wire/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venv-wire
	@$(BIN)/uv pip sync --quiet --python .venv-wire/bin/python --require-hashes tests/wire/requirements.txt
	PYTHONPATH=src .venv-wire/bin/python -m pytest -q -p no:cacheprovider tests/wire

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

setup: $(READY)

# uv installs the pinned set in seconds; pip only brings uv.
$(READY): pyproject.toml constraints.txt models/pegboard-minilm/pyproject.toml
	@echo "[1/3] virtual environment in .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Pegboard needs Python 3.11 or newer; set PYTHON=/path/to/python")'
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo "[2/3] dependencies, pinned by hash in constraints.txt"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r constraints.txt
	@echo "[3/3] Pegboard and the companion with its encoder"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . -e models/pegboard-minilm
	@touch $@

constraints:           ## pin anew after a change of dependencies
	$(BIN)/uv pip compile --quiet --universal --no-header --no-emit-index-url --generate-hashes --python-version 3.11 \
	    --extra tokens --extra accurate --extra cedar --extra telemetry --group test --group check constraints.in pyproject.toml -o constraints.txt
	$(BIN)/uv pip compile --quiet --universal --no-header --no-emit-index-url --generate-hashes --python-version 3.11 \
	    tests/wire/requirements.in pyproject.toml -o tests/wire/requirements.txt

clean:
	rm -rf .venv .venv-wire build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
