# Everything lives in .venv inside this checkout; only Python 3.11+, git and make are needed.
# PYTHON=/path/to/python3.12 make test   uses another interpreter.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q --durations=5
READY := .venv/.ready
ADAPTERS := clients langchain pydantic_ai openai_agents llama_index google_adk strands
PINS := tests/integrations/requirements
CLIENTS := mcp_1 fastmcp langchain openai_agents
CLIENT_PINS := tests/clients/requirements

.PHONY: demo test check soak adapters mcp-clients node conformance described setup format constraints clean
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

mcp-clients: $(CLIENTS:%=.venvs/client-%/.ready)   ## other people's MCP clients, each in an environment of its own
	-@$(MAKE) --silent node
	PEGBOARD_CLIENTS=.venvs $(PYTEST) -p no:cacheprovider tests/clients

.venvs/client-%/.ready: $(CLIENT_PINS)/%.txt | $(READY)
	@test -x .venvs/client-$*/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venvs/client-$*
	@$(BIN)/uv pip sync --quiet --python .venvs/client-$*/bin/python --require-hashes $<
	@touch $@

node: .venvs/node/.ready   ## the Inspector and the conformance suite, with a Node of their own; fails without npm's registry

.venvs/node/.ready: $(CLIENT_PINS)/package.json $(CLIENT_PINS)/package-lock.json .venvs/node/bin/npm
	@cp $(CLIENT_PINS)/package.json $(CLIENT_PINS)/package-lock.json .venvs/node/
	@cd .venvs/node && bin/npm ci --loglevel=error --ignore-scripts --fetch-retries=1
	@touch $@

.venvs/node/bin/npm: $(CLIENT_PINS)/node.txt | $(READY)
	@test -x .venvs/node/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venvs/node
	@$(BIN)/uv pip sync --quiet --python .venvs/node/bin/python --require-hashes $<
	@touch $@

SUITE := .venvs/node/node_modules/@modelcontextprotocol/conformance/dist/index.js

conformance: setup node   ## the public MCP conformance suite against the gateway and the client
	$(BIN)/python -m tests.conformance .venvs/node/bin/node $(SUITE)

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
	    --extra tokens --extra accurate --extra vectors --extra cedar --extra telemetry --group test --group check constraints.in pyproject.toml -o constraints.txt
	@for name in $(ADAPTERS); do \
	    $(BIN)/uv pip compile --quiet --universal --no-header --no-emit-index-url --generate-hashes --python-version 3.11 \
	        $$(case $$name in \
	            clients) echo $(PINS)/clients.in ;; \
	            strands) echo $(PINS)/strands.in --override $(PINS)/strands.override ;; \
	            *) echo --extra $$name ;; esac) \
	        $(PINS)/test.in pyproject.toml -o $(PINS)/$$name.txt || exit 1; \
	done
	@for name in $(CLIENTS) node; do \
	    $(BIN)/uv pip compile --quiet --universal --no-header --no-emit-index-url --generate-hashes --python-version 3.11 \
	        $(CLIENT_PINS)/$$name.in -o $(CLIENT_PINS)/$$name.txt || exit 1; \
	done
	@$(MAKE) --silent .venvs/node/bin/npm
	@cd $(CLIENT_PINS) && $(CURDIR)/.venvs/node/bin/npm install --silent --package-lock-only --ignore-scripts \
	    --omit-lockfile-registry-resolved

clean:
	rm -rf .venv .venvs build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
