# On a fresh machine with Python 3.11+ and make: `make demo`, then `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all lint clean

demo: $(LIGHT)
	@$(BIN)/python examples/demo.py

test: $(READY) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

# with those that take minutes, such as the installation of the wheel alone
test-all: $(READY) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m ''

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# what editing needs; torch and the rest come with $(READY)
$(LIGHT): pyproject.toml constraints.txt
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	@touch $@

$(READY): $(LIGHT)
	$(INSTALL) -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
