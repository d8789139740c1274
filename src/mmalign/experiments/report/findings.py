"""At a glance: who is clearly above or below the references, and whether imputation pays."""

from dataclasses import dataclass

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.report.comparison import FEWEST_SEEDS, difference, verdict
from mmalign.experiments.report.main_tables import is_imputer
from mmalign.experiments.report.measures import Measure, measures_of, percent
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.table import Cell, Column, Row, Table
from mmalign.experiments.suites import FLOOR, LOWER, UPPER


@dataclass(frozen=True)
class Finding:
    """What one condition shows in one setting.

    Attributes:
        condition: Pair and survival rate.
        setting: "A" or "B".
        above_floor: Systems clearly better than zero-fill.
        below_floor: Systems clearly worse than zero-fill.
        above_lower: Systems clearly better than LB.
        below_lower: Systems clearly worse than LB.
        headroom: Whether UB is clearly better than LB; None if that cannot be tested.
        tested: How many imputers could be tested against both references.
    """

    condition: Condition
    setting: str
    above_floor: tuple[str, ...]
    below_floor: tuple[str, ...]
    above_lower: tuple[str, ...]
    below_lower: tuple[str, ...]
    headroom: bool | None
    tested: int

    @property
    def above_both(self) -> tuple[str, ...]:
        """Systems clearly better than zero-fill and than LB."""
        return tuple(system for system in self.above_floor if system in self.above_lower)

    @property
    def earning(self) -> tuple[str, ...]:
        """Imputers that earn their keep."""
        return tuple(filter(is_imputer, self.above_both))

    @property
    def costing(self) -> tuple[str, ...]:
        """Imputers that do harm: clearly worse than zero-fill or than LB."""
        return tuple(filter(is_imputer, dict.fromkeys(self.below_floor + self.below_lower)))


def find(runs: Runs, condition: Condition, setting: str) -> Finding:
    """Test every system but the upper bound against zero-fill and LB, in the first metric."""
    measure = measures_of(runs.grid.data["task"])[0]
    systems = [s for s in runs.systems("main", condition) if s != UPPER]
    signs = {
        reference: {
            system: _sign(runs, condition, setting, (system, reference), measure)
            for system in systems
            if system != reference
        }
        for reference in (FLOOR, LOWER)
    }
    room = _sign(runs, condition, setting, (UPPER, LOWER), measure)
    return Finding(
        condition=condition,
        setting=setting,
        above_floor=_with(signs[FLOOR], 1),
        below_floor=_with(signs[FLOOR], -1),
        above_lower=_with(signs[LOWER], 1),
        below_lower=_with(signs[LOWER], -1),
        headroom=None if room is None else room > 0,
        tested=sum(
            is_imputer(system)
            and signs[FLOOR].get(system) is not None
            and signs[LOWER].get(system) is not None
            for system in systems
        ),
    )


def find_all(runs: Runs) -> list[Finding]:
    """Findings of the main suite, setting by setting."""
    return [
        find(runs, condition, setting)
        for condition in runs.conditions("main")
        for setting in SETTINGS
    ]


def findings_table(findings: list[Finding]) -> Table:
    """One line for each condition and setting."""
    rows = [
        Row(
            f"{found.condition.pair}, {percent(found.condition.survival)}, {found.setting}",
            [
                Cell(_answer(found), is_best=bool(found.earning)),
                _names(found.above_both),
                _names(tuple(dict.fromkeys(found.below_floor + found.below_lower))),
                Cell({True: "yes", False: "not clearly", None: "not testable"}[found.headroom]),
            ],
        )
        for found in findings
    ]
    headings = (
        "Does an imputer earn its keep?",
        "Clearly above zero-fill and LB",
        "Clearly below zero-fill or LB",
        "UB clearly above LB?",
    )
    columns = [Column(heading, is_prose=True) for heading in headings]
    title = "Clear differences in the main metric"
    return Table("at-a-glance", title, "Pair, survival, setting", columns, rows)


def sentences(runs: Runs, findings: list[Finding]) -> list[str]:
    """The summary in words; it claims nothing that no test supports."""
    tested = [found for found in findings if found.tested]
    if not findings:
        return ["The grid has no finished run of the main suite: there is nothing to compare."]
    if not tested:
        return [
            f"No test is possible: a paired t-test needs {FEWEST_SEEDS} seeds or more that are "
            f"finished for an imputer, {FLOOR} and {LOWER} alike. The tables show what is there; "
            "none of it says who is better."
        ]
    measure = measures_of(runs.grid.data["task"])[0]
    told = [
        f"Compared by {measure.title}, paired over {runs.seed_count('main')}, in {len(tested)} "
        f"{'cell' if len(tested) == 1 else 'cells'} (pair × survival × setting). An imputer earns "
        "its keep where it is clearly better than zero-fill and than LB, which never sees the "
        "victim."
    ]
    earning = _tally([found.earning for found in tested])
    costing = _tally([found.costing for found in tested])
    cells = sum(bool(found.earning) for found in tested)
    told.append(
        f"An imputer earns its keep in {cells} of {len(tested)}: {earning}."
        if cells
        else f"No imputer earns its keep in any of {len(tested)}."
    )
    if costing:
        told.append(f"Clearly worse than zero-fill or LB: {costing}.")
    closed = [found for found in tested if found.headroom is False]
    if closed:
        told.append(
            f"In {len(closed)} of {len(tested)} even UB, which always has both modalities, is not "
            "clearly above LB: these seeds show no gap that could be recovered."
        )
    return told


def _sign(
    runs: Runs, condition: Condition, setting: str, who: tuple[str, str], measure: Measure
) -> int | None:
    first, second = (runs.scores("main", condition, s, setting, measure.key) for s in who)
    found = difference(first, second)
    return None if found is None else verdict(found, measure)


def _with(signs: dict[str, int | None], wanted: int) -> tuple[str, ...]:
    return tuple(system for system, sign in signs.items() if sign == wanted)


def _answer(found: Finding) -> str:
    if not found.tested:
        return "not testable yet"
    return "yes" if found.earning else "no"


def _names(systems: tuple[str, ...]) -> Cell:
    """Names have commas, so semicolons stand between them."""
    return Cell("; ".join(systems) or "none", is_faint=not systems)


def _tally(lists: list[tuple[str, ...]]) -> str:
    """Names with the number of lists they are in, most first."""
    counts: dict[str, int] = {}
    for names in lists:
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return "; ".join(f"{name} ({count} of {len(lists)})" for name, count in ranked)
