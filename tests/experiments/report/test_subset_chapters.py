"""The chapters about any subset of modalities, from results that are known beforehand."""

import csv
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from mmalign.data import Classification
from mmalign.experiments.grid import Grid, extend_grid
from mmalign.experiments.job import Entry
from mmalign.experiments.report.pictures.answer import answer_picture, save_answer
from mmalign.experiments.report.pictures.heat import PALEST, shares_of
from mmalign.experiments.report.rates import RatePanel, rate_table
from mmalign.experiments.report.runs import read_runs
from mmalign.experiments.report.subset_scores import Standing, SubsetPanel, answer_sentence
from mmalign.experiments.report.subset_tables import subset_heat, subset_table
from mmalign.experiments.report.writing import write_report
from mmalign.experiments.scope import Scope
from mmalign.experiments.source import Source
from mmalign.experiments.subset_suites import SUBSET_SUITES
from mmalign.experiments.suites import list_entries
from mmalign.experiments.systems import find_candidates
from mmalign.runs.manifest import seal
from mmalign.runs.result import RESULT, TIMING
from tests.experiments.report.made import Making, made_dataset, metrics

NAMES = ("arm", "leg", "voice")
TASK = Classification(("a", "b"))
SUBSETS = [names for size in (1, 2, 3) for names in combinations(NAMES, size)]
NOISE = (0.0, 0.01, -0.01)


def share(entry: Entry, subset: tuple[str, ...]) -> float:
    """Experts gain three points where there is an arm, and lose three with the voice alone."""
    noise = NOISE[entry.job.config.seed]
    base = 0.5 + 0.1 * len(subset) + noise
    if entry.job.config.method != "experts":
        return base - 0.1 * noise
    return base + (0.03 if "arm" in subset else -0.03 if subset == ("voice",) else 0.1 * noise)


def made(entry: Entry) -> dict:
    """A result such as a run of experts or anchors writes."""
    settings = {
        f"{rate:g}": 0.9 - rate / 2 + NOISE[entry.job.config.seed] / 2 for rate in entry.job.rates
    }
    return {
        "settings": {
            name: {"best_epoch": 1, "metrics": {"test": metrics(TASK, value)}}
            for name, value in (settings or {"as-is": 0.8}).items()
        },
        "subsets": [
            {
                "modalities": list(subset),
                "test": {
                    "clips": 2,
                    "metrics": metrics(TASK, share(entry, subset)),
                    "floor": metrics(TASK, 0.2),
                },
            }
            for subset in SUBSETS
        ],
        "floor": {"test": metrics(TASK, 0.2)},
        "epochs": 1,
        "parameters": {"backbone": 1, "imputer": 0},
    }


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> Grid:
    dataset = made_dataset(Making(task=TASK, pairs=(NAMES[:2], NAMES[1:])))
    systems = find_candidates(["experts", "minirocket"])
    scope = Scope(pairs=[NAMES[:2]], seeds=[0, 1, 2], candidates=systems)
    entries = list_entries(dataset, scope, list(SUBSET_SUITES))
    grid = extend_grid(tmp_path_factory.mktemp("g") / "grid", dataset, Source("limbs"), entries)
    for placed in grid.placed:
        folder = grid.run_folder(placed.address)
        folder.mkdir(parents=True)
        (folder / TIMING).write_text('{"seconds": 1.0}')
        (folder / RESULT).write_text(json.dumps(made(placed.entry)))
        seal(folder, {})
    return grid


@pytest.fixture(scope="module")
def panel(grid) -> SubsetPanel:
    return SubsetPanel(read_runs(grid), "subsets", NAMES)


def test_the_heat_map_shows_means_and_differences_from_the_anchor(panel):
    heat = subset_heat(panel)
    assert heat.columns == ["experts", "MiniRocket", "constant"]
    assert heat.rows == [" + ".join(subset) for subset in SUBSETS]
    assert len(heat.cells) == len(SUBSETS) * 3
    arm, voice = heat.cells["arm", "experts"], heat.cells["voice", "experts"]
    assert arm.mean == pytest.approx(0.64)  # accuracy is a point above the share
    assert (arm.note, arm.is_clear) == ("+3.0", True)
    assert (voice.note, voice.is_clear) == ("−3.0", True)
    assert not heat.cells["leg", "experts"].is_clear
    assert heat.cells["leg", "MiniRocket"].note == ""
    assert heat.cells["leg", "constant"].mean == pytest.approx(0.21)
    best = max(heat.cells, key=lambda place: heat.cells[place].share)
    assert best == ("arm + leg + voice", "experts")
    assert heat.cells[best].share == 1.0


def test_colours_follow_the_direction_of_the_metric(panel):
    from mmalign.experiments.report.measures import CLASSIFICATION, REGRESSION

    means = {("a", "x"): 0.2, ("b", "x"): 0.6, ("c", "x"): float("nan")}
    high, low = (shares_of(means, kind[0]) for kind in (CLASSIFICATION, REGRESSION))
    assert (high["a", "x"], high["b", "x"], high["c", "x"]) == (PALEST, 1.0, 0.0)
    assert (low["a", "x"], low["b", "x"]) == (1.0, PALEST)


def test_the_table_has_spread_floor_and_the_best_dedicated_system(panel):
    rows = {row.title: [cell.plain for cell in row.cells] for row in subset_table(panel, "t").rows}
    assert list(rows) == [" + ".join(subset) for subset in SUBSETS]
    scores = ["64.0 ± 1.0", "61.0 ± 0.9", "21.0"]
    assert rows["arm"] == [*scores, "MiniRocket", "+3.0 [+2.8, +3.2]"]


