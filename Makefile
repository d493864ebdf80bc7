# On a fresh machine with Python 3.11+ and make: `make demo`, then `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
DOCS := $(VENV)/.docs
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all lint golden docs mutation sbom clean

demo: $(LIGHT)
	@$(BIN)/python examples/demo.py

test: $(READY) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=
	@$(BIN)/python .ci/branches.py masker/core 95

# with those that take minutes: the installation of the wheel alone, every code block of the documents, the site
test-all: $(READY) $(DOCS) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m ''

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# all rewrites that are kept word for word; `make test` compares a few of them
golden: $(READY)
	MASKER_GOLDEN=all $(BIN)/python -m pytest tests/test_golden_rewrites.py

# the documents as a site, in site/; after the installation without network
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html is there; with its search: python -m http.server --directory site"

# how many small faults in masker/core its tests notice, of a sample of 400: half an hour on one core
mutation: $(READY)
	$(INSTALL) -e '.[mutation]'
	$(BIN)/python .ci/mutation.py --sample 400 --floor 85

# what the wheel brings, in the pinned versions; the wheel carries the file
sbom: $(READY)
	$(BIN)/python .ci/sbom.py > masker-nlp.cdx.json

# what editing needs; torch and the rest come with $(READY)
$(LIGHT): pyproject.toml constraints.txt
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	@touch $@

$(READY): $(LIGHT)
	$(INSTALL) -e '.[dev]'
	@touch $@

$(DOCS): $(LIGHT)
	$(INSTALL) -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) site mutants .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage
