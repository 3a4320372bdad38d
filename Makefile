# Everything a checkout can do. On a fresh machine: Python 3.11 to 3.13 and Java 17 or 21, nothing else.

VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c "import sys; print('$(p)' if (3, 11) <= sys.version_info[:2] < (3, 14) else '')" 2>/dev/null)))
JAVA   := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

.DEFAULT_GOAL := help
.PHONY: help setup java demo check unit test proof bless bench scoreboard clean

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

setup: $(READY) ## the environment in .venv; does nothing when it is up to date

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "schemaman needs Python 3.11, 3.12 or 3.13 on the PATH; or name one: make PYTHON=/path/to/python" >&2; exit 3; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing schemaman and its tools into $(VENV) …" >&2
	@$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	@mkdir -p build/typing && ln -sfn ../../cli build/typing/schemaman_cli
	@touch $(READY)

java:
	@$(JAVA) -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || { echo "schemaman needs Java 17 or newer for Spark: install one (Debian: apt install openjdk-17-jre-headless) or point JAVA_HOME at it" >&2; exit 3; }

demo: java setup ## the whole chain on recorded streams, up to ALTERs on real Delta and Iceberg tables
	@$(BIN)/schemaman demo

check: setup ## lint, format, types, layers: under a minute, no Java
	@$(BIN)/mypy --no-error-summary > build/mypy.txt & types=$$!; failed=0; \
	  $(BIN)/ruff check --quiet . || failed=1; \
	  $(BIN)/ruff format --quiet --check . || { echo "ruff format would change files: run .venv/bin/ruff format ." >&2; failed=1; }; \
	  $(BIN)/lint-imports > build/layers.txt || { cat build/layers.txt; failed=1; }; \
	  wait $$types || { cat build/mypy.txt; failed=1; }; exit $$failed

unit: setup ## tests that need neither Java nor servers, with small fixed seeds: a few minutes
	@$(BIN)/python -m pytest -q -m "not servers" --ignore tests/spark --ignore tests/jvm --ignore tests/live \
	  --numprocesses auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

test: java setup check ## everything, with small fixed seeds; CI runs this
	@$(BIN)/python -m pytest -q --numprocesses 3 --dist loadscope --no-loadscope-reorder

proof: java setup check ## everything at full counts, in a browser too (Chromium); the figures go to docs/proof.md
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || { echo "make proof looks at the report in a browser: install Chromium (Debian: apt install chromium)" >&2; exit 3; }
	@$(BIN)/python -m pip install --quiet --editable '.[proof]'
	@$(BIN)/python -m tests.proof

bless: java setup ## write what comes out into stories and golden files; read the diff
	@$(BIN)/python -m pytest -q --bless

bench: setup ## what it costs, as ratios
	@$(BIN)/python -m bench
	@$(BIN)/python -m bench.scale

scoreboard: setup ## what the histories of all recordings say beside the truth; fails when a fact is wrong
	@$(BIN)/python -m tests.truth.scoreboard

clean: ## remove what this Makefile made
	@rm -rf $(VENV) build schemaman-demo
