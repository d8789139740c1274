# make demo: the main job on data that comes with the install. make test: the tests.
# Both install what they need into .venv first; a second call finds it there.
VENV   := .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Kept bytecode saves seconds in every process that tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test pytest lint nightly bench bench-speed docs notebooks clean

install: $(STAMP)

# The constraints file names the versions the tests ran with. On Linux plain pip takes the CUDA build of
# torch (about 3 GB); the CPU build (about 0.2 GB) comes from PyTorch's index, unless pip finds one already.
TORCH_CPU := https://download.pytorch.org/whl/cpu
IS_CPU    := grep -q '"url": "[^"]*\(cpu\|macosx\)[^"]*whl"' $(VENV)/torch.json

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/pip install --quiet --dry-run --no-deps -c constraints.txt --report $(VENV)/torch.json torch
	-$(IS_CPU) || $(BIN)/pip install --quiet --retries 0 --no-deps -c constraints.txt --index-url $(TORCH_CPU) torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,anchors,csd,tensorboard,tune,ray,serve,export,dev]'
	$(BIN)/python -m mmalign.experts.compile
	touch $@

demo: install
	$(BIN)/mmalign demo --out demo-output

# Kernels that changed since they were compiled would be compiled by every process on its own.
# mypy has one core to itself for a while, so lints and tests run side by side.
test: install
	$(BIN)/python -m mmalign.experts.compile
	$(MAKE) --no-print-directory -j2 lint pytest

pytest: install
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not nightly'

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

nightly: install
	-$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile=nightly

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
