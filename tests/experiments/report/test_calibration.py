"""The chapter about calibration, from bins that are known beforehand."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from mmalign.evaluation.calibration import ReliabilityBin
from mmalign.experiments.grid import Grid, extend_grid
from mmalign.experiments.job import Entry
from mmalign.experiments.report.calibration import calibration
from mmalign.experiments.report.pictures.reliability import in_lines, reliability_picture
from mmalign.experiments.report.reliability import Reliability, reliability_table
from mmalign.experiments.report.runs import read_runs
from mmalign.experiments.report.subset_scores import SubsetPanel
from mmalign.experiments.report.writing import write_report
from mmalign.experiments.scope import Scope
from mmalign.experiments.source import Source
from mmalign.experiments.suites import list_entries
from mmalign.experiments.systems import find_candidates
from mmalign.runs.manifest import seal
from mmalign.runs.result import RESULT, TIMING
from tests.experiments.report.made import Making, made_dataset
from tests.experiments.report.test_subset_chapters import NAMES, SUBSETS, TASK, made


def with_bins(entry: Entry) -> dict:
    """Experts are 90 % sure and 80 % right; the first seed is also unsure about one clip."""
    result = made(entry)
    if entry.job.config.method == "experts":
        for found in result["subsets"]:
            bins = [ReliabilityBin(13 / 15, 14 / 15, 2, 0.9, 0.8)]
            if entry.job.config.seed == 0 and found["modalities"] == ["arm"]:
                bins = [ReliabilityBin(6 / 15, 7 / 15, 1, 0.45, 0.0), *bins]
            found["test"]["reliability"] = [vars(one) for one in bins]
            found["test"]["metrics"]["ece"] = 0.1
    return result


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> Grid:
    dataset = made_dataset(Making(task=TASK, pairs=(NAMES[:2], NAMES[1:])))
    candidates = find_candidates(["experts", "minirocket"])
    scope = Scope(pairs=[NAMES[:2]], seeds=[0, 1, 2], candidates=candidates)
    entries = list_entries(dataset, scope, ["subsets"])
    grid = extend_grid(tmp_path_factory.mktemp("g") / "grid", dataset, Source("limbs"), entries)
    for placed in grid.placed:
        folder = grid.run_folder(placed.address)
        folder.mkdir(parents=True)
        (folder / TIMING).write_text('{"seconds": 1.0}')
        (folder / RESULT).write_text(json.dumps(with_bins(placed.entry)))
        seal(folder, {})
    return grid


@pytest.fixture(scope="module")
def found(grid) -> Reliability:
    return Reliability(SubsetPanel(read_runs(grid), "subsets", NAMES))


def test_bins_of_all_seeds_are_pooled_by_their_clips(found):
    unsure, sure = found.bins(("arm",))
    assert (unsure.clips, unsure.confidence, unsure.accuracy) == (1, 0.45, 0.0)
    assert (sure.clips, sure.confidence) == (6, pytest.approx(0.9))
    assert found.confidence(("arm",)) == pytest.approx({0: 0.75, 1: 0.9, 2: 0.9})
    assert found.subsets == SUBSETS
    assert found.drawn == [("arm",), ("leg",), ("voice",), NAMES]


def test_the_table_has_accuracy_beside_confidence_and_error(found):
    rows = {r.title: [c.plain for c in r.cells] for r in reliability_table(found, "t").rows}
    assert list(rows) == [" + ".join(subset) for subset in SUBSETS]
    assert rows["arm"] == ["64.0 ± 1.0", "85.0 ± 8.7", "10.0 ± 0.0"]


def test_the_picture_shows_a_diagram_for_each_modality_and_for_all(found):
    picture = reliability_picture(found, "p")
    text = " ".join(ET.fromstring(picture.light).itertext())
    assert all(title in text for title in (*NAMES, "arm + leg + voice"))
    assert "arm: 45 sure, 0 right, 1 clips, 90 sure, 80 right, 6 clips" in picture.alt


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("arm + leg + voice", ["arm + leg + voice"]),
        ("accelerometer + gyroscope", ["accelerometer +", "gyroscope"]),
    ],
)
def test_titles_that_are_too_long_for_a_diagram_are_broken(title, lines):
    assert in_lines(title).splitlines() == lines


def test_the_report_has_the_chapter_where_bins_are_known(grid):
    page = write_report(grid, grid.folder / "report")
    titles = re.findall(r'<a href="#([\w-]+)">', page.read_text())
    assert "calibration" in titles
    assert (page.parent / "figures" / "calibration-1.svg").exists()
    assert (page.parent / "tables" / "calibration-1.csv").exists()


def test_without_bins_there_is_no_chapter(grid):
    runs = read_runs(grid)
    for run in runs.planned:
        for subset in run.result["subsets"]:
            subset["test"].pop("reliability", None)
    assert calibration(runs) == []
