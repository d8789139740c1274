"""`mmalign tune`: the settings that validate best."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmalign.cli import options
from mmalign.cli.kernels import compile_once
from mmalign.cli.stopping import say_stopped
from mmalign.errors import ConfigError, counted
from mmalign.progress import Display, start_bar

if TYPE_CHECKING:
    from mmalign.experiments.tuning import Search, Trial, Tuned

SHOWN = 5


def tune(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Search directory to create or resume.")],
    visible: options.Visible = None,
    victim: options.Victim = None,
    survival: options.Survival = 0.1,
    setting: Annotated[
        str, typer.Option(help="A: valid lacks the victim; B: it lacks it as often as train.")
    ] = "A",
    method: options.Method = None,
    space: Annotated[
        str,
        typer.Option(
            help="Search space: paper-mosi, paper-mosei, paper-meld, ranges, or a TOML file."
        ),
    ] = "ranges",
    trials: Annotated[
        int, typer.Option(help="Total number of trials, earlier ones included.")
    ] = 30,
    seeds: Annotated[
        str, typer.Option(help="Seeds to average over: a number (3), or the seeds (0-2, or 0,3,7).")
    ] = "1",
    search_seed: Annotated[
        int, typer.Option(help="Seed of the search: order of a grid, or draws of the sampler.")
    ] = 0,
    settings: options.Settings = None,
    engine: options.EngineName = "local",
    jobs: options.Jobs = 1,
    address: options.Address = None,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
) -> None:
    """Search for the settings with the best validation score.

    It never reads the test split. Run the same command again to resume.
    """
    from mmalign.experiments.engines.threads import ONE_THREAD

    os.environ.update(ONE_THREAD)  # before numpy and torch are imported
    from mmalign.data import Protocol
    from mmalign.experiments.tuning import SEEN, Search, require_optuna
    from mmalign.experiments.tuning import tune as run_search
    from mmalign.experiments.tuning.spaces_file import find_space
    from mmalign.predictor.device import choose_device

    require_optuna()
    if visible is None or victim is None:
        raise ConfigError(
            "tune searches settings of the paper's networks: give --visible and --victim; "
            "experts, the default of mmalign train, choose theirs on the training data"
        )
    fixed = options.parse_settings(settings or []) | (
        {"method": method} if method is not None else {}
    )
    source = options.make_source(data, non_finite=non_finite, label=label, vectors=vectors)
    with options.make_engine(engine, jobs, address) as runner:
        search = Search(
            dataset=source.load(SEEN),
            protocol=Protocol(visible=visible, victim=victim, survival=survival, setting=setting),
            settings=fixed,
            space=find_space(space),
            seeds=tuple(options.parse_seeds(seeds)),
            search_seed=search_seed,
            device=choose_device(device),
            source=source,
        )
        for name, why in search.useless.items():
            typer.echo(f"not searched: {name} ({why})", err=True)
        compile_once("network", "alignment")
        with SearchProgress(trials) as progress:
            try:
                tuned = run_search(
                    search, out, trials=trials, engine=runner, on_change=progress.show
                )
            except KeyboardInterrupt as stop:
                progress.stop()
                saved = f"{progress.finished} of {trials} trials are finished"
                raise say_stopped(stop, saved, out) from None
    _print_tuned(search, tuned, out)


class SearchProgress(Display):
    """A bar with the best score so far on a terminal; one plain line a trial elsewhere."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.seen: set[int] | None = None
        self.finished = 0

    def show(self, trials: "list[Trial]") -> None:
        """Show what is new since the last call."""
        from mmalign.experiments.tuning.trial import ranked

        best = next(
            (f"best {t.score:.4f} (trial {t.number})" for t in ranked(trials)), "no score yet"
        )
        finished = [trial for trial in trials if trial.is_finished]
        self.finished = len(finished)
        if self.seen is None:
            if finished:
                state = "already done:" if self.finished >= self.total else "resuming after"
                self.say(f"{state} {counted(self.finished, 'trial')}, {best}")
            self.seen = {trial.number for trial in finished}
        if sys.stderr.isatty():
            self.bar = self.bar or start_bar("", self.total, is_kept=True)
            self.bar.update(self.bar.task_ids[0], completed=len(finished), description=best)
            return
        for trial in finished:
            if trial.number not in self.seen:
                typer.echo(f"{_line(trial)} | {len(finished)} of {self.total}, {best}", err=True)
        self.seen |= {trial.number for trial in finished}


def _line(trial: "Trial") -> str:
    outcome = f"{trial.score:.4f}" if trial.state == "complete" else trial.state
    return f"trial {trial.number}: {outcome}, {trial.seconds:.1f} s"


def _print_tuned(search: "Search", tuned: "Tuned", out: Path) -> None:
    from rich.console import Console

    from mmalign.cli.tables import new_table
    from mmalign.experiments.tuning.picture import score_name

    best = tuned.ranking[:SHOWN]
    table = new_table("", "share", *(f"trial {trial.number}" for trial in best))
    scores = (f"{trial.score:.4f}" for trial in best)
    table.add_row(f"valid {score_name(search)}", "", *scores, style="bold")
    for name in tuned.importances or search.searched.dimensions:
        share = f"{tuned.importances[name]:.0%}" if tuned.importances else "-"
        table.add_row(name, share, *(_shown(trial.point[name]) for trial in best))
    finished = sum(trial.is_finished for trial in tuned.trials)
    diverged = finished - len(tuned.ranking)
    typer.echo(f"{finished} trials, {diverged} of them diverged; the best:")
    Console().print(table)
    typer.echo(f"best settings: {out}/best.toml; also trials.csv, importance.png, study.db, runs/")


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
