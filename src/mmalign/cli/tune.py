"""`mmalign tune`: the settings that validate best."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmalign.cli.options import Data, Device, Label, NonFinite, Vectors, parse_seeds
from mmalign.cli.train import parse_settings

if TYPE_CHECKING:
    from mmalign.data import Dataset
    from mmalign.experiments.tuning import Search, Trial, Tuned

SHOWN = 5


def tune(
    data: Data,
    visible: Annotated[str, typer.Option(help="Modality that is always there.")],
    victim: Annotated[str, typer.Option(help="Modality that may be missing.")],
    out: Annotated[Path, typer.Option(help="Directory of the search: to create, join or resume.")],
    survival: Annotated[float, typer.Option(help="Share of clips that keep the victim.")] = 0.1,
    setting: Annotated[
        str, typer.Option(help="A: victim missing in all of valid; B: as in train.")
    ] = "A",
    method: Annotated[str | None, typer.Option(help="Who imputes. Default: mmalign.")] = None,
    space: Annotated[
        str,
        typer.Option(help="paper-mosi, paper-mosei, paper-meld, ranges, or a TOML file."),
    ] = "ranges",
    trials: Annotated[int, typer.Option(help="Trials in all, those of earlier starts too.")] = 30,
    jobs: Annotated[int, typer.Option(help="Processes of one thread each.")] = 1,
    seeds: Annotated[
        str, typer.Option(help="A trial is the mean over so many, or these: 3, 0-2, 0,3,7.")
    ] = "1",
    search_seed: Annotated[int, typer.Option(help="Order of a grid, or the sampler's draws.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting that is not searched, e.g. epochs=20."),
    ] = None,
    non_finite: NonFinite = "reject",
    label: Label = None,
    vectors: Vectors = None,
    device: Device = "auto",
) -> None:
    """Search for the settings that validate best; the test split is not read.

    Killed, the same command goes on where it stopped; started twice, both share the work.
    """
    from mmalign.experiments.tuning import require_optuna

    require_optuna()
    import torch

    from mmalign.data import Protocol
    from mmalign.experiments.tuning import Search
    from mmalign.experiments.tuning import tune as run_search
    from mmalign.experiments.tuning.spaces_file import find_space
    from mmalign.predictor.device import choose_device

    torch.set_num_threads(1)
    chosen: dict[str, Any] = parse_settings(settings or [])
    search = Search(
        dataset=_open(data, non_finite=non_finite, label=label, vectors=vectors),
        protocol=Protocol(visible=visible, victim=victim, survival=survival, setting=setting),
        settings=chosen | ({"method": method} if method is not None else {}),
        space=find_space(space),
        seeds=tuple(parse_seeds(seeds)),
        search_seed=search_seed,
        device=choose_device(device),
    )
    for name, why in search.useless.items():
        typer.echo(f"not searched: {name} ({why})", err=True)
    with SearchLine(trials) as live:
        tuned = run_search(search, out, trials=trials, jobs=jobs, on_change=live.show)
    _print_tuned(search, tuned, out)


def _open(data: str, *, non_finite: Any, label: str | None, vectors: Path | None) -> "Dataset":
    """Train and valid; test leaves before anything looks at its features."""
    from dataclasses import replace

    from mmalign.data import open_dataset
    from mmalign.data.non_finite import apply_policy
    from mmalign.data.readers import ReadOptions
    from mmalign.errors import located

    dataset = open_dataset(data, ReadOptions(label=label, vectors=vectors))
    splits = {name: split for name, split in dataset.splits.items() if name != "test"}
    with located(file=data):
        return apply_policy(replace(dataset, splits=splits), non_finite)


class SearchLine:
    """A bar with the best score so far on a terminal; one plain line a trial elsewhere."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.seen: set[int] | None = None
        self.bar: Any = None

    def __enter__(self) -> "SearchLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, trials: "list[Trial]") -> None:
        """Show what is new since the last call."""
        from mmalign.experiments.tuning.trial import ranked
        from mmalign.progress import start_bar

        best = next(
            (f"best {t.score:.4f} (trial {t.number})" for t in ranked(trials)), "no score yet"
        )
        finished = [trial for trial in trials if trial.is_finished]
        if sys.stderr.isatty():
            self.bar = self.bar or start_bar("", self.total, is_kept=True)
            self.bar.update(self.bar.task_ids[0], completed=len(finished), description=best)
            return
        if self.seen is None:
            if finished:
                typer.echo(f"going on after {len(finished)} trials, {best}", err=True)
            self.seen = {trial.number for trial in finished}
        for trial in finished:
            if trial.number not in self.seen:
                typer.echo(f"{_line(trial)} | {len(finished)} of {self.total}, {best}", err=True)
        self.seen |= {trial.number for trial in finished}


def _line(trial: "Trial") -> str:
    outcome = f"{trial.score:.4f}" if trial.state == "complete" else trial.state
    return f"trial {trial.number}: {outcome}, {trial.seconds:.1f} s"


def _print_tuned(search: "Search", tuned: "Tuned", out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from mmalign.experiments.tuning.picture import score_name

    best = tuned.ranking[:SHOWN]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True, min_width=20)
    table.add_column("share", justify="right")
    for trial in best:
        table.add_column(f"trial {trial.number}", justify="right")
    scores = (f"{trial.score:.4f}" for trial in best)
    table.add_row(f"valid {score_name(search)}", "", *scores, style="bold")
    for name in tuned.importances or search.searched.dimensions:
        share = f"{tuned.importances[name]:.0%}" if tuned.importances else "-"
        table.add_row(name, share, *(_shown(trial.point[name]) for trial in best))
    finished = sum(trial.is_finished for trial in tuned.trials)
    diverged = finished - len(tuned.ranking)
    typer.echo(f"{finished} trials, {diverged} of them diverged; the best:")
    Console().print(table)
    typer.echo(f"best settings: {out}/best.toml; also trials.csv, importance.png, study.db")


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
