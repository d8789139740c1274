"""Tables on the terminal."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mmalign.errors import counted

BAR_WIDTH = 24


def new_table(*headings: str, words: Collection[str] = ()) -> Table:
    """A table without lines: numbers stand right, the first column and those of words left."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index, heading in enumerate(headings):
        is_word = index == 0 or heading in words
        table.add_column(heading, justify="left" if is_word else "right", no_wrap=not index)
    return table


def print_description(title: str, description: dict[str, Any]) -> None:
    """Print what `inspect_dataset` found."""
    console = Console()
    task = description["task"]
    kind = task["kind"]
    if kind == "classification":
        kind += f" into {len(task['classes'])} classes"
    if all(split["labels"] is None for split in description["splits"].values()):
        kind = "no labels"
    console.print(Text(f"{title}: {kind}", style="bold"))
    console.print(_modality_table(description))
    for name, split in description["splits"].items():
        if split["labels"] is not None:
            console.print(_label_table(name, split["labels"]))
    floors = _floor_table(description)
    if floors.row_count:
        learned = "majority class" if task["kind"] == "classification" else "mean"
        console.print(f"floor: always the training {learned}", style="italic")
        console.print(floors)
    _print_warnings(console, description)


def _modality_table(description: dict[str, Any]) -> Table:
    headings = "split", "clips", "modality", "dim", "length min/25/50/75/max", "missing"
    table = new_table(*headings, words=["modality"])
    for split_name, split in description["splits"].items():
        for index, (name, modality) in enumerate(split["modalities"].items()):
            missing = modality["missing"]
            share = f"{missing} ({missing / split['clips']:.0%})" if missing else "-"
            table.add_row(
                split_name if index == 0 else "",
                f"{split['clips']}" if index == 0 else "",
                Text(name),
                str(description["modalities"][name]["dim"]),
                " ".join(map(str, modality["length_quantiles"])) or "-",
                share,
            )
    return table


def _label_table(split_name: str, histogram: dict[str, int]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, title=f"labels of {split_name}")
    table.title_justify = "left"
    total, most = sum(histogram.values()), max(histogram.values())
    for name, count in histogram.items():
        bar = "█" * round(BAR_WIDTH * count / max(most, 1))
        table.add_row(Text(name), f"{count:>6}", f"{count / total:>4.0%}", Text(bar, style="cyan"))
    return table


def _floor_table(description: dict[str, Any]) -> Table:
    """What the training majority or mean scores: a method that does not beat it knows nothing."""
    splits = {n: s["floor"] for n, s in description["splits"].items() if s["floor"] is not None}
    table = new_table("split", *next(iter(splits.values()), {}))
    for name, floor in splits.items():
        table.add_row(name, *("-" if value is None else f"{value:.3f}" for value in floor.values()))
    return table


def _print_warnings(console: Console, description: dict[str, Any]) -> None:
    for note in description["notes"]:
        console.print(Text(f"note: {note}"))
    for name, modality in description["modalities"].items():
        constant = modality["constant_features"]
        if constant:
            shown = ", ".join(map(str, constant[:8])) + (", …" if len(constant) > 8 else "")
            console.print(
                Text(f"{name}: {len(constant)} features never change ({shown})", "yellow")
            )
    for split_name, split in description["splits"].items():
        for name, modality in split["modalities"].items():
            steps, clips = modality["gap_steps"], modality["gap_clips"]
            if steps:
                verb = "step is" if steps == 1 else "steps are"
                where = counted(clips, "clip")
                console.print(f"{split_name}: {steps} {name} {verb} missing in {where}")
    for found in description["non_finite"]:
        console.print(
            Text(
                f"{found['modality']} of {found['split']}: "
                f"{counted(found['values'], 'non-finite value')} in "
                f"{counted(found['clips'], 'clip')}, first in clip {found['first_clip']}, step "
                f"{found['first_step']}, feature {found['first_feature']}; "
                "convert with --non-finite zero, clip or gap",
                "yellow",
            )
        )


def print_scores(rows: dict[str, dict[str, Any]]) -> None:
    """Print one line of metrics a row; per-class scores and the loss are left to the files."""
    names = [n for n in next(iter(rows.values()), {}) if "/" not in n and n != "loss"]
    print_table(names, {title: [scores.get(n) for n in names] for title, scores in rows.items()})


def print_table(
    columns: Sequence[str], rows: Mapping[str, Sequence[float | None]], form: str = "{:.3f}"
) -> None:
    """Print one line of numbers a row."""
    table = new_table("", *columns)
    for title, values in rows.items():
        table.add_row(
            Text(title), *("-" if value is None else form.format(value) for value in values)
        )
    Console().print(table)
