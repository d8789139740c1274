"""From finished runs to the chapters of a report; a chapter without runs is left out."""

from collections.abc import Callable, Iterator

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.report.ablation import WHOLE, ablation_table, swap_table
from mmalign.experiments.report.comparison import FEWEST_SEEDS
from mmalign.experiments.report.curves import curve, curve_table
from mmalign.experiments.report.document import (
    Block,
    Code,
    Details,
    Document,
    Gallery,
    Heading,
    Section,
)
from mmalign.experiments.report.findings import find_all, findings_table, sentences
from mmalign.experiments.report.main_tables import (
    difference_table,
    main_table,
    marks_legend,
    metrics_table,
    table_name,
)
from mmalign.experiments.report.measures import measures_of, percent
from mmalign.experiments.report.pictures.case import case_picture
from mmalign.experiments.report.pictures.curve import curve_picture
from mmalign.experiments.report.pictures.plans import plans_picture
from mmalign.experiments.report.pictures.speed import speed_picture, speed_table
from mmalign.experiments.report.published import NOTES, published_table
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.setup_tables import (
    change_table,
    config_table,
    cost_table,
    data_name,
    data_table,
    mask_code,
    mask_table,
    missing_table,
    progress_table,
    version_table,
)
from mmalign.experiments.report.table import slug

Chapter = Callable[[Runs], list[Block]]


def write_document(runs: Runs) -> Document:
    """All chapters that the finished runs can fill."""
    name = data_name(runs)
    pairs = list(dict.fromkeys(f"{j.visible} → {j.victim}" for j in runs.grid.jobs.values()))
    sections = [Section(key, title, make(runs)) for key, (title, make) in CHAPTERS.items()]
    return Document(
        title=f"When a modality is missing: {name}",
        lead=(
            f"Systems that stand in for a missing modality, compared on {name} with the same "
            f"network, the same masks and the same seeds: {'; '.join(pairs)}."
        ),
        facts=_facts(runs, len(pairs)),
        warning=_warning(runs),
        sections=[section for section in sections if section.blocks],
    )


def at_a_glance(runs: Runs) -> list[Block]:
    """Who is clearly better, in words and as a table."""
    findings = find_all(runs)
    if not findings:
        return []
    return [*sentences(runs, findings), findings_table(findings), _test_note(runs)]


def main(runs: Runs) -> list[Block]:
    """A table for each pair and survival rate; every metric is one click away."""
    blocks: list[Block] = []
    for number, condition, is_first in _numbered(runs, "main"):
        if is_first:
            blocks.append(Heading(condition.pair))
        blocks.append(main_table(runs, condition, table_name("main", condition, number)))
        blocks.append(
            Details(
                f"All metrics, {condition.title}",
                [
                    metrics_table(
                        runs,
                        condition,
                        setting,
                        table_name(f"metrics-{setting.lower()}", condition, number),
                    )
                    for setting in SETTINGS
                ],
            )
        )
    return [marks_legend(runs), *blocks] if blocks else []


def differences(runs: Runs) -> list[Block]:
    """Every system against zero-fill and LB."""
    tables = [
        Details(
            condition.title,
            [
                difference_table(
                    runs,
                    condition,
                    setting,
                    table_name(f"differences-{setting.lower()}", condition, number),
                )
                for setting in SETTINGS
            ],
            is_open=number == 1,
        )
        for number, condition, _ in _numbered(runs, "main")
    ]
    if not tables:
        return []
    measure = measures_of(runs.grid.data["task"])[0]
    good = "above" if measure.is_higher_better else "below"
    told = (
        f"System minus reference in {measure.title}, over the seeds that both have; {good} 0 is "
        "better. In bold: the interval leaves out 0; ▲▼ and †‡ as above."
    )
    return [told, *tables]


def ablation(runs: Runs) -> list[Block]:
    """Parts of the method, then its plans."""
    blocks: list[Block] = []
    for number, condition, _ in _numbered(runs, "ablation"):
        blocks.append(ablation_table(runs, condition, table_name("ablation", condition, number)))
    swaps: list[Block] = []
    conditions = list(dict.fromkeys(runs.conditions("main") + runs.conditions("ablation")))
    for number, condition in enumerate(conditions, 1):
        table = swap_table(runs, condition, table_name("swaps", condition, number))
        swaps += [table] if table is not None else []
    if blocks:
        measure = measures_of(runs.grid.data["task"])[0]
        told = f"What is lost or won in {measure.title} against {WHOLE} when a part is changed."
        blocks.insert(0, told)
    if swaps:
        blocks.append(Heading("Are the plans used?"))
        blocks.append(
            "Trained models get another plan at test time. If the predicted plan mattered, a "
            "uniform or permuted one would cost, and the solver's own (which sees the missing "
            "modality) would gain. Scored on the test clips that have their victim."
        )
        blocks += swaps
    return blocks


def window(runs: Runs) -> list[Block]:
    """The method over radii."""
    return _curves(runs, "window")


def epsilon(runs: Runs) -> list[Block]:
    """The method over entropic regularisation."""
    return _curves(runs, "epsilon")


def plans(runs: Runs) -> list[Block]:
    """Mean plans."""
    found = [
        plans_picture(run, f"plans-{number}-{slug(run.entry.system)}")
        for number, run in enumerate(runs.of("alignment"), 1)
    ]
    told = (
        "Mean mass over test clips. The solver sees both modalities, the fitter the visible one "
        "alone. The line marks the window: beyond it there is exactly no mass."
    )
    return [told, Gallery(found)] if found else []


