"""The page about experiments shows Python that runs, files that exist, and keys that are known."""

import re
import subprocess
import sys
from dataclasses import fields
from typing import get_args

import pytest

from mmalign.data.split_rules import SplitRule
from mmalign.experiments.keeping import Keep
from mmalign.experiments.source import Source
from mmalign.experiments.study import Choice, Study, StudyTable, read_study
from mmalign.experiments.subset_suites import SUBSET_SUITES
from mmalign.experiments.suites import SUITES
from mmalign.experiments.systems import CANDIDATES
from tests.docs.pages import ROOT, blocks
from tests.training.small import small_protocol, small_run

FILE = ROOT / "docs" / "experiments.md"
PAGE = FILE.read_text(encoding="utf-8")


def first_column(heading: str) -> set[str]:
    """What stands in backticks in the first column of the tables of a section."""
    section = re.split(r"^#+ ", PAGE, flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(f"{heading}\n")]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(.*?)`", row)}


def test_every_suite_is_explained():
    assert first_column("Suites") == {*SUITES, *SUBSET_SUITES, "all"}


def test_every_system_that_answers_for_subsets_is_explained():
    assert first_column("Any subset of modalities") == set(CANDIDATES)


def test_every_way_to_keep_weights_is_explained():
    assert first_column("Keep or drop weights") == set(get_args(Keep))


def test_every_key_of_a_study_is_explained():
    parts = {"datasets", "chosen_on", "systems", "tables", "choice"}  # explained key by key
    keys = {field.name for field in fields(Study)} - parts
    keys |= {f"choice.{field.name}" for field in fields(Choice)}
    keys |= {f"tables.{field.name}" for field in fields(StudyTable)}
    keys |= {f'datasets."TITLE".{field.name}' for field in fields(Source)}
    assert first_column("Studies") == {*keys, 'systems."TITLE"', 'datasets."TITLE".chosen_on'}


def test_every_key_of_a_split_rule_is_explained():
    assert first_column("Split rules") == {field.name for field in fields(SplitRule)}


def test_the_example_studies_can_be_read(tmp_path):
    study, datasets = blocks(FILE, "toml")
    file = tmp_path / "study.toml"
    file.write_text(study)
    assert read_study(file).choice == Choice(learning_rates=[1e-3, 2e-3])
    file.write_text("title = 'x'\nsystems = {}\n" + datasets)
    assert read_study(file).datasets["mosi"].splits["test"] == SplitRule(split="valid")


def test_a_run_leaves_the_files_and_keys_that_the_page_names(tmp_path):
    protocols = tuple(small_protocol(setting=setting) for setting in ("A", "B"))
    run = small_run(tmp_path / "run", protocols=protocols, epochs=1)
    result = run.execute()
    named = first_column("Directory of a grid")
    written = {file.name for file in run.out.iterdir() if not file.name.startswith(".")}
    assert {name.rstrip("/") for name in named} >= written
    for path in first_column("`result.json`"):
        found = result
        for key in path.split("."):
            found = found[key]
    assert set(result) == {path.split(".")[0] for path in first_column("`result.json`")}


@pytest.mark.nightly
def test_the_python_runs(tmp_path):
    (block,) = blocks(FILE, "python")
    quick = block.replace("    systems=", '    settings={"epochs": 1},\n    systems=')
    assert quick != block
    command = [sys.executable, "-c", quick]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^(LB|MM-Align) 0\.[15] 0\.\d+$", done.stdout, re.MULTILINE)) == 8
