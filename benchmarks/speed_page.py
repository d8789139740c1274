"""The page of bench_speed.py: a bar for each contender, and curves over length."""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

STYLE = """
:root { --ink: #1c2430; --muted: #566173; --line: #e3e7ee; --page: #fff; --ours: #0b63b0;
        --other: #a7b0be; --good: #0f7f60; --bad: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --muted: #a3adbd; --line: #2b3442; --page: #171c24; --ours: #62b0f5;
          --other: #6b7280; --good: #57cba6; --bad: #ff8a80 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { font-size: 1.05rem; margin: 2rem 0 .3rem }
table { border-collapse: collapse; width: 100% }
td { padding: .2rem .6rem .2rem 0; vertical-align: middle; font-variant-numeric: tabular-nums }
td.name { width: 15rem } td.bar { width: 26% }
td.bar div { height: .9rem; background: var(--other); border-radius: 2px; min-width: 2px }
tr.ours td.bar div { background: var(--ours) }
.muted, code { color: var(--muted); font-size: .85rem }
.good { color: var(--good) } .bad { color: var(--bad) }
svg { width: 100%; height: auto } svg text { fill: var(--muted); font-size: 12px }
svg .grid { stroke: var(--line) } svg polyline { fill: none; stroke-width: 2 }
.c0 { stroke: var(--ours) } .c1 { stroke: var(--bad) } .c2 { stroke: var(--good) }
.c3 { stroke: var(--other) } svg circle { fill: var(--page); stroke-width: 2 }
"""
WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 760, 340, 60, 230, 36
HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Speed of mmalign</title>
<meta name="viewport" content="width=device-width, initial-scale=1">"""
INTRODUCTION = """CPU time of one thread; contenders take turns in one process. Medians, with the
fastest and the slowest round in brackets; the factor says how often ours fits into it."""


def render(results: Mapping[str, Any]) -> str:
    """All parts as one page without scripts or outside requests."""
    parts = "".join(_part(part) for part in results["parts"].values())
    made = f"torch {results['torch']}, Python {results['python']}"
    return (
        f"{HEAD}<style>{STYLE}</style><h1>Speed</h1><p>{INTRODUCTION}</p>"
        f"{parts}<p class='muted'>{escape(made)}</p></html>\n"
    )


def _part(part: Mapping[str, Any]) -> str:
    title = f"<h2>{escape(part['title'])}</h2>"
    shown = "".join(draw(part) for key, draw in DRAWN.items() if key in part)
    return f"<section>{title}{shown}<code>{escape(part['command'])}</code></section>"


def _bars(part: Mapping[str, Any]) -> str:
    times = part["contenders"]
    slowest = max(taken["median"] for taken in times.values())
    rows = []
    for name, taken in times.items():
        share = 100 * taken["median"] / slowest
        spread = f"{milliseconds(taken['fastest'])} to {milliseconds(taken['slowest'])}"
        factor = taken["median"] / times["ours"]["median"]
        rows.append(
            f"<tr{' class=ours' if name == 'ours' else ''}><td class=name>{escape(name)}</td>"
            f"<td class=bar><div style='width:{share:.2f}%'></div></td>"
            f"<td>{milliseconds(taken['median'])} <span class=muted>[{spread}]</span></td>"
            f"<td>{factor:.3g}x {_verdict(factor, part['at_least'].get(name))}</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>"


def _verdict(factor: float, wanted: float | None) -> str:
    if wanted is None:
        return ""
    is_reached = factor >= wanted
    words = f"at least {wanted:g}x: {'reached' if is_reached else 'missed'}"
    return f"<span class={'good' if is_reached else 'bad'}>{words}</span>"


def milliseconds(seconds: float) -> str:
    """Three digits and a unit.

    >>> milliseconds(0.00123), milliseconds(12.3456)
    ('1.23 ms', '12.3 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _shares(part: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td class=name>{escape(name)}</td>"
        f"<td class=bar><div style='width:{100 * share:.2f}%'></div></td>"
        f"<td>{100 * share:.0f} %</td></tr>"
        for name, share in part["shares"].items()
    )
    return f"<table>{rows}</table>"


def _costs(part: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td class=name>{escape(name)}</td><td>{cost['seconds']:.1f} s CPU</td>"
        f"<td>{cost['megabytes'] / 1000:.2f} GB at most</td></tr>"
        for name, cost in part["costs"].items()
    )
    return f"<table>{rows}</table>"


def _curves(part: Mapping[str, Any]) -> str:
    curves = part["curves"]
    steps = [count for curve in curves for count in curve["steps"]]
    seconds = [taken for curve in curves for taken in curve["seconds"]]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    first, last = math.log(min(steps)), math.log(max(steps))

    def place(count: float, taken: float) -> tuple[float, float]:
        x = LEFT + (math.log(count) - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        y = (high - math.log10(taken)) / (high - low) * (HEIGHT - BOTTOM - 10) + 10
        return x, y

    lines = []
    for power in range(low, high + 1):
        _, y = place(min(steps), 10.0**power)
        lines.append(f"<line class=grid x1={LEFT} x2={WIDTH - RIGHT} y1={y:.1f} y2={y:.1f} />")
        label = milliseconds(10.0**power)
        lines.append(f"<text x={LEFT - 8} y={y + 4:.1f} text-anchor=end>{label}</text>")
    for count in sorted(set(steps)):
        x, _ = place(count, 10.0**low)
        lines.append(f"<text x={x:.1f} y={HEIGHT - 14} text-anchor=middle>{count:,}</text>")
    for number, curve in enumerate(curves):
        points = [place(*point) for point in zip(curve["steps"], curve["seconds"], strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f"<polyline class=c{number % 4} points='{path}' />")
        lines += [f"<circle class=c{number % 4} cx={x:.1f} cy={y:.1f} r=3.5 />" for x, y in points]
        x, y = points[-1]
        name = escape(f"{curve['name']}: {curve['exponent']:.2f}")
        lines.append(f"<text x={x + 8:.1f} y={y - 8:.1f}>{name}</text>")
    label = "CPU time over steps, both on logarithmic axes; the numbers are exponents"
    return (
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='{label}'>{''.join(lines)}</svg>"
    )


DRAWN = {"contenders": _bars, "shares": _shares, "curves": _curves, "costs": _costs}
"""What each kind of result looks like."""
