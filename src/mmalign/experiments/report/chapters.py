"""From finished runs to the chapters of a report; a chapter without runs is left out."""

from collections.abc import Callable, Iterator

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.report.ablation import WHOLE, ablation_table, swap_table
from mmalign.experiments.report.calibration import calibration
from mmalign.experiments.report.curves import curve, curve_table
from mmalign.experiments.report.document import Block, Code, Details, Gallery, Heading, Section
from mmalign.experiments.report.findings import find_all, findings_note, findings_table, sentences
from mmalign.experiments.report.main_tables import (
    difference_table,
    main_table,
    marks_legend,
    metrics_table,
)
from mmalign.experiments.report.pictures.canvas import Picture
from mmalign.experiments.report.pictures.case import case_picture
from mmalign.experiments.report.pictures.curve import curve_picture
from mmalign.experiments.report.pictures.leads import lead_picture
from mmalign.experiments.report.pictures.plans import plans_picture
from mmalign.experiments.report.pictures.speed import speed_picture, speed_table
from mmalign.experiments.report.published import NOTES, published_table
from mmalign.experiments.report.runs import Condition, Run, Runs
from mmalign.experiments.report.setup_tables import (
    change_table,
    config_table,
    cost_table,
    data_table,
    mask_code,
    mask_table,
    missing_table,
    progress_table,
    version_table,
)
from mmalign.experiments.report.subset_chapters import gaps, random_missing, which
from mmalign.experiments.report.table import slug
from mmalign.experiments.report.words import PAIR_WORDS

Chapter = Callable[[Runs], list[Block]]
NUMBERS = "The same as numbers"


def write_chapters(runs: Runs) -> list[Section]:
    """All chapters that the finished runs can fill."""
    sections = [Section(key, title, make(runs)) for key, (title, make) in CHAPTERS.items()]
    return [section for section in sections if section.blocks]


def at_a_glance(runs: Runs) -> list[Block]:
    """Clear differences, in words and as a table."""
    findings = find_all(runs)
    if not findings:
        return []
    note = findings_note(len(runs.seeds("main")), runs.seed_count("main"))
    first, *others = sentences(runs, findings)
    drawn = _leads(runs, *next(_named(runs, "main")))
    return [first, *drawn, PAIR_WORDS, *others, findings_table(findings), note]


def _leads(runs: Runs, condition: Condition, name: str) -> list[Block]:
    picture = lead_picture(runs, condition, f"leads-{name}")
    return [] if picture is None else [Gallery([picture])]


def main(runs: Runs) -> list[Block]:
    """A table for each pair and survival rate; every metric is one click away."""
    blocks: list[Block] = []
    pair = ""
    for condition, name in _named(runs, "main"):
        if condition.pair != pair:
            pair = condition.pair
            blocks.append(Heading(pair))
        blocks.append(main_table(runs, condition, f"main-{name}"))
        tables = [
            metrics_table(runs, condition, setting, f"metrics-{setting.lower()}-{name}")
            for setting in SETTINGS
        ]
        blocks.append(Details(f"All metrics, {condition.title}", tables))
    return [marks_legend(runs), *blocks] if blocks else []


def differences(runs: Runs) -> list[Block]:
    """Every system against zero-fill and LB."""
    blocks: list[Block] = []
    for condition, name in _named(runs, "main"):
        tables = [
            difference_table(runs, condition, setting, f"differences-{setting.lower()}-{name}")
            for setting in SETTINGS
        ]
        drawn = _leads(runs, condition, name) if blocks else []  # the first is at the top
        blocks.append(Details(condition.title, [*drawn, *tables], is_open=not blocks))
    measure = runs.measures[0]
    good = "above" if measure.is_higher_better else "below"
    told = (
        f"System minus reference in {measure.title}, over the seeds that both have; {good} 0 is "
        "better. In bold: the interval leaves out 0; ▲▼ and †‡ as above."
    )
    return [told, *blocks] if blocks else []


def ablation(runs: Runs) -> list[Block]:
    """Parts of the method, then its plans."""
    blocks: list[Block] = [
        ablation_table(runs, condition, f"ablation-{name}")
        for condition, name in _named(runs, "ablation")
    ]
    if blocks:
        change = f"Change in {runs.measures[0].title} against {WHOLE} when one part is changed."
        blocks.insert(0, change)
    conditions = list(dict.fromkeys(runs.conditions("main") + runs.conditions("ablation")))
    swaps = [
        swap_table(runs, condition, f"swaps-{name}") for condition, name in _numbered(conditions)
    ]
    if any(swaps):
        told = (
            "Trained models get another plan at test time. If the predicted plan matters, a "
            "uniform or permuted plan scores worse, and the solver's own plan (which sees the "
            "missing modality) scores better. Scored on the test clips that have their victim."
        )
        blocks += [Heading("Are the plans used?"), told, *filter(None, swaps)]
    return blocks


