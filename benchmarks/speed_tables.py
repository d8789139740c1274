"""The tables of docs/performance.md, from what bench_speed.py found.

Run: python benchmarks/speed_tables.py, and paste; a test compares the page with speed.json.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "speed.json"
DEFAULT = "ours, torch's layers (the default)"
HEAD = """| part | what | takes | against | takes | ratio | wanted |
| --- | --- | --- | --- | --- | --- | --- |"""

Part = Mapping[str, Any]


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """A line for each contender of each part, then a line for each curve and each cost."""
    for name, part in results["parts"].items():
        yield from _contenders(name, part)
    for name, part in results["parts"].items():
        yield from _curves(name, part)
        yield from _costs(name, part)


def _contenders(name: str, part: Part) -> Iterator[str]:
    times = part.get("contenders", {})
    rivals = [rival for rival in times if rival not in ("ours", DEFAULT)]
    for ours in [who for who in ("ours", DEFAULT) if who in times]:
        title = part["title"] if ours == "ours" else f"the same, {ours}"
        first = f"`{name}` | {title} | {_time(times[ours])}"
        for rival in rivals:
            ratio = times[rival]["median"] / times[ours]["median"]
            verdict = _verdict(ratio, part["at_least"].get(rival))
            yield f"| {first} | {rival} | {_time(times[rival])} | {verdict} |"
            first = " | | "


def _curves(name: str, part: Part) -> Iterator[str]:
    for curve in part.get("curves", []):
        times = ", ".join(f"{1e3 * seconds:,.0f}" for seconds in curve["seconds"])
        steps = ", ".join(f"{count:,}" for count in curve["steps"])
        found = f"{times} ms for {steps} steps, exponent {curve['exponent']:.2f}"
        yield f"| `{name}` | {curve['name']} | {found} |"


def _costs(name: str, part: Part) -> Iterator[str]:
    for what, cost in part.get("costs", {}).items():
        found = f"{cost['seconds']:.1f} s of CPU, {cost['megabytes'] / 1000:.2f} GB at most"
        yield f"| `{name}` | {part['title']}: {what} | {found} |"


def _time(taken: Mapping[str, float]) -> str:
    middle, low, high = (_milliseconds(taken[key]) for key in ("median", "fastest", "slowest"))
    return f"{middle} ms [{low}, {high}]"


def _milliseconds(seconds: float) -> str:
    """Two digits behind the point below 1, one below 10, none above."""
    size = 1e3 * seconds
    return f"{size:,.{2 if size < 1 else 1 if size < 10 else 0}f}"


def _verdict(ratio: float, wanted: float | None) -> str:
    """The ratio and what it should be; a bar below 1 says how much longer ours may take."""
    if wanted is None:
        return f"{ratio:.1f}x | "
    ending = "reached" if ratio >= wanted else "missed"
    if wanted < 1:
        return f"{1 / ratio:.1f} times as long | {1 / wanted:g} times: {ending}"
    return f"{ratio:.1f}x | {wanted:g}x: {ending}"


if __name__ == "__main__":
    print(HEAD, *tables(json.loads(RESULTS.read_text())), sep="\n")
