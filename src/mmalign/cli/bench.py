"""`mmalign bench`: the paper's tables and figures, run on all cores or on a cluster."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mmalign.cli import options
from mmalign.cli.kernels import COMPILERS, compile_once
from mmalign.errors import ConfigError, shown

if TYPE_CHECKING:
    from mmalign.experiments.engines.contract import Engine
    from mmalign.experiments.grid import Grid
    from mmalign.experiments.keeping import Keep

ALL = "all"


BESIDE_A_STUDY = ("data", "out", "engine", "jobs", "address", "root", "only")
"""What `bench` takes beside a study file."""


def bench(
    context: typer.Context,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Directory to create or resume.")],
    suite: Annotated[
        list[str] | None,
        typer.Option(
            help="subsets, random-missing or gaps; the paper's main, ablation, window, epsilon, "
            "speed, alignment or case; or all of the paper's. May be repeated."
        ),
    ] = None,
    modalities: Annotated[
        str | None,
        typer.Option(help="Modalities whose subsets to test: a,b,…  Default: all."),
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(help="Pairs, as visible:victim,…  Default: all ordered pairs.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods to compare: a,b,… (subsets: experts,minirocket,lb,…)."),
    ] = None,
    survival: Annotated[
        str, typer.Option(help="Shares of training clips that keep the victim.")
    ] = "0.1,0.5",
    seeds: options.Seeds = "5",
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    strong: options.Strong = False,
    engine: options.EngineName = "local",
    jobs: options.Jobs = None,
    address: options.Address = None,
    keep: Annotated[
        Literal["weights", "best", "nothing"],
        typer.Option(help="Weights to keep: of all runs, of each best seed, or of none."),
    ] = "weights",
    root: Annotated[
        Path | None,
        typer.Option(
            help="Directory that paths in a study file start from. Default: that of the file."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Run this dataset of a study only; may be repeated.")
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="List the runs, and which are done, without running any.")
    ] = False,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Compare methods on a dataset, or on all datasets of a study file (.toml).

    Run the same command again to resume, and to retry runs that failed.

    Exits with 1 if some runs failed.
    """
    from mmalign.experiments.engines.threads import ONE_THREAD

    os.environ.update(ONE_THREAD)  # before numpy and torch are imported
    if Path(data).suffix == ".toml":
        _refuse_beside_study(context)
        conduct_study(Path(data), root, only, options.make_engine(engine, jobs, address), out)
        return
    if not suite:
        raise ConfigError(
            "no suite given. Add --suite subsets, or give a study file (.toml) as the data"
        )
    from mmalign.experiments.grid import extend_grid, plan_grid
    from mmalign.experiments.scope import Scope
    from mmalign.experiments.suites import all_pairs, list_entries
    from mmalign.training.config import STRONG

    names = list_suites(suite)
    reach: dict[str, Any] = {
        "survivals": parse_rates(survival),
        "seeds": options.parse_seeds(seeds),
        "modalities": [] if modalities is None else options.split_list(modalities),
        "settings": {
            **(STRONG if strong else {}),
            **options.choose_settings(bench, config, settings),
        },
        **choose_systems(names, methods),
    }
    asked = None if pairs is None else parse_pairs(pairs)
    source = options.make_source(data, non_finite=non_finite, label=label, vectors=vectors)
    runner: Any = nullcontext() if only_list else options.make_engine(engine, jobs, address)
    with runner:
        dataset = source.load()
        scope = Scope(pairs=all_pairs(dataset) if asked is None else asked, **reach)
        entries = list_entries(dataset, scope, names)
        if only_list:
            _print_list(plan_grid(out, dataset, source, entries).only(entries))
            return
        grid = extend_grid(out, dataset, source, entries).only(entries)
        _run(grid, runner, out, keep)
    _conclude(grid)
    typer.echo(f"next: mmalign report {out}")


def list_suites(asked: list[str]) -> list[str]:
    """Every suite once; `all` are those of the paper."""
    from mmalign.experiments.suites import SUITES

    return list(dict.fromkeys(one for name in asked for one in (SUITES if name == ALL else [name])))


