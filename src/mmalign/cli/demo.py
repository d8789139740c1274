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
    from mmalign.experiments.grid import Grid
    from mmalign.experiments.report.subset_scores import SubsetPanel

OWN = {"grid", "report", "model", "which.png", "clips.png", "missingness.png", "plan.png"}
"""What a demo leaves in its directory; the last two are those of an older one."""


def demo(
    out: Annotated[
        Path, typer.Option(help="Directory for the pictures, results and report.")
    ] = Path("demo-output"),
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of epochs. Default: that of each method."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Number of seeds for each method.")] = 3,
) -> None:
    """Compare methods on smartwatch data while each sensor is switched off.

    It trains one model for all cases, and rivals for each case alone.

    It does what `mmalign bench smartwatch --suite subsets --seeds 3` does.

    Run the same command again to resume an interrupted demo.
    """
    from mmalign.experiments.engines.threads import ONE_THREAD

    _require_own(out)
    os.environ.update(ONE_THREAD)  # before numpy and torch are imported
    compile_once("experts", "network")
    from mmalign.cli.grid_progress import run_visibly
    from mmalign.experiments.engines.local import LocalEngine

    with LocalEngine() as engine:
        from mmalign.data import smartwatch

        dataset = smartwatch()
        _introduce(dataset)
        out.mkdir(parents=True, exist_ok=True)
        _draw_clips(dataset, out / "clips.png")
        grid = _plan(dataset, out / "grid", epochs, seeds)
        run_visibly(grid, engine, out)
    _conclude(grid, out)


def _require_own(out: Path) -> None:
    """Check that nothing else is where the demo writes.

    Raises:
        ConfigError: If something is.
    """
    strangers = {file.name for file in out.iterdir()} - OWN if out.is_dir() else set()
    if out.is_file() or strangers:
        found = "it is a file" if out.is_file() else f"it holds {min(strangers)}"
        raise ConfigError(f"--out {out}: not a directory of the demo ({found}); choose another")


def _introduce(dataset: "Dataset") -> None:
    """Say what there is to predict, from what, and for whom."""
    train, test = dataset["train"], dataset["test"]
    people = {split: len({*(dataset[split].groups or ())}) for split in dataset.splits}
    typer.echo(
        f"Task: recognise {dataset.task.outputs} exercises of people who wear a smartwatch, "
        f"from {' and '.join(dataset.modalities)}.\n"
        f"Data: {len(train)} training clips of {people['train']} people, {len(test)} test clips of "
        f"{people['test']} other people."
    )


def _draw_clips(dataset: "Dataset", file: Path) -> None:
    """Draw a clip with both sensors, and one for each sensor that died."""
    from mmalign.data import PatternProtocol
    from mmalign.experiments.pictures import draw_clips

    dying = PatternProtocol(patterns=dict.fromkeys(dataset.modalities, 0.3)).apply(dataset)
    draw_clips(dying, file, unit="standard deviations", step="step of 0.1 s")


def _plan(dataset: "Dataset", folder: Path, epochs: int | None, seeds: int) -> "Grid":
    from mmalign.cli.bench import choose_systems
    from mmalign.experiments.grid import extend_grid
    from mmalign.experiments.scope import Scope
    from mmalign.experiments.source import Source
    from mmalign.experiments.subset_suites import SUBSETS
    from mmalign.experiments.suites import all_pairs, list_entries

    scope = Scope(
        pairs=all_pairs(dataset),
        seeds=range(seeds),
        settings={} if epochs is None else {"epochs": epochs},
        **choose_systems([SUBSETS], None),
    )
    entries = list_entries(dataset, scope, [SUBSETS])
    return extend_grid(folder, dataset, Source("smartwatch"), entries)


def _conclude(grid: "Grid", out: Path) -> None:
    """Show scores and answer, and leave the picture, the page and the model."""
    import mmalign
    from mmalign.experiments.report.pictures.answer import save_answer
    from mmalign.experiments.report.runs import read_runs
    from mmalign.experiments.report.subset_scores import SubsetPanel, answer_sentence
    from mmalign.experiments.report.writing import write_report
    from mmalign.experiments.subset_suites import SUBSETS
    from mmalign.experiments.systems import ONE_MODEL

    runs = read_runs(grid)
    panel = SubsetPanel(runs, SUBSETS, tuple(runs.grid.data["dims"]))
    _print_scores(panel)
    typer.secho(answer_sentence(panel.standings(), panel.over), bold=True)
    save_answer(panel, out / "which.png")
    trained = next(placed for placed in grid.placed if placed.entry.system == ONE_MODEL)
    mmalign.load(grid.run_folder(trained.address)).save(out / "model")
    typer.echo(f"picture: {out}/which.png (the data: {out}/clips.png)")
    typer.echo(f"report: {write_report(grid, out / 'report')}")
    typer.echo(f"try it in a browser: {_command()} serve {out}/model --examples smartwatch")


def _print_scores(panel: "SubsetPanel") -> None:
    """Show what each system scores with what is left of the sensors."""
    from mmalign.cli.tables import print_table
    from mmalign.experiments.report.main_tables import CONSTANT
    from mmalign.experiments.report.subset_scores import subset_title
    from mmalign.experiments.systems import LOWER, ONE_MODEL

    titles = {
        ONE_MODEL: "experts, one model for all",
        LOWER: "LB, the paper's network, one per subset",
    }
    floor = [100 * panel.floor(subset, panel.measure) for subset in panel.subsets]
    rows = {f"{CONSTANT}, the majority class": floor}
    for system in panel.systems:
        title = titles.get(system, f"{system} + ridge, one per subset")
        rows[title] = [100 * panel.mean(system, subset) for subset in panel.subsets]
    typer.secho(f"Test accuracy by available sensors ({panel.over})", bold=True)
    print_table([*map(subset_title, panel.subsets)], rows, form="{:.1f} %")


def _command() -> str:
    """What starts mmalign again, as it was started."""
    if Path(sys.argv[0]).name == "__main__.py":
        return f"{sys.executable} -m mmalign"
    return "mmalign" if shutil.which("mmalign") else sys.argv[0]
