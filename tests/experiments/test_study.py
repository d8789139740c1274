"""Study files: what they state, and what they state wrongly."""

from dataclasses import replace
from pathlib import Path

import pytest

from mmalign.errors import ConfigError
from mmalign.experiments.study import read_study
from mmalign.experiments.suites import all_pairs, list_entries
from tests.training.small import small_dataset

PAPER = Path(__file__).parents[2] / "studies" / "paper.toml"
STUDY = """
title = "Small"
survivals = [0.5]
seeds = 2
settings = {{ dim = 8, heads = 2, window = 2, batch_size = 16, epochs = 3, warm_up = 1 }}
{more}
[systems]
"nothing" = {{ method = "zero-fill" }}
"plans" = {{ method = "mmalign" }}

[datasets.first]
path = "data"

[datasets."second, cut"]
path = "data"
steps = 4
splits = {{ test = {{ split = "valid" }}, valid = {{ split = "test" }} }}
{dataset}
[[tables]]
dataset = "first"
pairs = [["visible", "victim"], ["victim", "visible"]]

[[tables]]
dataset = "second, cut"
pairs = [["visible", "victim"]]
systems = ["nothing"]
seeds = 3
{table}
"""
CHOICE = """
[choice]
learning_rates = [1e-3, 4e-3]
seeds = [7]
"""


def write_study(folder: Path, **parts: str) -> Path:
    file = folder / "study.toml"
    file.write_text(STUDY.format(**({"more": "", "dataset": "", "table": ""} | parts)))
    return file


def test_tables_reach_as_far_as_the_file_says(tmp_path):
    study = read_study(write_study(tmp_path))
    first, second = (study.scope(table, {}) for table in study.tables)
    entries = list_entries(small_dataset(), first, ["main"])
    assert len(entries) == 2 * 2 * 2  # systems, pairs, seeds
    assert {entry.job.config.dim for entry in entries} == {8}
    assert list(second.systems) == ["nothing"]
    assert list(second.seeds) == [0, 1, 2]
    assert study.only(["first"]).tables == study.tables[:1]


def test_what_was_chosen_becomes_a_setting_of_its_system(tmp_path):
    study = read_study(write_study(tmp_path))
    scope = study.scope(study.tables[0], {"plans": {"learning_rate": 0.5}})
    assert scope.systems["plans"] == {"method": "mmalign", "learning_rate": 0.5}
    assert "learning_rate" not in scope.systems["nothing"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"more": "sedes = 3"}, "study: 'sedes' is not known"),
        ({"more": "seeds = "}, "Invalid value"),
        ({"more": 'keep = "wieghts"'}, "keep is one of weights, best, nothing, got 'wieghts'"),
        ({"dataset": "stpes = 3"}, "dataset 'second, cut': 'stpes' is not known"),
        ({"dataset": 'chosen_on = "third"'}, "chosen_on names no dataset: 'third'"),
        ({"table": "[[tables]]\npairs = []"}, "table 3: dataset is missing"),
        ({"table": '[[tables]]\ndataset = "x"\npairs = []'}, "there is no dataset 'x'"),
        (
            {"table": '[[tables]]\ndataset = "first"\npairs = []\nsystems = ["y"]'},
            "table 3: there is no system 'y'",
        ),
        (
            {"table": '[[tables]]\ndataset = "first"\npairs = [["a"]]'},
            "a pair names a visible modality and a victim",
        ),
        ({"table": '[datasets."Second: Cut!"]\npath = "data"'}, "they name directories"),
        ({"dataset": "label = true"}, "dataset 'second, cut': label cannot be True"),
        ({"table": '[datasets.x]\npath = "x"\nsplits = 3'}, "dataset 'x': splits cannot be 3"),
        ({"table": "[datasets.x]\npath = 3"}, "dataset 'x': path cannot be 3"),
        ({"table": '[[tables]]\ndataset = ["first"]'}, "table 3: dataset cannot be ['first']"),
        ({"table": '[[tables]]\ndataset = "first"\npairs = 3'}, "table 3: pairs cannot be 3"),
        ({"more": "choice = 3"}, "study: choice cannot be 3"),
        ({"more": f"x = {'[' * 100_000}"}, "recursion"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path, parts, message):
    file = write_study(tmp_path, **parts)
    with pytest.raises(ConfigError, match=r"study\.toml: ") as found:
        read_study(file)
    assert message in str(found.value)


def test_unknown_datasets_cannot_be_asked_for(tmp_path):
    study = read_study(write_study(tmp_path))
    with pytest.raises(ConfigError, match="no dataset 'third'; there are first, second, cut"):
        study.only(["third"])


def test_the_paper_s_study_holds_what_docs_results_shows():
    study = read_study(PAPER)
    assert list(study.datasets) == [
        "smartwatch",
        "utd-mhad, 32 steps",
        "mosi",
        "utd-mhad, own lengths",
    ]
    assert len(study.systems) == 18
    assert study.chosen_on == {"utd-mhad, own lengths": "utd-mhad, 32 steps"}
    assert sum(len(table.pairs) for table in study.tables) == 12


def test_a_table_of_subsets_names_modalities_and_needs_no_pairs(tmp_path):
    file = tmp_path / "subsets.toml"
    file.write_text(
        'title = "Subsets"\nseeds = 2\n[systems]\n"mine" = { method = "experts" }\n'
        '[datasets.first]\npath = "smartwatch"\n'
        '[[tables]]\ndataset = "first"\nsuites = ["subsets"]\nmodalities = ["b", "c"]\n'
    )
    study = read_study(file)
    dataset = small_dataset()
    scope = study.scope(study.tables[0], {}, all_pairs(dataset))
    entries = list_entries(dataset, replace(scope, modalities=()), ["subsets"])
    assert scope.modalities == ["b", "c"]
    assert [(e.system, e.job.config.seed) for e in entries] == [("mine", 0), ("mine", 1)]


def test_a_choice_needs_pairs(tmp_path):
    file = tmp_path / "choice.toml"
    file.write_text(
        'title = "T"\n[systems]\n"x" = { method = "lb" }\n[datasets.first]\npath = "smartwatch"\n'
        + CHOICE
        + '[[tables]]\ndataset = "first"\n'
    )
    with pytest.raises(ConfigError, match="a choice of settings is made on a pair"):
        read_study(file)