def choose_systems(suites: list[str], methods: str | None) -> dict[str, Any]:
    """Rows of the paper's suites, and of suites about subsets; what was not asked for is left out.

    Raises:
        ConfigError: If a suite has no such row, or MiniRocket is asked for and cannot be trained.
    """
    from mmalign.experiments.anchors.minirocket import INSTALL, is_installed, require_installed
    from mmalign.experiments.anchors.minirocket import KIND as MINIROCKET
    from mmalign.experiments.subset_suites import SUBSET_SUITES
    from mmalign.experiments.systems import USUAL, find_candidates, find_systems

    is_of_subsets = [name in SUBSET_SUITES for name in suites]
    asked = None if methods is None else options.split_list(methods)
    found: dict[str, Any] = {}
    if asked is not None and not all(is_of_subsets):
        found["systems"] = find_systems(asked)
    if any(is_of_subsets):
        names = list(USUAL) if asked is None else asked
        if asked is not None and MINIROCKET in asked:
            require_installed()
        elif MINIROCKET in names and not is_installed():
            names = [name for name in names if name != MINIROCKET]
            typer.echo(f"skipping MiniRocket; to include it: {INSTALL}", err=True)
        found["candidates"] = find_candidates(names)
    return found


def _refuse_beside_study(context: typer.Context) -> None:
    """Refuse every option that was given beside a study file and that the file states itself."""
    given = [
        f"{parameter.opts[0]}: a study file says what is run"
        for parameter in context.command.params
        if parameter.name not in BESIDE_A_STUDY and _is_given(context, parameter.name)
    ]
    if given:
        raise ConfigError(given)


def _is_given(context: typer.Context, name: str | None) -> bool:
    source = None if name is None else context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def conduct_study(
    file: Path, root: Path | None, only: list[str] | None, engine: "Engine", out: Path
) -> None:
    """Run a study file, dataset by dataset."""
    from mmalign.experiments.conducting import conduct, start_study
    from mmalign.experiments.study import read_study

    study = read_study(file, root=root)
    if only:
        study = study.only(only)
    with engine:
        grids = conduct(
            study,
            start_study(study, out),
            lambda grid: _run(grid, engine, grid.folder, study.keep),
        )
    for grid in grids:
        _conclude(grid)
    typer.echo(f"next: mmalign report {out}")


def _run(grid: "Grid", engine: "Engine", out: Path, keep: "Keep") -> None:
    from mmalign.cli.grid_progress import run_visibly

    if grid.pending():
        compile_once(*COMPILERS)
    run_visibly(grid, engine, out, keep=keep)


def _conclude(grid: "Grid") -> None:
    failures = grid.failures()
    done = len(grid.jobs) - len(grid.pending())
    typer.echo(f"{done} of {len(grid.jobs)} runs are done: {grid.folder / 'results.csv'}")
    if failures:
        typer.echo(f"{len(failures)} failed:", err=True)
        for run, error in failures.items():
            line = f"{grid.describe(run)}: {error} ({grid.run_folder(run)})"
            typer.echo(f"  {shown(line)}", err=True)
        raise typer.Exit(1)


def _print_list(grid: "Grid") -> None:
    pending, failures = grid.pending(), grid.failures()
    for run in grid.jobs:
        state = "failed" if run in failures else "to do" if run in pending else "done"
        typer.echo(f"{state:6}  {shown(f'{run}  {grid.describe(run)}')}")
    done = len(grid.jobs) - len(pending)
    typer.echo(
        f"{len(grid.placed)} entries, {len(grid.jobs)} runs: {done} done, "
        f"{len(pending) - len(failures)} to do, {len(failures)} failed"
    )


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Pairs from `visible:victim,…`.

    Raises:
        ConfigError: If a pair has no colon.
    """
    pairs = []
    for part in options.split_list(text):
        visible, colon, victim = part.partition(":")
        if not (visible and colon and victim):
            raise ConfigError(f"--pairs: {part!r} is not of the form visible:victim")
        pairs.append((visible.strip(), victim.strip()))
    return pairs


def parse_rates(text: str) -> list[float]:
    """Survival rates from `0.1,0.5`.

    Raises:
        ConfigError: If one is no number.
    """
    try:
        return [float(part) for part in options.split_list(text)]
    except ValueError as error:
        raise ConfigError(f"--survival: {text!r} is not a list of numbers") from error
