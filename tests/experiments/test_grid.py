"""Grids in directories: addresses, what is done, what is refused."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.errors import MMAlignError
from mmalign.experiments.analyses import ANALYSES
from mmalign.experiments.grid import extend_grid, open_grid, plan_grid
from mmalign.experiments.job import Job
from mmalign.experiments.source import Source
from mmalign.experiments.suites import list_entries
from mmalign.runs.manifest import seal
from mmalign.training.config import STRONG, Config
from tests.experiments.tiny import SETTINGS, tiny_grid, tiny_scope
from tests.training.small import poisoned, small_dataset

JOB = Job(visible="text", victim="vision", survival=0.5, config=Config())
CHANGED: dict[str, object] = {"dim": 64, "heads": 2, "kernel": 3, "method": "zero-fill"}
CHANGED |= STRONG


def other_value(name: str, value: object) -> object:
    if name in CHANGED:
        return CHANGED[name]
    if isinstance(value, bool):
        return not value
    return value / 2 + 0.01 if isinstance(value, float) else value + 1


@pytest.mark.parametrize("name", [field.name for field in fields(Config)])
def test_any_setting_changes_the_address(name):
    config = replace(JOB.config, **{name: other_value(name, getattr(JOB.config, name))})
    assert replace(JOB, config=config).address("data") != JOB.address("data")


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "speed"},
        {"visible": "vision", "victim": "text"},
        {"survival": 0.1},
    ],
)
def test_anything_else_of_a_job_changes_the_address(changes):
    assert replace(JOB, **changes).address("data") != JOB.address("data")
    assert JOB.address("data") != JOB.address("other")


def test_what_is_asked_of_a_trained_model_leaves_the_address(tmp_path):
    assert replace(JOB, analyses=("swaps",)).address("data") == JOB.address("data")


@given(st.floats(0.01, 1), st.integers(0, 2**32 - 1), st.sets(st.sampled_from(sorted(ANALYSES))))
def test_a_job_survives_json_with_its_address(survival, seed, analyses):
    config = replace(JOB.config, seed=seed)
    job = replace(JOB, survival=survival, analyses=tuple(analyses), config=config)
    again = Job.from_json(json.loads(json.dumps(job.to_json())))
    assert again == job
    assert again.address("data") == job.address("data")


def test_data_decides_the_address_and_only_the_pair_of_it(tmp_path):
    dataset = small_dataset()
    entries = list_entries(dataset, tiny_scope(), ["main"])
    first = dataset["test"].ids[0]
    changed = poisoned(dataset, "test", {first}, "victim", 0.5)
    grids = [
        plan_grid(tmp_path / "none", d, Source("x"), entries)
        for d in (dataset, small_dataset(), changed)
    ]
    addresses = [list(grid.jobs) for grid in grids]
    assert addresses[0] == addresses[1]
    assert not set(addresses[0]) & set(addresses[2])
    assert not (tmp_path / "none").exists()


def test_a_grid_comes_back_as_it_was(tmp_path):
    grid = tiny_grid(tmp_path / "grid")
    again = open_grid(tmp_path / "grid")
    assert (again.placed, again.source, again.data) == (grid.placed, grid.source, grid.data)


def test_entries_are_added_and_bounds_are_shared(tmp_path):
    tiny_grid(tmp_path / "grid", methods=["lb", "mmalign"], survivals=[0.1, 0.5])
    asked = tiny_grid(tmp_path / "grid", suites=["epsilon"])
    whole = open_grid(tmp_path / "grid")
    assert {placed.entry.suite for placed in asked.placed} == {"epsilon"}
    assert {placed.entry.suite for placed in whole.placed} == {"main", "epsilon"}
    # LB stands in two columns and two suites; it is trained once a seed.
    bounds = [placed.address for placed in whole.placed if placed.entry.system == "LB"]
    assert (len(bounds), len(set(bounds))) == (6, 2)


def test_done_failed_and_pending(tmp_path):
    grid = tiny_grid(tmp_path / "grid")
    done, failed, recovered, _ = grid.jobs
    for address in (done, failed, recovered):
        grid.run_folder(address).mkdir(parents=True)
    for address in (failed, recovered):
        grid.site.error_file(address).parent.mkdir(exist_ok=True)
        grid.site.error_file(address).write_text('{"error": "why"}')
    for address in (done, recovered):
        for name in grid.jobs[address].analyses:
            (grid.run_folder(address) / f"{name}.json").touch()
        (grid.run_folder(address) / "result.json").write_text('{"a": 1}')
        seal(grid.run_folder(address), {})
    assert set(grid.pending()) == set(grid.jobs) - {done, recovered}
    assert grid.failures() == {failed: "why"}
    assert [result for _, result in grid.results()] == [{"a": 1}, {"a": 1}]


def test_another_grid_is_refused_with_the_difference(tmp_path):
    tiny_grid(tmp_path / "grid")
    before = (tmp_path / "grid" / "grid.json").read_bytes()
    with pytest.raises(MMAlignError, match=r"epochs was 3, is 4 .* Give another --out"):
        tiny_grid(tmp_path / "grid", settings={**SETTINGS, "epochs": 4})
    assert (tmp_path / "grid" / "grid.json").read_bytes() == before


def test_other_data_is_refused(tmp_path):
    grid = tiny_grid(tmp_path / "grid")
    changed = poisoned(small_dataset(), "train", {"train-00000"}, "visible", 0.0)
    entries = [placed.entry for placed in grid.placed]
    with pytest.raises(MMAlignError, match="a grid on other data"):
        extend_grid(tmp_path / "grid", changed, Source("x"), entries)


def test_a_foreign_directory_is_refused_untouched(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(MMAlignError, match="exists and is not a grid"):
        tiny_grid(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_grid_that_was_killed_at_birth_is_ours(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".grid.json.ab12_xyz").touch()
    assert tiny_grid(tmp_path).pending()


def test_no_grid_another_version_and_damage_are_told(tmp_path):
    with pytest.raises(MMAlignError, match="holds no grid"):
        open_grid(tmp_path)
    tiny_grid(tmp_path / "grid")
    file = tmp_path / "grid" / "grid.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({name: part for name, part in content.items() if name != "format"}))
    with pytest.raises(MMAlignError, match="a grid of an older format"):
        open_grid(tmp_path / "grid")
    file.write_text(json.dumps({**content, "mmalign": "0.0.0"}))
    with pytest.raises(MMAlignError, match=r"made by mmalign 0\.0\.0"):
        open_grid(tmp_path / "grid")
    file.write_text(json.dumps({**content, "entries": [{}]}))
    with pytest.raises(MMAlignError, match="not readable"):
        open_grid(tmp_path / "grid")
    file.write_text("{")
    with pytest.raises(MMAlignError, match="not readable"):
        open_grid(tmp_path / "grid")
