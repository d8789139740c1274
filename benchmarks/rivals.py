"""One model for every subset, beside other classifiers that one could train for that subset alone.

Run: python benchmarks/rivals.py [--data DIR] [--seeds N] [--only NAME] [--systems a,b,…]
     [--survivals 1,0.5,0.1] [--rows FILE] [--experts FILE]

Folds, seeds and scores are those of experts.py, which computes the rows of the experts; rivals are
in rival_classifiers.py. None of their settings was tuned. The command ends with the tables of
docs/experts.md; rows already in the file are not computed again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from experts import (
    Answers,
    Fold,
    System,
    Task,
    ask_each,
    completed,
    difference,
    of_numbers,
    people_left_out,
    seed_means,
    tasks,
)
from rival_classifiers import RIVALS, is_class
from study_rows import read_rows, study_options

RESULTS = Path(__file__).parent / "results"
CLASSES_ONLY = ("InceptionTime",)


def ask_rival(fold: Fold, task: Task, name: str) -> tuple[Answers, dict[str, float]]:
    """Answers of a rival; none where it does not tell numbers."""
    if name in CLASSES_ONLY and not is_class(fold.train):
        return {}, {}
    return ask_each(fold, task, RIVALS[name]), {}


def tables(rows: list[dict]) -> Iterator[str]:
    """A line a cell: experts, then for each rival its score and what experts have more."""
    names, numbers = [name for name in RIVALS if _is_in(name, rows)], of_numbers(rows)
    yield "| " + " | ".join(["data", "tested with", "experts", *names]) + " |"
    yield "| --- " * (3 + len(names)) + "|"
    before = ""
    for (study, survival, victim, subset), means in seed_means(rows).items():
        if "experts" not in means or len(means) == 1:
            continue
        title = study if survival == 1 else f"{study}, {victim} at {survival:.0%}"
        digits = 3 if study in numbers else 1
        own = f"{np.mean(list(means['experts'].values())):.{digits}f}"
        cells = [_cell(means, name, digits, study in numbers) for name in names]
        yield "| " + " | ".join([title if title != before else "", subset, own, *cells]) + " |"
        before = title


def whole(rows: list[dict]) -> list[dict]:
    """Rows of seeds that have every fold of their study: an interrupted run leaves others."""
    found, wanted = defaultdict(set), defaultdict(set)
    for row in rows:
        found[_run(row)].add(row["fold"])
        wanted[row["study"]].add(row["fold"])
    return [row for row in rows if found[_run(row)] == wanted[row["study"]]]


def _run(row: dict) -> tuple:
    return tuple(row[key] for key in ("study", "survival", "victim", "system", "seed"))


def _is_in(name: str, rows: list[dict]) -> bool:
    return any(row["system"] == name for row in rows)


def _cell(means: dict[str, dict[int, float]], name: str, digits: int, is_error: bool) -> str:
    """Score of a rival; then experts less rival, with the 95 % interval, bold if clearly behind."""
    found = difference(means["experts"], means.get(name, {}))
    if found is None:
        return ""
    more, low, high = (f"{value:+.{digits}f}" for value in (found.mean, found.low, found.high))
    behind = found.low > 0 if is_error else found.high < 0
    text = f"{np.mean(list(means[name].values())):.{digits}f}: {more} [{low}, {high}]"
    return f"**{text}**" if behind else text


def verdicts(rows: list[dict]) -> dict[str, Counter]:
    """For each rival, in how many cells experts are better, level or worse, and clearly so."""
    found, numbers = {name: Counter() for name in RIVALS if _is_in(name, rows)}, of_numbers(rows)
    for (study, *_), means in seed_means(rows).items():
        for name in found:
            gain = difference(means.get("experts", {}), means.get(name, {}))
            if gain is None:
                continue
            more = -gain.mean if study in numbers else gain.mean
            sign = "better" if more > 0 else "worse" if more < 0 else "level"
            found[name][f"{'clearly ' if gain.is_clear else ''}{sign}"] += 1
    return found


def summary_lines(rows: list[dict]) -> Iterator[str]:
    """A line a rival: cells, and those where experts are clearly ahead and clearly behind."""
    yield "| rival | cells | clearly ahead | clearly behind |"
    yield "| --- | --- | --- | --- |"
    for name, counts in verdicts(rows).items():
        ahead, behind = counts["clearly better"], counts["clearly worse"]
        yield f"| {name} | {sum(counts.values())} | {ahead} | {behind} |"


def published(rivals: list[dict], experts: Path) -> list[dict]:
    """What the tables show: rows of rivals and those of the experts."""
    return whole(rivals + [row for row in read_rows(experts) if row["system"] == "experts"])


def main() -> None:
    parser = study_options(__doc__.splitlines()[0], str(RESULTS / "rivals.jsonl"))
    parser.add_argument("--survivals", default="1", help="shares that keep a victim")
    parser.add_argument("--systems", default=",".join(RIVALS), help="rivals to ask")
    parser.add_argument("--experts", type=Path, default=RESULTS / "experts.jsonl")
    options = parser.parse_args()
    torch.set_num_threads(1)
    systems: dict[str, System] = {
        name: partial(ask_rival, name=name) for name in options.systems.split(",")
    }
    survivals = [float(share) for share in options.survivals.split(",")]
    asked = [
        (folds[task.fold], task)
        for title, folds in people_left_out(options.data)
        if options.only in title
        for seed in range(options.seeds)
        for task in tasks(title, folds, seed, survivals)
    ]
    rows = published(completed(options.rows, asked, systems), options.experts)
    print("\n".join([*summary_lines(rows), "", *tables(rows)]))


if __name__ == "__main__":
    main()
