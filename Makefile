# make demo: the main job on data that comes with the install. make test: the tests.
# Both install what they need into .venv first; a second call finds it there.
VENV   := .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo-installed
STAMP  := $(VENV)/.installed
COMPILED := $(VENV)/.compiled

# Kept bytecode saves seconds in every process that tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test pytest orders lint nightly bench bench-speed docs notebooks clean

install: $(STAMP) $(COMPILED)

# The constraints file names the versions the tests ran with. On Linux plain pip takes the CUDA build of
# torch (about 3 GB); the CPU build (about 0.2 GB) comes from PyTorch's index, unless pip finds one already.
TORCH_CPU := https://download.pytorch.org/whl/cpu
IS_CPU    := grep -q '"url": "[^"]*\(cpu\|macosx\)[^"]*whl"' $(VENV)/torch.json

# What the demo needs: a newcomer does not wait for the tools of the tests.
$(DEMO): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/pip install --quiet --dry-run --no-deps -c constraints.txt --report $(VENV)/torch.json torch
	-$(IS_CPU) || $(BIN)/pip install --quiet --retries 0 --no-deps -c constraints.txt --index-url $(TORCH_CPU) torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,anchors,serve]'
	touch $@

$(STAMP): $(DEMO)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,anchors,csd,tensorboard,tune,ray,serve,export,dev]'
	touch $@

# Kernels that changed since they were compiled would be compiled by every process on its own.
$(COMPILED): $(STAMP) $(shell find src/mmalign -name '*.py')
	$(MAKE) --no-print-directory -j2 compile-align compile-model compile-experts compile-minirocket
	touch $@

# sktime compiles its kernels when they are first imported, which would be in a test.
compile-minirocket:
	$(BIN)/python -c 'import sktime.transformations.rocket._minirocket_multi_numba'

compile-%:
	$(BIN)/python -m mmalign.$*.compile

# The demo compiles what it needs, and says so.
demo: $(DEMO)
	$(BIN)/mmalign demo --out demo-output

# mypy has one core to itself for a while, so lints and tests run side by side.
test: install
	$(MAKE) --no-print-directory -j2 lint pytest

# In random order: make test ORDER=7 takes another one, make orders takes twenty.
ORDER ?= 1
pytest: install
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not nightly' --order $(ORDER)

orders: install
	for order in $$(seq 1 20); do $(MAKE) --no-print-directory pytest ORDER=$$order || exit 1; done

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

nightly: install
	-$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile=nightly
	$(MAKE) --no-print-directory orders

bench: install
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

# benchmarks/results/speed.json, and speed.html beside it; docs/performance.md explains both.
bench-speed: install
	$(BIN)/python benchmarks/bench_speed.py

# Search needs a server: python -m http.server -d site
docs: install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest -q tests/docs/test_site.py

notebooks: install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[notebooks]'
	$(BIN)/python -m pytest -q tests/docs/test_notebooks.py

clean:
	rm -rf $(VENV) demo-output site dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
