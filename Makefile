# Two commands that do all their set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= auto
# More versions to install, see tests/matrix
VERSIONS ?= constraints.txt
PYTHONS ?= python3.10 python3.11 python3.12 python3.13 python3.14

# PyTorch's threads spin while they wait. On a machine that is busy with something else, that makes
# the small matrices of these models many times slower.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test nightly test-matrix lint coverage mutation clean

demo: $(READY)
	$(BIN)/python -m spacy project run all

# Tests run side by side, so each has one thread.
test: export OMP_NUM_THREADS = 1
test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(PYTEST_ARGS)

# What takes hours: 10,000 examples where `make test` has 200, and the tests marked so.
nightly: export OMP_NUM_THREADS = 1
nightly: export PSA_TESTS = nightly
nightly: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile -m 'nightly or not nightly' tests/robustness $(PYTEST_ARGS)

# The oldest and the newest releases that are supported, with each Python that is on the machine.
test-matrix:
	for python in $(PYTHONS); do \
		$$python --version >/dev/null 2>&1 || { echo "$$python: not on this machine"; continue; }; \
		for versions in oldest newest; do \
			$(MAKE) test PYTHON=$$python VENV=.venv-$$python-$$versions \
				VERSIONS=tests/matrix/$$versions.txt || exit 1; \
		done; \
	done

# Which lines no test runs
coverage: $(READY)
	$(MAKE) test PYTEST_ARGS="--cov spacy_psa --cov-report term:skip-covered --cov-report xml:coverage.xml"

# Which small changes of the code no test notices, of a sample: half an hour for each package
mutation: export OMP_NUM_THREADS = 1
mutation: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[mutation]'
	$(BIN)/python -m tests.mutation.run $(MUTATION_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# torch first and on its own: with it there, nothing else asks for another build of it.
$(READY): setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --constraint $(VERSIONS) --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) corpus training metrics packages vectors
