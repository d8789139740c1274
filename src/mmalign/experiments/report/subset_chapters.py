"""Chapters about any subset of modalities."""

from mmalign.experiments.job import GAP_LENGTH, GAPS
from mmalign.experiments.report.document import Block, Details, Gallery
from mmalign.experiments.report.pictures.answer import answer_picture
from mmalign.experiments.report.pictures.heat import heat_picture
from mmalign.experiments.report.pictures.rates import rate_picture
from mmalign.experiments.report.rates import RatePanel, rate_table
from mmalign.experiments.report.runs import Runs
from mmalign.experiments.report.subset_scores import SubsetPanel, answer_sentence
from mmalign.experiments.report.subset_tables import (
    how_subsets_are_read,
    metric_table,
    subset_heat,
    subset_table,
)
from mmalign.experiments.subset_suites import RANDOM_MISSING, SUBSETS

LINES = "Lines are means over seeds, bands their 95 % intervals (t)."


def which(runs: Runs) -> list[Block]:
    """Which should I use? The answer, how sure it is, a heat map, and the same as numbers."""
    blocks: list[Block] = []
    for number, modalities in enumerate(runs.modalities(SUBSETS), 1):
        panel = SubsetPanel(runs, SUBSETS, modalities)
        heat, metrics = subset_heat(panel), metric_table(panel, f"subset-metrics-{number}")
        caption = f"{panel.measure.heading} of every subset of {heat.title}, mean over seeds."
        blocks += [
            answer_sentence(panel.standings(), panel.over),
            Gallery([answer_picture(panel, f"answer-{number}")]),
            *how_subsets_are_read(runs, panel),
            Gallery([heat_picture(heat, f"subsets-{number}", caption)]),
            subset_table(panel, f"subsets-{number}"),
            Details("All metrics of every subset", [metrics]),
        ]
    return blocks


def random_missing(runs: Runs) -> list[Block]:
    """The curve over the share of sequences that are missing."""
    told = (
        "Any modality of any clip may be missing, at the same rate in training and test; every "
        f"clip keeps one. A dedicated system has one model for each pattern, trained on the clips "
        f"that have it, and predicts the clips that have just that. {LINES}"
    )
    return _over_rates(runs, RANDOM_MISSING, "missing sequences, %", told)


def gaps(runs: Runs) -> list[Block]:
    """The curve over the share of steps that are missing."""
    told = (
        f"Runs of steps are missing in every sequence of the test clips, {GAP_LENGTH} steps long "
        "on average. Training is on clips without these gaps, or, dashed, with gaps at the same "
        f"rate. {LINES}"
    )
    return _over_rates(runs, GAPS, "missing steps, %", told)


def _over_rates(runs: Runs, suite: str, label: str, told: str) -> list[Block]:
    panels = [RatePanel(runs, suite, names) for names in runs.modalities(suite)]
    if not panels:
        return []
    named = [(panel, f"{suite}-{number}") for number, panel in enumerate(panels, 1)]
    pictures = [rate_picture(panel, name, label=label) for panel, name in named]
    return [told, Gallery(pictures), *(rate_table(panel, name) for panel, name in named)]
