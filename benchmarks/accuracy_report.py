"""The tables of docs/results.md, from the runs of accuracy.py."""

from collections import defaultdict

import numpy as np

from mmalign.evaluation.significance import gap_recovered, paired_difference

LOWER, FLOOR, UPPER = "unimodal (LB)", "zero-fill", "both modalities (UB)"


def report(rows: list[dict], systems: list[str]) -> str:
    """Markdown tables, one a dataset and pair."""
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["visible"], row["victim"]].append(row)
    return "\n\n".join(_pair_table(key, group, systems) for key, group in groups.items())


def _metric(row: dict) -> tuple[str, float, int]:
    """Name, scale and digits of the metric shown."""
    return ("mae", 1.0, 3) if "mae" in row["scores"]["A"] else ("accuracy", 100.0, 1)


def _values(rows: list[dict], system: str, survival: float, setting: str) -> dict[int, float]:
    """Metric by seed; the bounds hold for every survival rate."""
    is_bound = system in (LOWER, UPPER)
    chosen = [r for r in rows if r["system"] == system and (is_bound or r["survival"] == survival)]
    name, scale, _ = _metric(rows[0])
    return {row["seed"]: scale * row["scores"][setting][name] for row in chosen}


def _pair_table(key: tuple, rows: list[dict], systems: list[str]) -> str:
    data, visible, victim = key
    name, _, digits = _metric(rows[0])
    arrow = "lower is better" if name == "mae" else "higher is better"
    columns = [(survival, setting) for survival in (0.1, 0.5) for setting in "AB"]
    seeds = len({row["seed"] for row in rows})
    lines = [
        f"### {data}: {visible} visible, {victim} may be missing",
        f"{name}, mean ± sd over {seeds} seeds ({arrow})",
        "",
        "| system | " + " | ".join(f"{100 * s:.0f} %, {w}" for s, w in columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for system in systems:
        cells = [_cell(rows, system, *column, digits) for column in columns]
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    lines += ["", "Paired difference to zero-fill [95 % interval]; gap recovered in brackets", ""]
    lines += ["| system | " + " | ".join(f"{100 * s:.0f} %, {w}" for s, w in columns) + " |"]
    lines += ["| --- |" + " --- |" * len(columns)]
    for system in systems:
        if system not in (LOWER, FLOOR, UPPER):
            cells = [_difference(rows, system, *column, digits) for column in columns]
            lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(rows: list[dict], system: str, survival: float, setting: str, digits: int) -> str:
    values = list(_values(rows, system, survival, setting).values())
    if not values:
        return "-"
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {spread:.{digits}f}"


def _difference(rows: list[dict], system: str, survival: float, setting: str, digits: int) -> str:
    ours, floor, lower, upper = (
        _values(rows, name, survival, setting) for name in (system, FLOOR, LOWER, UPPER)
    )
    seeds = sorted(set(ours) & set(floor))
    if len(seeds) < 2:
        return "-"
    compared = paired_difference([ours[s] for s in seeds], [floor[s] for s in seeds])
    text = f"{compared.mean:+.{digits}f} [{compared.low:+.{digits}f}, {compared.high:+.{digits}f}]"
    if compared.is_clear:
        text = f"**{text}**"
    if lower and upper:
        gap = gap_recovered(*(float(np.mean(list(v.values()))) for v in (ours, lower, upper)))
        text += f" ({gap:.0%})" if abs(gap) < 10 else " (no gap)"
    return text
