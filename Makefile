# The two commands are `make demo` and `make test`: each sets up all that it needs.
# docs/building.md describes the others.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV_PYTHON := .venv/bin/python
# Options of `make develop`, e.g. DEVELOP="--only core".
DEVELOP ?=
# Cases or groups (operations, models, everyday) of `make benchmark`, e.g. BENCHMARK="matmul_bf16 models";
# default: all.
BENCHMARK ?=
# Options of pytest, e.g. PYTEST="tests/jax -k donation".
PYTEST ?= tests
# One process for each core. After one that ended, pytest-xdist may wait for ever for what it had been given: it stops instead.
PARALLEL := --numprocesses auto --maxprocesses 4 --max-worker-restart 0 --durations=20
# How long `make fuzz` takes, and `make fuzz-values` for each framework, set-up excluded.
FUZZ_SECONDS ?= 600
# The first seed of `make fuzz-values`; default: one that differs every second.
FUZZ_FIRST ?= $(shell date +%s)000

# Programs and options of `make check-memory`, e.g. MEMORY="jax_arrays c_api" or MEMORY=--leaks.
MEMORY ?=

# Options of `make docs`, e.g. DOCS=--external.
DOCS ?=

# Options of `make lint`, e.g. LINT=--fix. Not `?=`, because make defines LINT as "lint".
LINT :=

# How long `make soak` takes, set-up excluded.
SOAK_SECONDS ?= 3600

# Options of `make sweep-convolutions`, e.g. SWEEP="--forms 500 --isa AVX2".
SWEEP ?=

.PHONY: demo lint compile-commands test test-all check-schedules check-models-tf sweep sweep-convolutions sweep-sizes fuzz fuzz-values soak check-memory check-gpus check-gpu-execution check-level-zero docs setup setup-benchmarks setup-docs setup-tests develop wheel benchmark clean

demo: setup
	$(VENV_PYTHON) examples/mixed_execution.py

lint:
	@$(PYTHON) tools/lint.py $(LINT)

# Of a parametrised test, only the first case runs after so many minutes. Fast machines need 20 for all.
FURTHER_CASES_MINUTES ?= 35

test: setup-tests
	.venv/bin/pytest $(PYTEST) -m "not exhaustive" --further-cases-minutes $(FURTHER_CASES_MINUTES) $(PARALLEL) --dist loadscope --no-loadscope-reorder

test-all: setup-tests
	.venv/bin/pytest $(PYTEST) $(PARALLEL) --dist loadscope --no-loadscope-reorder

check-schedules: setup-tests
	ONEXPU_SCHEDULES=gpu .venv/bin/pytest $(PYTEST) --ignore=tests/build $(PARALLEL) --dist loadscope --no-loadscope-reorder

# Against the kernels of TensorFlow's CPU device as users have them, oneDNN's where there are some.
check-models-tf: setup-tests
	TF_ENABLE_ONEDNN_OPTS=1 ONEXPU_TF_MODELS=all .venv/bin/pytest tests/models_tf -k "not published" $(PARALLEL) --dist load
	@# In processes of their own, which take gigabytes.
	TF_ENABLE_ONEDNN_OPTS=1 .venv/bin/pytest tests/models_tf -k published $(PARALLEL) --dist load

sweep: setup-tests
	$(VENV_PYTHON) -m tests.tensorflow.registered_ops.sweep --full
	$(VENV_PYTHON) -m tests.tensorflow.registered_ops.sweep --fuzz
	$(VENV_PYTHON) -m tests.tensorflow.registered_ops.sweep --bounded

# The schedules of a GPU after those of the CPU device, whichever of them fails.
sweep-sizes: setup-tests
	@status=0; for schedules in cpu gpu; do \
	  ONEXPU_SCHEDULES=$$schedules .venv/bin/pytest tests/sizes $(PARALLEL) --dist load || status=1; \
	done; exit $$status

fuzz: setup-tests
	$(VENV_PYTHON) -m tests.fuzz.run --seconds $(FUZZ_SECONDS)

# Each program on both sets of schedules.
fuzz-values: setup-tests
	$(VENV_PYTHON) -m tests.fuzz.values.run --framework jax --schedules both --jobs 2 --first $(FUZZ_FIRST) --seconds $(FUZZ_SECONDS)
	$(VENV_PYTHON) -m tests.fuzz.values.run --framework tensorflow --schedules both --jobs 2 --first $(FUZZ_FIRST) --seconds $(FUZZ_SECONDS)

sweep-convolutions: setup-tests
	$(VENV_PYTHON) -m tests.convolutions.sweep $(SWEEP)

soak: setup-tests
	$(VENV_PYTHON) -m tests.soak.run --seconds $(SOAK_SECONDS)

check-memory: setup-tests
	$(VENV_PYTHON) -m tests.memcheck.run $(MEMORY)

# On Intel's Level Zero driver with devices in software (docs/gpu.md).
check-level-zero: setup-tests
	$(VENV_PYTHON) -m tests.level_zero.lab_setup
	.venv/bin/pytest tests/level_zero $(PARALLEL) --dist load

check-gpus: setup-tests
	$(VENV_PYTHON) -m tests.gpu_modules.run

# The kernels of a GPU, translated to PTX, on an NVIDIA GPU where there is one.
check-gpu-execution: setup-tests
	$(VENV_PYTHON) -m tests.gpu_execution.run all

docs: setup-docs
	$(VENV_PYTHON) -m tools.documentation $(DOCS)

setup:
	@$(PYTHON) tools/setup_environment.py

setup-benchmarks:
	@$(PYTHON) tools/setup_environment.py --with-benchmarks

setup-docs:
	@$(PYTHON) tools/setup_environment.py --with-docs

setup-tests:
	@$(PYTHON) tools/setup_environment.py --with-tests

develop:
	@$(PYTHON) tools/develop.py --build $(DEVELOP)

compile-commands: setup-tests
	$(VENV_PYTHON) tools/compile_commands.py

wheel: setup
	$(VENV_PYTHON) -m pip wheel --no-deps --no-build-isolation --wheel-dir dist .

benchmark: setup-benchmarks
	$(VENV_PYTHON) benchmarks/run.py $(BENCHMARK)

clean:
	rm -rf build dist *.egg-info
	bazel clean
