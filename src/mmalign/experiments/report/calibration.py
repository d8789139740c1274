"""The chapter about calibration."""

from mmalign.experiments.report.document import Block, Gallery
from mmalign.experiments.report.pictures.reliability import reliability_picture
from mmalign.experiments.report.reliability import Reliability, reliability_table
from mmalign.experiments.report.runs import Runs
from mmalign.experiments.report.subset_scores import SubsetPanel
from mmalign.experiments.subset_suites import SUBSETS
from mmalign.experiments.systems import ONE_MODEL

TOLD = (
    f"Of all answers that {ONE_MODEL} give with 80 % confidence, 80 % should be right. Clips are "
    "put into 15 bins by the probability of the predicted class; the calibration error is the mean "
    "distance between confidence and accuracy, weighted by the clips in each bin. With few clips, "
    "chance alone makes it a few points."
)


def calibration(runs: Runs) -> list[Block]:
    """How sure the one model is with each subset, and whether it should be."""
    sets = runs.modalities(SUBSETS)
    found = [Reliability(SubsetPanel(runs, SUBSETS, names)) for names in sets]
    blocks: list[Block] = []
    for number, one in enumerate((r for r in found if r.subsets), 1):
        name = f"calibration-{number}"
        blocks += [Gallery([reliability_picture(one, name)])] if one.drawn else []
        blocks.append(reliability_table(one, name))
    return [TOLD, *blocks] if blocks else []
