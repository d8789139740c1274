"""Parsers, fuzzed towards code that no input has reached yet; the corpus is in the repository."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mmalign.data.native.cost import check_cost
from mmalign.data.readers.glove import read_glove
from mmalign.errors import DataError

HERE = Path(__file__).parent
TARGETS = ("pickle", "npy", "parquet", "json", "masks", "glove", "vectors", "file")


def test_the_corpus_is_small_and_there_for_every_target():
    files = [file for file in (HERE / "corpus").rglob("*") if file.is_file()]
    assert {file.parent.name for file in files} == set(TARGETS)
    assert sum(file.stat().st_size for file in files) < 300_000


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_escapes_our_errors(target, tmp_path, record_property):
    pytest.importorskip("atheris", reason="pip install 'mmalign[fuzz]'")
    seconds = os.environ.get("MMALIGN_FUZZ_SECONDS", "60")
    corpus = shutil.copytree(HERE / "corpus" / target, tmp_path / "corpus")
    limits = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=20000", "-print_final_stats=1"]
    limits += [f"-max_total_time={seconds}", f"-artifact_prefix={tmp_path}/"]
    done = subprocess.run(
        [sys.executable, str(HERE / "coverage.py"), target, str(corpus), *limits],
        capture_output=True,
        text=True,
        timeout=60 * 20,
    )
    tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    record_property("figure", f"{tried[1] if tried else '?'} inputs of {target}")
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_fuzzing_found_is_refused_or_read():
    for name, parse in (
        ("parquet/damaged-snappy", lambda data: check_cost(memoryview(data))),
        ("glove/two-widths", lambda data: read_glove(memoryview(data), ["a", "the"])),
    ):
        with contextlib.suppress(DataError):
            parse((HERE / "corpus" / name).read_bytes())
