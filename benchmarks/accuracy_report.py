"""The tables of docs/results.md, from the runs of accuracy.py."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from mmalign.evaluation.significance import gap_recovered, paired_difference

LOWER, FLOOR, UPPER = "unimodal (LB)", "zero-fill", "both modalities (UB)"
CONTROLS = {"+ both": "zero-fill + both", "dynamic window": "zero-fill + both passes, gate"}
"""Systems with switches on, and zero-fill with the same switches."""
COLUMNS = [(survival, setting) for survival in (0.1, 0.5) for setting in "AB"]


def report(rows: list[dict], systems: list[str], constants: dict[str, float]) -> str:
    """Markdown tables, one a dataset and pair.

    Args:
        rows: What accuracy.py wrote.
        systems: Rows of the tables, in order.
        constants: What the training majority or mean scores on each dataset's test split.
    """
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["visible"], row["victim"]].append(row)
    return "\n\n".join(
        _pair_tables(key, group, systems, constants.get(key[0])) for key, group in groups.items()
    )


def tuning_table(rows: Iterable[dict], systems: list[str]) -> str:
    """Mean validation score of each learning rate, the chosen one in bold, by dataset."""
    scores: dict[tuple[str, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_rate = scores[row["system"], row["data"]]
        by_rate[row["learning_rate"]] += row["valid_score"].values()
    names = list(dict.fromkeys(data for _, data in scores))
    lines = ["| system | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for system in systems:
        cells = (_rates(scores[system, name]) for name in names)
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rates(scores: dict[float, list[float]]) -> str:
    means = {rate: float(np.mean(values)) for rate, values in sorted(scores.items())}
    best = max(means, key=lambda rate: means[rate], default=None)
    shown = (f"{rate:g}: {mean:.3f}" for rate, mean in means.items())
    return ", ".join(
        f"**{text}**" if rate == best else text for rate, text in zip(means, shown, strict=True)
    )


def cost_table(rows: list[dict], systems: list[str]) -> str:
    """Parameters of the imputer, and seconds of one core a run, by dataset."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    lines = ["| system | imputer's parameters | " + " | ".join(names) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(names))
    for system in systems:
        own = [row for row in rows if row["system"] == system]
        sizes = sorted({row["parameters"]["imputer"] for row in own if "parameters" in row})
        cells = [", ".join(f"{size:,}" for size in sizes)]
        for name in names:
            seconds = [row["cpu_seconds"] for row in own if row["data"] == name]
            cells.append(f"{np.mean(seconds):.0f} s" if seconds else "-")
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def metric_of(row: dict) -> tuple[str, float, int]:
    """Name, scale and digits of the metric shown."""
    return ("mae", 1.0, 3) if "mae" in row["scores"]["A"] else ("accuracy", 100.0, 1)


def _values(rows: list[dict], system: str, survival: float, setting: str) -> dict[int, float]:
    """Metric by seed; the bounds hold for every survival rate."""
    is_bound = system in (LOWER, UPPER)
    chosen = [r for r in rows if r["system"] == system and (is_bound or r["survival"] == survival)]
    name, scale, _ = metric_of(rows[0])
    return {row["seed"]: scale * row["scores"][setting][name] for row in chosen}


def _pair_tables(key: tuple, rows: list[dict], systems: list[str], constant: float | None) -> str:
    data, visible, victim = key
    name, scale, digits = metric_of(rows[0])
    better = "lower is better" if name == "mae" else "higher is better"
    systems = [name for name in systems if any(row["system"] == name for row in rows)]
    seeds = _seeds(rows, systems)
    lines = [f"### {data}: {visible} visible, {victim} may be missing"]
    lines += [f"{name}, mean ± sd over {seeds}; {better}.", "", *_head("system")]
    if constant is not None:
        lines.append("| constant (floor) |" + f" {scale * constant:.{digits}f} |" * len(COLUMNS))
    for system in systems:
        cells = (_cell(rows, system, *column, digits) for column in COLUMNS)
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    for rival in (FLOOR, LOWER):
        lines += ["", *_head(f"paired difference to {rival}, 95 % interval")]
        for system in systems:
            if system not in (LOWER, UPPER, rival):
                cells = (_difference(rows, system, rival, *column, digits) for column in COLUMNS)
                lines.append(f"| {system} | " + " | ".join(cells) + " |")
    controlled = {name: control for name, control in CONTROLS.items() if control in systems}
    if controlled:
        lines += ["", *_head("paired difference to zero-fill with the same switches")]
        for system, control in controlled.items():
            cells = (_difference(rows, system, control, *column, digits) for column in COLUMNS)
            lines.append(f"| {system} | " + " | ".join(cells) + " |")
    lines += ["", *_head("share of the gap between LB and UB that is recovered")]
    for system in systems:
        if system not in (LOWER, UPPER):
            cells = (_gap(rows, system, *column) for column in COLUMNS)
            lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _seeds(rows: list[dict], systems: list[str]) -> str:
    """How many seeds the systems have."""
    counts = {len({row["seed"] for row in rows if row["system"] == name}) for name in systems}
    fewest, most = min(counts), max(counts)
    return f"{most} seeds" if fewest == most else f"{fewest} to {most} seeds"


def _head(title: str) -> list[str]:
    names = (f"{100 * survival:.0f} %, {setting}" for survival, setting in COLUMNS)
    return [f"| {title} | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(COLUMNS)]


def _cell(rows: list[dict], system: str, survival: float, setting: str, digits: int) -> str:
    values = list(_values(rows, system, survival, setting).values())
    if not values:
        return "-"
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {spread:.{digits}f}"


def _difference(
    rows: list[dict], system: str, rival: str, survival: float, setting: str, digits: int
) -> str:
    ours, theirs = (_values(rows, name, survival, setting) for name in (system, rival))
    seeds = sorted(set(ours) & set(theirs))
    if len(seeds) < 2:
        return "-"
    found = paired_difference([ours[s] for s in seeds], [theirs[s] for s in seeds])
    text = f"{found.mean:+.{digits}f} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
    return f"**{text}**" if found.is_clear else text


def _gap(rows: list[dict], system: str, survival: float, setting: str) -> str:
    """Of the means over the seeds that all three have; none where UB is not clearly better."""
    columns = [_values(rows, name, survival, setting) for name in (system, LOWER, UPPER)]
    seeds = sorted(set.intersection(*(set(values) for values in columns)))
    if len(seeds) < 2:
        return "-"
    ours, lower, upper = ([values[seed] for seed in seeds] for values in columns)
    gain = paired_difference(upper, lower)
    is_better = gain.high < 0 if metric_of(rows[0])[0] == "mae" else gain.low > 0
    if not is_better:
        return "no gap"
    return f"{gap_recovered(*(float(np.mean(values)) for values in (ours, lower, upper))):.0%}"
