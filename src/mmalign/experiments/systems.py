"""Systems: rows of tables, by what `--methods` calls them."""

from collections.abc import Iterable, Mapping
from typing import Any

from mmalign.errors import ConfigError, suggestion
from mmalign.experiments.anchors.minirocket import KIND as MINIROCKET
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.training.config import IMPROVED, STRONG
from mmalign.training.methods import METHODS

Settings = Mapping[str, Any]

LOWER, UPPER, FLOOR = "LB", "UB", "zero-fill"
"""Rows that the others are compared with."""

SYSTEMS: Mapping[str, tuple[str, Settings]] = {
    "lb": (LOWER, {"method": "lb"}),
    "lb-complete": ("LB, complete split only", {"method": "lb-complete"}),
    "zero-fill": (FLOOR, {"method": "zero-fill"}),
    "zero-fill-improved": ("zero-fill, improved", {"method": "zero-fill", **IMPROVED}),
    "mean-fill": ("mean-fill", {"method": "mean-fill"}),
    "copy": ("copy", {"method": "copy"}),
    "uniform-window": ("uniform window", {"method": "uniform-window"}),
    "random-plan": ("random plan", {"method": "random-plan"}),
    "mfm": ("MFM", {"method": "mfm"}),
    "smil": ("SMIL", {"method": "smil"}),
    "modal-trans": ("Modal-Trans", {"method": "modal-trans-parallel"}),
    "mmalign": ("MM-Align", {"method": "mmalign"}),
    "mmalign-improved": ("MM-Align, improved", {"method": "mmalign", **IMPROVED}),
    "dynamic-window": ("dynamic window", {"method": "dynamic-window"}),
    "ub": (UPPER, {"method": "ub"}),
}
"""Rows of the main table: what `--methods` calls them, their titles and settings.

Beside MM-Align with its additions stands what they do without any imputer.
"""


ONE_MODEL, ANCHOR, STRONG_LOWER = EXPERTS, "MiniRocket", "LB, strong"
CANDIDATES: Mapping[str, tuple[str, Settings]] = {
    EXPERTS: (ONE_MODEL, {"method": EXPERTS}),
    MINIROCKET: (ANCHOR, {"method": MINIROCKET}),
    "lb": (LOWER, {"method": "lb"}),
    "lb-strong": (STRONG_LOWER, {"method": "lb", **STRONG}),
    "zero-fill": ("zero-fill, one network", {"method": "zero-fill", "both_passes": True}),
    "mmalign": ("MM-Align, one network", {"method": "mmalign", "both_passes": True}),
}
"""Systems that answer for any subset of modalities."""

USUAL, DEDICATED = (EXPERTS, MINIROCKET, "lb"), (ANCHOR, LOWER, STRONG_LOWER)
"""What is run where nothing is asked for; what is trained for each subset alone, by title."""


def find_candidates(names: Iterable[str]) -> dict[str, Settings]:
    """Titles and settings of systems that answer for subsets.

    Raises:
        ConfigError: If there is no such system, or one is named twice.
    """
    names = list(names)
    problems = [
        f"{name!r} does not answer for subsets; {suggestion(name, CANDIDATES)}"
        for name in names
        if name not in CANDIDATES
    ]
    if not names:
        problems.append("there must be at least one method")
    if len(set(names)) < len(names):
        problems.append(f"methods are given twice: {names}")
    if problems:
        raise ConfigError(problems)
    return dict(CANDIDATES[name] for name in names)


def find_systems(names: Iterable[str]) -> dict[str, Settings]:
    """Titles and settings of rows; any method that has no row goes by its own name.

    Raises:
        ConfigError: If there is no such row or method, or one is named twice.
    """
    names, known = list(names), {**SYSTEMS, **METHODS, EXPERTS: EXPERTS}
    problems = [unknown("method", name, known) for name in names if name not in known]
    if len(set(names)) < len(names):
        problems.append(f"methods are given twice: {names}")
    if problems:
        raise ConfigError(problems)
    return dict(SYSTEMS.get(name, (name, {"method": name})) for name in names)


def unknown(what: str, name: str, known: Mapping[str, Any]) -> str:
    """What to say of a name that is not known."""
    return f"unknown {what} {name!r}; {suggestion(name, known)}"
