# make demo: the main job on data that comes with the install. make test: the tests.
# Both install what they need into .venv first; a second call finds it there.
VENV   := .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install demo test lint nightly bench clean

install: $(STAMP)

# The constraints file makes pip take the CPU build of torch and the versions the tests ran with.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,anchors,csd,tensorboard,tune,ray,serve,dev]'
	$(BIN)/python -m mmalign.experts.compile
	touch $@

demo: install
	$(BIN)/mmalign demo --out demo-output

test: install lint
	$(BIN)/python -m pytest -n 2 -m 'not nightly'

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

nightly: install
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=nightly

bench: install
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
