# Two commands that do all their set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= auto

# PyTorch's threads spin while they wait. On a machine that is busy with something else, that makes
# the small matrices of these models many times slower.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test lint clean

demo: $(READY)
	$(BIN)/python -m spacy project run all

# Tests run side by side, so each has one thread.
test: export OMP_NUM_THREADS = 1
test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# torch first and on its own: with it there, nothing else asks for another build of it.
$(READY): setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) corpus training metrics packages vectors
