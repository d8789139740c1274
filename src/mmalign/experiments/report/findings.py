"""At a glance: what is clearly above or below the references, and whether imputation pays."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mmalign.data.missingness import SETTINGS
from mmalign.errors import counted
from mmalign.experiments.report.comparison import (
    FEWEST_SEEDS,
    Count,
    Panel,
    count_clear,
    verdict,
)
from mmalign.experiments.report.main_tables import is_contender, is_imputer
from mmalign.experiments.report.measures import percent
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.table import Cell, Column, Row, Table
from mmalign.experiments.systems import FLOOR, LOWER, UPPER

HEADINGS = (
    "Does an imputer earn its keep?",
    "Clearly above zero-fill and LB",
    "Clearly below zero-fill or LB",
    "UB clearly above LB?",
)
Verdicts = Mapping[str, int]
"""1, 0 or -1 (clearly better, not clear, clearly worse) by system, where a test is possible."""


@dataclass(frozen=True)
class Finding:
    """What one condition shows in one setting, in the first metric.

    Attributes:
        condition: Pair and survival rate.
        setting: "A" or "B".
        floor: Verdicts of all systems but UB against zero-fill.
        lower: Verdicts of all systems but UB against LB.
        headroom: Whether UB is clearly better than LB; None if that cannot be tested.
        imputers: Systems that learn to stand in for the victim.
        contenders: Imputers and floors other than zero-fill, with or without additions.
    """

    condition: Condition
    setting: str
    floor: Verdicts
    lower: Verdicts
    headroom: bool | None
    imputers: frozenset[str]
    contenders: frozenset[str]

    @property
    def tested(self) -> int:
        """How many imputers could be tested against both references."""
        return len(self.imputers & set(self.floor) & set(self.lower))

    @property
    def above_floor(self) -> tuple[str, ...]:
        """Systems clearly better than zero-fill."""
        return tuple(system for system, sign in self.floor.items() if sign > 0)

    @property
    def above_both(self) -> tuple[str, ...]:
        """Systems clearly better than zero-fill and than LB."""
        return tuple(s for s in self.above_floor if self.lower.get(s, 0) > 0)

    @property
    def below_either(self) -> tuple[str, ...]:
        """Systems clearly worse than zero-fill or than LB."""
        signs = [*self.floor.items(), *self.lower.items()]
        return tuple(dict.fromkeys(system for system, sign in signs if sign < 0))

    @property
    def earning(self) -> tuple[str, ...]:
        """Imputers that earn their keep."""
        return tuple(filter(self.imputers.__contains__, self.above_both))

    @property
    def costing(self) -> tuple[str, ...]:
        """Imputers that do harm: clearly worse than zero-fill or than LB."""
        return tuple(filter(self.imputers.__contains__, self.below_either))


def find(runs: Runs, condition: Condition, setting: str) -> Finding:
    """Test every system but the upper bound against zero-fill and LB, in the first metric."""
    panel, measure = Panel(runs, "main", condition), runs.measures[0]

    def verdicts(systems: Sequence[str], reference: str) -> Verdicts:
        found = {s: panel.difference(s, reference, setting, measure) for s in systems}
        return {
            system: verdict(change, measure)
            for system, change in found.items()
            if change is not None and system != reference
        }

    others = [system for system in panel.systems if system != UPPER]
    room = verdicts([UPPER], LOWER).get(UPPER)
    return Finding(
        condition=condition,
        setting=setting,
        floor=verdicts(others, FLOOR),
        lower=verdicts(others, LOWER),
        headroom=None if room is None else room > 0,
        imputers=frozenset(system for system in others if is_imputer(runs, system)),
        contenders=frozenset(system for system in others if is_contender(runs, system)),
    )


def find_all(runs: Runs) -> list[Finding]:
    """Findings of the main suite, setting by setting."""
    return [find(runs, where, setting) for where in runs.conditions("main") for setting in SETTINGS]


def count_against_floor(findings: Iterable[Finding]) -> Count:
    """Count what is clearly better and clearly worse than zero-fill, over all findings."""
    return count_clear(
        sign
        for found in findings
        for system, sign in found.floor.items()
        if system in found.contenders
    )


def count_sentence(count: Count) -> str:
    """The count in words, beside what chance alone would give."""
    return (
        f"Imputers and floors against zero-fill: {counted(count.comparisons, 'comparison')} "
        f"(system × pair × survival × setting), {count.better} clearly better, {count.worse} "
        f"clearly worse. Among equals, chance alone would make about {count.by_chance:.1f} of "
        "each (5 % level, both sides)."
    )


def findings_table(findings: Sequence[Finding]) -> Table:
    """One line for each condition and setting."""
    rows = [
        Row(
            f"{found.condition.pair}, {percent(found.condition.survival)}, {found.setting}",
            [
                Cell(_answer(found), is_best=bool(found.earning)),
                _names(found.above_both),
                _names(found.below_either),
                Cell({True: "yes", False: "not clearly", None: "not testable"}[found.headroom]),
            ],
        )
        for found in findings
    ]
    columns = [Column(heading, is_prose=True) for heading in HEADINGS]
    title = "Clear differences in the main metric"
    return Table("at-a-glance", title, "Pair, survival, setting", columns, rows)


def sentences(runs: Runs, findings: Sequence[Finding]) -> list[str]:
    """The summary in words; it claims nothing that no test supports."""
    tested = [found for found in findings if found.tested]
    if not tested:
        return [
            f"No test is possible: a paired t-test needs {FEWEST_SEEDS} seeds or more that are "
            f"finished for an imputer, {FLOOR} and {LOWER} alike. The tables show the scores that "
            "exist; they do not say which system is better."
        ]
    told = [
        f"Compared by {runs.measures[0].title}, paired over {runs.seed_count('main')}, in "
        f"{counted(len(tested), 'cell')} (pair × survival × setting). An imputer earns its keep "
        "where it is clearly better than zero-fill and than LB, which never sees the victim."
    ]
    told.append(count_sentence(count_against_floor(findings)))
    cells = sum(bool(found.earning) for found in tested)
    told.append(
        f"An imputer earns its keep in {cells} of {len(tested)}: "
        f"{_tally([found.earning for found in tested])}."
        if cells
        else f"No imputer earns its keep in any of {len(tested)}."
    )
    costing = _tally([found.costing for found in tested])
    if costing:
        told.append(f"Clearly worse than zero-fill or LB: {costing}.")
    closed = sum(found.headroom is False for found in tested)
    if closed:
        told.append(
            f"In {closed} of {len(tested)} even UB, which always has both modalities, is not "
            "clearly above LB: these seeds show no gap that could be recovered."
        )
    return told


def findings_note(seeds: int, over: str) -> str:
    """What "clearly" means.

    Args:
        seeds: How many are planned.
        over: The same in words.
    """
    if seeds < FEWEST_SEEDS:
        return f"With {over} no test is possible: a paired test needs two or more."
    return (
        f"“Clearly” means that the 95 % interval of the difference, paired over {over}, leaves out "
        "0, which is the paired t-test at p < 0.05. There is no correction for the number of "
        "comparisons: of twenty between equals, one is marked by chance."
    )


def _answer(found: Finding) -> str:
    if not found.tested:
        return "not testable yet"
    return "yes" if found.earning else "no"


def _names(systems: Sequence[str]) -> Cell:
    """Names have commas, so semicolons stand between them."""
    return Cell("; ".join(systems) or "none", is_faint=not systems)


def _tally(lists: Sequence[Sequence[str]]) -> str:
    """Names with the number of lists they are in, most first."""
    counts = Counter(name for names in lists for name in names)
    return "; ".join(f"{name} ({count} of {len(lists)})" for name, count in counts.most_common())
