# All tasks of a checkout. A fresh machine needs only Python 3.11 to 3.13 and Java 17 or 21.

VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c "import sys; print('$(p)' if (3, 11) <= sys.version_info[:2] < (3, 14) else '')" 2>/dev/null)))
JAVA   := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

# The versions of Delta that fit other minor versions of Spark, and the tests that such a lane runs.
# PySpark's extra `connect` needs NumPy 1 in 3.5, which newer versions of PyArrow refuse to load.
DELTA_3.5 := 3.3
DELTA_4.0 := 4.0
ARROW_3.5 := 'pyarrow<23'
LANE := tests/spark/test_engines.py "tests/spark/test_migrate.py::test_a_table_goes_through_its_life_with_its_rows" \
  "tests/spark/test_frame_ingest.py::test_the_partitioning_of_a_frame_changes_nothing" \
  "tests/spark/test_frame_ingest.py::test_a_folder_a_pattern_and_a_table_are_sources"

.DEFAULT_GOAL := help
.PHONY: help setup java demo check unit test lane proof bless bench scoreboard clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

setup: $(READY) ## install schemaman and its tests into .venv, unless up to date

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "schemaman needs Python 3.11, 3.12 or 3.13 on the PATH; to use another path: make PYTHON=/path/to/python" >&2; exit 3; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing schemaman and its tools into $(VENV) …" >&2
	@$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	@mkdir -p build/typing && ln -sfn ../../cli build/typing/schemaman_cli
	@touch $(READY)

java:
	@$(JAVA) -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || { echo "schemaman needs Java 17 or newer for Spark: install one (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME" >&2; exit 3; }

demo: java setup ## run everything on recorded streams, up to ALTERs on real Delta and Iceberg tables
	@$(BIN)/schemaman demo

check: setup ## check lint, format, types and layers: under a minute, without Java
	@$(BIN)/mypy --no-error-summary > build/mypy.txt & types=$$!; failed=0; \
	  $(BIN)/ruff check --quiet . || failed=1; \
	  $(BIN)/ruff format --quiet --check . || { echo "ruff format would change files: run .venv/bin/ruff format ." >&2; failed=1; }; \
	  $(BIN)/lint-imports > build/layers.txt || { cat build/layers.txt; failed=1; }; \
	  wait $$types || { cat build/mypy.txt; failed=1; }; exit $$failed

unit: setup ## run the tests without Java and servers, with small fixed seeds: a few minutes
	@$(BIN)/python -m pytest -q -m "not servers" --ignore tests/spark --ignore tests/jvm --ignore tests/live \
	  --numprocesses auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

test: java setup check ## run all checks and tests, with small fixed seeds, as in CI
	@$(BIN)/python -m pytest -q --numprocesses 3 --dist loadscope --no-loadscope-reorder

lane: java ## run reading, planning and applying on another Spark: make lane SPARK=3.5, or SPARK=4.0
	@test -n "$(DELTA_$(SPARK))" || { echo "make lane SPARK=3.5 or SPARK=4.0" >&2; exit 2; }
	@test -x build/spark-$(SPARK)/bin/python || $(PYTHON) -m venv build/spark-$(SPARK)
	@build/spark-$(SPARK)/bin/python -m pip install --quiet --editable '.[all,dev]' 'pyspark[connect]==$(SPARK).*' 'delta-spark==$(DELTA_$(SPARK)).*' $(ARROW_$(SPARK)) 'pandas<3'
	@mkdir -p build/typing && ln -sfn ../../cli build/typing/schemaman_cli
	@build/spark-$(SPARK)/bin/python -m pytest -q $(LANE)

proof: java setup check ## run all tests at full counts, also in a browser (Chromium); write the figures to docs/proof.md
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || { echo "make proof opens the report in a browser: install Chromium (Debian: apt install chromium)" >&2; exit 3; }
	@$(BIN)/python -m pip install --quiet --editable '.[proof]'
	@$(BIN)/python -m tests.proof

bless: java setup ## write the current output into stories and golden files; then read the diff
	@$(BIN)/python -m pytest -q --bless

bench: setup ## measure CPU time and memory, as ratios
	@$(BIN)/python -m bench
	@$(BIN)/python -m bench.scale
	@$(BIN)/python -m bench.long_history
	@$(BIN)/python -m bench.gate

scoreboard: setup ## compare the histories of all recordings with the truth; fail if a fact is wrong
	@$(BIN)/python -m tests.truth.scoreboard

clean: ## remove all files that this Makefile made
	@rm -rf $(VENV) build schemaman-demo