def case(runs: Runs) -> list[Block]:
    """Single clips."""
    found = [
        case_picture(run, f"case-{number}-{slug(run.entry.system)}")
        for number, run in enumerate(runs.of("case"), 1)
    ]
    told = (
        "A line joins a step above to the step below that its mass goes to; the stronger the line, "
        "the more mass, on one scale for both plans. The solver sees both modalities, the fitter "
        "the visible one alone."
    )
    return [told, Gallery(found)] if found else []


def speed(runs: Runs) -> list[Block]:
    """Bars, and the same as numbers."""
    found = list(enumerate(runs.of("speed"), 1))
    if not found:
        return []
    pictures = [speed_picture(run, f"speed-{number}") for number, run in found]
    tables = [speed_table(run, f"speed-{number}") for number, run in found]
    return [Gallery(pictures), Details("The same as numbers", tables)]


def published(runs: Runs) -> list[Block]:
    """The paper's numbers where they are of the same dataset and splits."""
    tables = [
        published_table(runs, condition, table_name("published", condition, number))
        for number, condition, _ in _numbered(runs, "main")
    ]
    found = [table for table in tables if table is not None]
    return [*NOTES, *found] if found else []


def setup(runs: Runs) -> list[Block]:
    """Everything one needs to run it again."""
    return [
        data_table(runs),
        Heading("Masks"),
        "A mask is a pure function of clip ids, survival rate and seed, the same for all systems. "
        "Counts hold if every clip has its victim to begin with. To make the masks again:",
        Code(mask_code(runs)),
        mask_table(runs),
        Heading("Configuration"),
        config_table(runs),
        Details("What each row sets on top", [change_table(runs)]),
        *[table for table in [cost_table(runs)] if table.rows],
    ]


def completeness(runs: Runs) -> list[Block]:
    """What ran, what did not, and with what this report was made."""
    missing = missing_table(runs)
    unfinished = [Details("Runs that are not finished", [missing])] if missing else []
    return [
        progress_table(runs),
        *unfinished,
        "Versions of what made this report; the grid itself was made by the same mmalign.",
        version_table(),
    ]


CHAPTERS: dict[str, tuple[str, Chapter]] = {
    "glance": ("At a glance", at_a_glance),
    "main": ("Main comparison", main),
    "differences": ("Paired differences", differences),
    "ablation": ("Ablation and plan swaps", ablation),
    "window": ("Window", window),
    "epsilon": ("Epsilon", epsilon),
    "plans": ("Mean plans", plans),
    "case": ("Case study", case),
    "speed": ("Speed", speed),
    "published": ("Beside the paper", published),
    "setup": ("Data, masks and configuration", setup),
    "runs": ("Runs and versions", completeness),
}


def _numbered(runs: Runs, suite: str) -> Iterator[tuple[int, Condition, bool]]:
    """Conditions with a number each, pair by pair, and whether they are the first of a pair."""
    pairs = list(dict.fromkeys(condition.pair for condition in runs.conditions(suite)))
    ordered = sorted(runs.conditions(suite), key=lambda c: (pairs.index(c.pair), c.survival))
    before = None
    for number, condition in enumerate(ordered, 1):
        yield number, condition, condition.pair != before
        before = condition.pair


def _curves(runs: Runs, suite: str) -> list[Block]:
    pictures, tables = [], []
    for number, condition, _ in _numbered(runs, suite):
        name = table_name(suite, condition, number)
        tables.append(curve_table(runs, suite, condition, name))
        pictures += [
            curve_picture(
                suite, curve(runs, suite, condition, setting), f"{name}-{setting.lower()}"
            )
            for setting in SETTINGS
        ]
    if not tables:
        return []
    told = (
        "MM-Align as printed, one setting changed. Lines are means over seeds, bands their 95 % "
        "intervals (t); where a single seed is finished there is no band."
    )
    return [told, Gallery(pictures), Details("The same as numbers", tables)]


def _facts(runs: Runs, pairs: int) -> list[str]:
    grid = runs.grid
    done = len({p.address for p in grid.placed if grid.is_done(p.address)})
    survivals = sorted({p.entry.survival for p in grid.placed})
    seeds = {p.entry.job.config.seed for p in grid.placed}
    clips = " / ".join(f"{count}" for count in grid.data["clips"].values())
    return [
        _count(pairs, "pair"),
        f"survival {', '.join(map(percent, survivals))}",
        _count(len(seeds), "seed"),
        f"{clips} clips ({', '.join(grid.data['clips'])})",
        f"{done} of {len(grid.jobs)} runs finished",
        f"data {grid.data['hash'][:12]}",
    ]


def _warning(runs: Runs) -> str:
    pending, failed = len(runs.grid.pending()), len(runs.grid.failures())
    if not pending:
        return ""
    errors = f", {failed} of them after an error" if failed else ""
    return (
        f"This grid is not finished: {pending} of {len(runs.grid.jobs)} runs are missing{errors}. "
        "Cells with fewer seeds than planned say how many they have; the last section lists what "
        "is missing."
    )


def _test_note(runs: Runs) -> str:
    seeds = len(runs.seeds("main"))
    if seeds < FEWEST_SEEDS:
        return f"With {_count(seeds, 'seed')} no test is possible: a paired test needs two or more."
    return (
        "“Clearly” means that the 95 % interval of the difference, paired over "
        f"{runs.seed_count('main')}, leaves out 0, which is the paired t-test at p < 0.05. There "
        "is no correction for the number of comparisons: of twenty between equals, one is marked "
        "by chance."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
