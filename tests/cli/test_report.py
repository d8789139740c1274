"""`mmalign report`, run as a stranger would."""

from mmalign.experiments.conducting import STUDY
from mmalign.runs.records import write_sealed
from tests.cli.many import mmalign_many
from tests.experiments.report.made import Making, make_grid


def test_a_report_is_written_and_mistakes_are_one_line_with_exit_code_2(tmp_path):
    making = Making(suites=("main",), survivals=(0.5,), seeds=(0, 1))
    good = make_grid(tmp_path / "good", making, is_done=lambda e: e.system != "copy").folder
    empty = make_grid(tmp_path / "empty", making, is_done=lambda _: False).folder
    broken = make_grid(tmp_path / "broken", making).folder
    (broken / "grid.json").write_text('{"mmalign": ')
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    answers = mmalign_many(
        [
            ["report", good],
            ["report", good, "--out", tmp_path / "elsewhere"],
            ["report", tmp_path / "nowhere"],
            ["report", empty],
            ["report", broken],
            ["report", good, "--out", mine],
        ]
    )
    assert [answer.returncode for answer in answers] == [0, 0, 2, 2, 2, 2]
    assert (good / "report" / "report.html").exists()
    assert (tmp_path / "elsewhere" / "tables" / "scores.csv").exists()
    assert "2 of 30 runs are not finished" in answers[0].stdout
    for answer, told in zip(
        answers[2:],
        ("holds no grid", "no run is finished", "not readable", "not a report"),
        strict=True,
    ):
        assert told in answer.stderr
        assert len(answer.stderr.splitlines()) == 1


def test_a_study_without_finished_runs_names_the_command_of_the_study(tmp_path):
    making = Making(suites=("main",), survivals=(0.5,), seeds=(0, 1))
    half, bare = tmp_path / "half", tmp_path / "bare"
    for study, titles in ((half, ["watch", "mosi", "meld"]), (bare, ["watch"])):
        study.mkdir()
        write_sealed(study / STUDY, {"title": "Mine", "grids": {t: t for t in titles}})
        make_grid(study / titles[-1], making, is_done=lambda _: False)
    make_grid(half / "mosi", making, is_done=lambda entry: entry.system != "copy")
    some, none = mmalign_many([["report", half], ["report", bare]])
    again = "Go on with mmalign bench STUDY.toml --out"
    assert some.returncode == 0
    assert "mosi: 2 of 30 runs are not finished" in some.stdout
    for title in ("watch", "meld"):
        assert f"{title}: left out, no run is finished. {again} {half}." in some.stdout
    assert (none.returncode, none.stdout) == (2, "")
    assert f"{bare}: no dataset of the study has a finished run. {again} {bare}." in none.stderr
