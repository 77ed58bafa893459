# `make demo` and `make test` set up everything they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= auto
# Additional version constraints, see tests/matrix
VERSIONS ?= constraints.txt
PYTHONS ?= python3.10 python3.11 python3.12 python3.13 python3.14

# PyTorch's threads spin while they wait. On a busy machine this makes small models many times
# slower.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test nightly test-matrix test-curated lint coverage mutation docs clean

demo: $(READY)
	$(BIN)/python -m spacy project run all

# Tests run in parallel, so each process uses one thread.
test: export OMP_NUM_THREADS = 1
test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(PYTEST_ARGS)

# Takes hours: 10,000 examples where `make test` has 50, and the tests marked `nightly`.
nightly: export OMP_NUM_THREADS = 1
nightly: export PSA_TESTS = nightly
nightly: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile -m 'nightly or not nightly' tests/robustness tests/inference $(PYTEST_ARGS)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile -m nightly --ignore tests/robustness --ignore tests/inference $(PYTEST_ARGS)

# Tests the oldest and newest supported releases with each installed Python.
test-matrix:
	for python in $(PYTHONS); do \
		$$python --version >/dev/null 2>&1 || { echo "$$python: not on this machine"; continue; }; \
		for versions in oldest newest; do \
			$(MAKE) test PYTHON=$$python VENV=.venv-$$python-$$versions \
				VERSIONS=tests/matrix/$$versions.txt || exit 1; \
		done; \
	done
	$(MAKE) test-curated

# Tests a component on spacy-curated-transformers, in an environment of its own.
test-curated: export OMP_NUM_THREADS = 1
test-curated:
	$(MAKE) .venv-curated/.ready VENV=.venv-curated VERSIONS=tests/matrix/curated.txt
	.venv-curated/bin/python -m pip install --quiet --constraint constraints.txt \
		--requirement tests/matrix/curated.txt
	.venv-curated/bin/python -m pytest tests/pipeline/tagger/test_curated.py $(PYTEST_ARGS)

# Reports lines that no test runs.
coverage: $(READY)
	$(MAKE) test PYTEST_ARGS="--cov spacy_psa --cov-report term:skip-covered --cov-report xml:coverage.xml"

# Reports small code changes, of a random sample, that no test detects: half an hour per package.
mutation: export OMP_NUM_THREADS = 1
mutation: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group mutation
	$(BIN)/python -m tests.mutation.run $(MUTATION_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation site, in an environment of its own: it needs neither PyTorch nor this package. A
# broken link is an error.
docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv-docs/.ready
	.venv-docs/bin/mkdocs build --quiet --strict

.venv-docs/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-docs/bin/python -m pip install --quiet --group docs
	touch $@

# torch is installed first, so that no other package pulls in a different build of it. Older pip than
# 25.1, which a new environment may have, knows no dependency groups.
$(READY): setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --constraint $(VERSIONS) \
		--group dev --editable '.[scale,transformers]'
	touch $(READY)

clean:
	rm -rf $(VENV) .venv-docs site corpus training metrics packages vectors