def curves_of(suite: str) -> Chapter:
    """The chapter of MM-Align over its window or its entropic regularisation."""

    def chapter(runs: Runs) -> list[Block]:
        places = list(_named(runs, suite))
        if not places:
            return []
        pictures = [
            curve_picture(
                suite,
                curve(runs, suite, condition, setting),
                f"{suite}-{name}-{setting.lower()}",
            )
            for condition, name in places
            for setting in SETTINGS
        ]
        tables = [curve_table(runs, suite, place, f"{suite}-{name}") for place, name in places]
        told = (
            "MM-Align as printed, with one parameter changed. Lines are means over seeds, bands "
            "their 95 % intervals (t); where only one seed is finished there is no band."
        )
        return [told, Gallery(pictures), Details(NUMBERS, tables)]

    return chapter


def pictures_of(suite: str, name: str, draw: Callable[[Run, str], Picture], told: str) -> Chapter:
    """The chapter of a suite that has a picture a run."""

    def chapter(runs: Runs) -> list[Block]:
        found = [
            draw(run, f"{name}-{number}-{slug(run.entry.system)}")
            for number, run in enumerate(runs.of(suite), 1)
        ]
        return [told, Gallery(found)] if found else []

    return chapter


plans = pictures_of(
    "alignment",
    "plans",
    plans_picture,
    "Mean mass over test clips. The solver sees both modalities, the fitter the visible one "
    "alone. The line marks the window: beyond it there is exactly no mass.",
)
case = pictures_of(
    "case",
    "case",
    case_picture,
    "A line joins a step above to the step below that its mass goes to; the stronger the line, "
    "the more mass, on one scale for both plans. The solver sees both modalities, the fitter "
    "the visible one alone.",
)


def speed(runs: Runs) -> list[Block]:
    """Bars, and the same as numbers."""
    found = [(run, f"speed-{number}") for number, run in enumerate(runs.of("speed"), 1)]
    tables = [speed_table(run, name) for run, name in found]
    pictures = [speed_picture(run, name) for run, name in found]
    return [Gallery(pictures), Details(NUMBERS, tables)] if found else []


def published(runs: Runs) -> list[Block]:
    """The paper's numbers where they are of the same dataset and splits."""
    tables = [published_table(runs, c, f"published-{name}") for c, name in _named(runs, "main")]
    found = [table for table in tables if table is not None]
    return [*NOTES, *found] if found else []


def setup(runs: Runs) -> list[Block]:
    """Everything one needs to run it again."""
    return [
        data_table(runs),
        *(_masks(runs) if runs.of_pairs else []),
        Heading("Configuration"),
        Details("Config that all runs share", [config_table(runs)]),
        Details("What each row sets on top", [change_table(runs)]),
        *[table for table in [cost_table(runs)] if table.rows],
    ]


def _masks(runs: Runs) -> list[Block]:
    """How the masks of the pairs were made, and how to make them again."""
    return [
        Heading("Masks"),
        "A mask is a pure function of clip ids, survival rate and seed, the same for all systems. "
        "Counts hold if every clip has its victim to begin with. To make the masks again:",
        Code(mask_code(runs)),
        mask_table(runs),
    ]


def completeness(runs: Runs) -> list[Block]:
    """What ran, what did not, and with what this report was made."""
    missing = missing_table(runs)
    unfinished = [Details("Runs that are not finished", [missing])] if missing.rows else []
    return [
        progress_table(runs),
        *unfinished,
        "Versions of what made this report; the grid itself was made by the same mmalign.",
        version_table(),
    ]


CHAPTERS: dict[str, tuple[str, Chapter]] = {
    "which": ("Which should I use?", which),
    "random-missing": ("Modalities missing at random", random_missing),
    "gaps": ("Gaps inside sequences", gaps),
    "calibration": ("How sure is it, and how right?", calibration),
    "glance": ("At a glance", at_a_glance),
    "main": ("Main comparison", main),
    "differences": ("Paired differences", differences),
    "ablation": ("Ablation and plan swaps", ablation),
    "window": ("Window", curves_of("window")),
    "epsilon": ("Epsilon", curves_of("epsilon")),
    "plans": ("Mean plans", plans),
    "case": ("Case study", case),
    "speed": ("Speed", speed),
    "published": ("Beside the paper", published),
    "setup": ("Data, masks and configuration", setup),
    "runs": ("Runs and versions", completeness),
}


def _named(runs: Runs, suite: str) -> Iterator[tuple[Condition, str]]:
    """Conditions pair by pair, with names for the files of their tables."""
    pairs = list(dict.fromkeys(condition.pair for condition in runs.conditions(suite)))
    return _numbered(
        sorted(runs.conditions(suite), key=lambda c: (pairs.index(c.pair), c.survival))
    )


def _numbered(conditions: list[Condition]) -> Iterator[tuple[Condition, str]]:
    """Conditions with a part of a file name; the number tells apart what letters cannot."""
    for number, condition in enumerate(conditions, 1):
        pair = f"{slug(condition.visible)}-to-{slug(condition.victim)}"
        yield condition, f"{number}-{pair}-{round(100 * condition.survival)}"