def test_the_sentence_counts_what_the_rows_say(panel):
    told = answer_sentence(panel.standings(), "3 seeds")
    assert told == (
        "Use experts, except with voice: one model is ahead of MiniRocket, trained separately for "
        "each subset, on 4 of 7 subsets (clearly on 4) and behind on 1 (clearly on 1) (3 seeds)."
    )


def redrawable(runs, wrong: dict[str, int], clips: int = 40):
    """The same results with errors of clips: so many are wrong, the same in every seed."""

    def known(run):
        count = wrong.get(run.entry.system, 0)
        errors = [1] * count + [0] * (clips - count)
        found = [
            {**one, "test": {**one["test"], "clips": clips, "errors": errors}}
            for one in run.result["subsets"]
        ]
        return replace(run, result={**run.result, "subsets": found})

    return replace(runs, planned=tuple(known(run) for run in runs.planned))


@pytest.mark.parametrize(("wrong", "clear"), [(12, True), (1, False)])
def test_clear_is_what_stays_so_when_clips_are_drawn_anew(panel, wrong, clear):
    many = {"experts": max(0, -wrong), "MiniRocket": max(0, wrong)}
    redrawn = SubsetPanel(redrawable(panel.runs, many), "subsets", NAMES)
    (arm,) = [one for one in redrawn.standings() if one.subset == ("arm",)]
    assert arm.redrawn.mean == pytest.approx(wrong / 40)
    assert (arm.verdict == 1) is clear  # over seeds alone it is
    assert redrawn.over == "3 seeds, 40 test clips"
    cells = next(row for row in subset_table(redrawn, "t").rows if row.title == "arm").cells
    assert cells[-2].plain == "+3.0 [+2.8, +3.2]"
    assert cells[-1].plain.startswith(f"{100 * wrong / 40:+.1f} [".replace("-", "−"))


def test_older_results_and_other_metrics_are_judged_by_seeds_alone(panel):
    assert all(one.redrawn is None for one in panel.standings())
    assert panel.over == "3 seeds"
    by_f1 = replace(redrawable(panel.runs, {"experts": 0, "MiniRocket": 9}), decides="weighted_f1")
    assert SubsetPanel(by_f1, "subsets", NAMES).redrawn("experts", "MiniRocket", ("arm",)) is None


def test_the_first_picture_says_how_far_ahead_and_how_sure(panel, tmp_path):
    redrawn = SubsetPanel(
        redrawable(panel.runs, {"experts": 4, "MiniRocket": 16}), "subsets", NAMES
    )
    picture = answer_picture(redrawn, "answer")
    assert "arm: +30.0 [+" in picture.alt
    assert "resampled" in picture.caption
    for told in (b"minus the best rival", b"95 % interval", b"answer (floor)"):
        assert told in picture.light
    assert picture.light.count(b"against MiniRocket") == len(SUBSETS)
    assert "over seeds;" in answer_picture(panel, "answer").caption
    save_answer(panel, tmp_path / "which.png")
    assert (tmp_path / "which.png").read_bytes()[:4] == b"\x89PNG"


ROWS = [
    ([], "cannot say which to use"),
    ([(0.1, 1), (0.2, 1)], r"Use experts: .* 2 of 2 subsets \(clearly on 2\) and behind on 0 "),
    (
        [(0.1, 0), (-0.1, 0)],
        r"no clear winner .* 1 of 2 subsets \(clearly on 0\) and behind on 1 \(",
    ),
    (
        [(-0.1, -1)],
        r"Use MiniRocket rather than experts: .* 0 of 1 subset and behind on 1 \(",
    ),
    ([(0.1, 1), (-0.1, -1)], "Use experts, except with b: "),
]


@pytest.mark.parametrize(("rows", "told"), ROWS)
def test_the_sentence_claims_no_more_than_it_may(rows, told):
    standings = [
        Standing((name,), "MiniRocket", gain, sign)
        for name, (gain, sign) in zip("ab", rows, strict=False)
    ]
    assert re.search(told, answer_sentence(standings, "5 seeds"))


@pytest.mark.parametrize("suite", ["random-missing", "gaps"])
def test_curves_hold_every_rate_and_the_floor(grid, suite):
    panel = RatePanel(read_runs(grid), suite, NAMES)
    levels = panel.levels("experts")
    assert list(levels) == panel.rates
    assert levels[0.5].mean == pytest.approx(0.9 - 0.25 + 0.01)
    assert panel.floor == pytest.approx(0.21)
    rows = {row.title: [c.plain for c in row.cells] for row in rate_table(panel, "t").rows}
    assert rows["experts"][-1] == "56.0 ± 0.5"
    assert set(rows["constant"]) == {"21.0"}
    if suite == "gaps":
        assert rows["experts, trained with gaps"][0] == "–"


def test_the_page_begins_with_the_answer_and_every_score_is_in_the_file(grid):
    page = write_report(grid, grid.folder / "report")
    titles = re.findall(r'<a href="#([\w-]+)">', page.read_text())
    assert [name for name in titles if name != "content"][:3] == ["which", "random-missing", "gaps"]
    figures = {file.stem for file in Path(page.parent / "figures").iterdir()}
    assert figures == {"answer-1", "subsets-1", "random-missing-1", "gaps-1"}
    rows = list(csv.DictReader((page.parent / "tables" / "scores.csv").open()))
    arm = [
        r for r in rows if (r["suite"], r["visible"], r["metric"]) == ("subsets", "arm", "accuracy")
    ]
    assert len(arm) == 2 * 3
    assert {r["setting"] for r in rows if r["suite"] == "gaps"} == {"0", "0.1", "0.3", "0.5", "0.7"}
