"""`mmalign demo`: the main job on the data that comes with the install."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmalign.cli.kernels import compile_once
from mmalign.errors import ConfigError

if TYPE_CHECKING:
    from mmalign.data import Dataset
    from mmalign.estimator import MMAlign
    from mmalign.experiments.grid import Grid

VISIBLE, VICTIM, SURVIVAL = "accelerometer", "gyroscope", 0.1
METHODS = ("lb", "zero-fill", "mmalign-improved")
PAPER = ("main",)
OWN = {"grid", "report", "model", "clips.png", "missingness.png", "plan.png"}
"""What the demo leaves in its directory."""


def demo(
    out: Annotated[Path, typer.Option(help="Directory for pictures, results and report.")] = Path(
        "demo-output"
    ),
    epochs: Annotated[int, typer.Option(min=1, help="Most epochs of training.")] = 20,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each method.")] = 3,
) -> None:
    """Train one model on smartwatch data, let each sensor die, and say whether to use it.

    Beside it stand what one would train for each sensor alone, and the paper's imputers. Start the
    same command again to continue a demo that was stopped.
    """
    from mmalign.experiments.engines.threads import ONE_THREAD

    _require_own(out)
    os.environ.update(ONE_THREAD)  # before numpy and torch are imported
    compile_once()
    from mmalign.cli.grid_progress import GridProgress
    from mmalign.experiments.engines.local import LocalEngine
    from mmalign.experiments.running import run_grid

    with LocalEngine() as engine:
        from mmalign.cli.tables import print_description
        from mmalign.data import smartwatch
        from mmalign.evaluation.inspection import inspect_dataset
        from mmalign.experiments.report.writing import write_report

        dataset = smartwatch()
        print_description("smartwatch", inspect_dataset(dataset))
        out.mkdir(parents=True, exist_ok=True)
        _draw_data(dataset, out)
        grid = _plan(dataset, out / "grid", epochs, seeds)
        with GridProgress(grid) as progress:
            run_grid(grid, engine, progress.show)
    _print_scores(grid, seeds)
    _draw_alignment(dataset, _trained(grid, "mmalign-improved"), out / "plan.png")
    _trained(grid, "experts").save(out / "model")
    answer = _print_subsets(grid, seeds)
    typer.echo(f"pictures: {out}/clips.png, missingness.png, plan.png; model: {out}/model")
    typer.secho(answer, bold=True)
    typer.echo(f"report: {write_report(grid, out / 'report')}")
    command = "mmalign" if shutil.which("mmalign") else sys.argv[0]
    typer.echo(f"try it in a browser: {command} serve {out}/model --examples smartwatch")


def _require_own(out: Path) -> None:
    """Check that nothing else is where the demo writes.

    Raises:
        ConfigError: If something is.
    """
    strangers = {file.name for file in out.iterdir()} - OWN if out.is_dir() else set()
    if out.is_file() or strangers:
        found = "it is a file" if out.is_file() else f"it holds {min(strangers)}"
        raise ConfigError(f"--out {out}: not a directory of the demo ({found}); name another")


def _draw_data(dataset: "Dataset", out: Path) -> None:
    from mmalign.data import Protocol
    from mmalign.experiments.pictures import draw_clips, draw_missingness

    versions = [("all there", dataset)]
    for setting in ("A", "B"):
        protocol = Protocol(visible=VISIBLE, victim=VICTIM, survival=SURVIVAL, setting=setting)
        versions.append((f"survival {SURVIVAL:.0%}, setting {setting}", protocol.apply(dataset)))
    draw_clips(versions[1][1], out / "clips.png")
    draw_missingness(versions, out / "missingness.png")


def _plan(dataset: "Dataset", folder: Path, epochs: int, seeds: int) -> "Grid":
    from mmalign.cli.bench import choose_systems
    from mmalign.experiments.grid import extend_grid
    from mmalign.experiments.scope import Scope
    from mmalign.experiments.source import Source
    from mmalign.experiments.subset_suites import SUBSETS
    from mmalign.experiments.suites import list_entries
    from mmalign.experiments.systems import find_systems

    suites = [SUBSETS, *PAPER]
    scope = Scope(
        pairs=[(VISIBLE, VICTIM)],
        survivals=[SURVIVAL],
        seeds=range(seeds),
        systems=find_systems(METHODS),
        settings={"epochs": epochs, "patience": 8},
        **choose_systems(suites, None),
    )
    return extend_grid(folder, dataset, Source("smartwatch"), list_entries(dataset, scope, suites))


def _print_subsets(grid: "Grid", seeds: int) -> str:
    """Show what each system scores with each sensor; returns which to use, in a sentence."""
    from mmalign.cli.tables import print_table
    from mmalign.experiments.report.main_tables import CONSTANT
    from mmalign.experiments.report.runs import read_runs
    from mmalign.experiments.report.subset_scores import SubsetPanel, answer_sentence, subset_title
    from mmalign.experiments.subset_suites import SUBSETS

    runs = read_runs(grid)
    panel = SubsetPanel(runs, SUBSETS, tuple(runs.grid.data["dims"]))
    floor = [100 * panel.floor(subset, panel.measure) for subset in panel.subsets]
    rows = {
        system: [100 * panel.mean(system, subset) for subset in panel.subsets]
        for system in panel.systems
    }
    typer.secho(
        f"test accuracy, mean over {seeds} seeds, with what is left of the sensors", bold=True
    )
    print_table([*map(subset_title, panel.subsets)], {CONSTANT: floor} | rows, form="{:.1f} %")
    return answer_sentence(panel.standings(), runs.seed_count(SUBSETS))


def _print_scores(grid: "Grid", seeds: int) -> None:
    from mmalign.cli.tables import print_table

    rows: dict[str, list[list[float]]] = {}
    for entry, result in grid.results():
        if entry.suite == "main":
            tests = [found["metrics"]["test"] for found in result["settings"].values()]
            rows.setdefault(entry.system, []).append([scores["accuracy"] for scores in tests])
            floor = [100 * result["floor"]["test"]["accuracy"]] * 2
    means = {
        title: [100 * sum(column) / len(column) for column in zip(*scores, strict=True)]
        for title, scores in rows.items()
    }
    title = f"test accuracy, mean over {seeds} seeds, when {VICTIM} survives in "
    typer.secho(f"{title}{SURVIVAL:.0%} of the training clips", bold=True)
    columns = "A: never at test", f"B: in {SURVIVAL:.0%} of test"
    print_table(columns, {"majority class": floor} | means, form="{:.1f} %")


def _trained(grid: "Grid", name: str) -> "MMAlign":
    """The model of a system's first seed."""
    import mmalign
    from mmalign.experiments.systems import CANDIDATES, SYSTEMS

    title, _ = {**CANDIDATES, **SYSTEMS}[name]
    placed = next(placed for placed in grid.placed if placed.entry.system == title)
    return mmalign.load(grid.run_folder(placed.address))


def _draw_alignment(dataset: "Dataset", model: "MMAlign", file: Path) -> None:
    from mmalign.experiments.pictures import draw_plans

    clips = dataset["test"].select([0])
    plans = {
        "solver's plan, from both modalities": model.align(clips)[0],
        f"predicted from the {VISIBLE} alone": model.align(clips.without(VICTIM, clips.ids))[0],
    }
    draw_plans(plans, clips[0], file, visible=VISIBLE, victim=VICTIM)
