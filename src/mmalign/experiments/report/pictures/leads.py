"""How far each system is ahead of zero-fill, and how sure that is."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmalign.data.missingness import SETTINGS
from mmalign.evaluation.significance import PairedDifference
from mmalign.experiments.report.comparison import Panel, verdict
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.systems import FLOOR

Leads = dict[str, PairedDifference]


def lead_picture(runs: Runs, condition: Condition, name: str) -> Picture | None:
    """Differences from zero-fill in both settings; None where nothing can be tested."""
    panel, measure = Panel(runs, "main", condition), runs.measures[0]
    leads = {setting: _leads(panel, setting, measure) for setting in SETTINGS}
    systems = [s for s in panel.systems if any(s in found for found in leads.values())]
    if not systems:
        return None

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(1, len(SETTINGS), sharey=True, sharex=True)
        for axes, (setting, found) in zip(panels, leads.items(), strict=True):
            _draw(axes, found, systems, measure, theme)
            axes.set_title(f"Setting {setting}")
            axes.set_xlabel(f"{measure.heading} minus that of {FLOOR}")
        panels[0].set_yticks(range(len(systems)), [short(system) for system in systems])
        panels[0].set_ylim(len(systems) - 0.5, -0.5)

    return make_picture(
        name,
        draw,
        inches=(8.8, 1.0 + 0.26 * len(systems)),
        caption=(
            f"{condition.title}: difference from {FLOOR} with its 95 % interval, paired over "
            "seeds; blue is clearly better, orange clearly worse, grey not clear."
        ),
        alt=_described(condition, leads, measure),
    )


def _leads(panel: Panel, setting: str, measure: Measure) -> Leads:
    found = {s: panel.difference(s, FLOOR, setting, measure) for s in panel.systems if s != FLOOR}
    return {system: change for system, change in found.items() if change is not None}


def _draw(axes: Axes, leads: Leads, systems: list[str], measure: Measure, theme: Theme) -> None:
    colours = {1: theme.method, 0: theme.muted, -1: theme.floor}
    for row, system in enumerate(systems):
        if system in leads:
            one = leads[system]
            mean, low, high = (measure.scale * v for v in (one.mean, one.low, one.high))
            colour = colours[verdict(one, measure)]
            axes.plot([low, high], [row, row], color=colour, linewidth=2.4)
            axes.plot(mean, row, "o", color=colour, markersize=6)
    axes.axvline(0, color=theme.ink, linewidth=1)
    axes.grid(axis="x", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def _described(condition: Condition, leads: dict[str, Leads], measure: Measure) -> str:
    show = measure.show_change
    told = [
        f"{setting}, {system}: {show(one.mean)} [{show(one.low)}, {show(one.high)}]"
        for setting, found in leads.items()
        for system, one in found.items()
    ]
    return f"Differences from {FLOOR} in {measure.title}, {condition.title}. {'; '.join(told)}."
