# Everything happens in one virtual environment, .venv, which is made once: `make demo` or `make test` on a fresh machine.
PYTHON ?= python3
PIP_ARGS ?=
# Idle processes take whole stretches of tests: what a file prepares once is not prepared by each of them.
PYTEST_ARGS ?= -n auto --dist worksteal
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := out/demo
# The tool has some 500 modules. Where Python keeps no compiled ones (PYTHONDONTWRITEBYTECODE), each command that a test
# starts would compile them all again, for two seconds.
COMPILE := $(BIN)/python -m compileall -q chainer2torch

# Chainer 7.8.1 builds only with an older setuptools: pip up to 25.2 reads the first variable for isolated builds, newer
# ones read the second. Both are relative paths, so the checkout may lie under a path with spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint bench mutants setup clean

# Migrates a training program, runs the original under Chainer and the result under PyTorch from the same weights and
# batches, and prints the comparison.
demo: $(STAMP)
	rm -rf $(DEMO)
	mkdir -p out
	@echo "== 1. migrate fixtures/mlp_trainer to $(DEMO)"
	$(BIN)/chainer2torch migrate fixtures/mlp_trainer -o $(DEMO) || test $$? -eq 1  # 1: a place to look at, e.g. the GPU
	@echo "== 2. what the migration changed in train.py"
	diff -u fixtures/mlp_trainer/train.py $(DEMO)/train.py || true  # status 1: they differ
	@echo "== 3. run both, from the same weights and batches, and compare"
	$(BIN)/chainer2torch verify script fixtures/mlp_trainer $(DEMO) -- train.py --epoch 2

test: $(STAMP)
	$(COMPILE)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Changes rows and helpers at random and sees whether the examples notice: MUTANTS=all,all takes hours (docs/mutation.md).
MUTANTS ?= 300,150
STYLE ?= faithful
mutants: $(STAMP)
	$(BIN)/chainer2torch verify rules --mutants $(MUTANTS) --style $(STYLE) -v \
	  --survivors tests/verify/survivors.toml --record tests/rules/emitted

bench: $(STAMP)
	$(BIN)/python benchmarks/bench_migrate.py

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_ARGS) -e '.[dev]'
	$(COMPILE)
	touch $(STAMP)

clean:
	rm -rf out build dist
