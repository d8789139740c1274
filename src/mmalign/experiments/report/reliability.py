"""Do the experts' probabilities mean what they say, whatever is there? Bins of all seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mmalign.evaluation.calibration import ReliabilityBin
from mmalign.experiments.report.main_tables import score_cell
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.runs import Run, Seeds
from mmalign.experiments.report.subset_scores import Subset, SubsetPanel, subset_title
from mmalign.experiments.report.table import Column, Row, Table
from mmalign.experiments.systems import ONE_MODEL

ERROR = Measure("ece", "Calibration error", is_higher_better=False)
ACCURACY = Measure("accuracy", "Accuracy")
CONFIDENCE = Measure("confidence", "Mean confidence")


@dataclass(frozen=True)
class Reliability:
    """Bins of the one model on test clips.

    Attributes:
        panel: What the suite of subsets found.
    """

    panel: SubsetPanel

    @cached_property
    def runs(self) -> list[Run]:
        """Finished runs of the one model."""
        return [run for run in self.panel.finished if run.entry.system == ONE_MODEL]

    @cached_property
    def subsets(self) -> list[Subset]:
        """Subsets whose bins are known, in the panel's order; none for numbers."""
        return [s for s in self.panel.subsets if any(map(bool, self._bins(s).values()))]

    @property
    def drawn(self) -> list[Subset]:
        """Each modality alone, and all together: what a picture has room for."""
        everything = len(self.panel.modalities)
        return [subset for subset in self.subsets if len(subset) in (1, everything)]

    def bins(self, subset: Subset) -> list[ReliabilityBin]:
        """The bins of all seeds, pooled by their numbers of clips."""
        found: dict[float, list[ReliabilityBin]] = {}
        for bins in self._bins(subset).values():
            for one in bins:
                found.setdefault(one.low, []).append(one)
        return [_pooled(found[low]) for low in sorted(found)]

    def confidence(self, subset: Subset) -> Seeds:
        """Mean probability of the predicted class, by seed."""
        return {
            seed: sum(b.clips * b.confidence for b in bins) / sum(b.clips for b in bins)
            for seed, bins in self._bins(subset).items()
            if bins
        }

    def _bins(self, subset: Subset) -> Mapping[int, list[ReliabilityBin]]:
        return {
            run.seed: [
                ReliabilityBin(**one) for one in run.subsets.get(subset, {}).get("reliability", ())
            ]
            for run in self.runs
        }


def _pooled(bins: list[ReliabilityBin]) -> ReliabilityBin:
    clips = sum(one.clips for one in bins)
    confidence = sum(one.clips * one.confidence for one in bins) / clips
    accuracy = sum(one.clips * one.accuracy for one in bins) / clips
    return ReliabilityBin(bins[0].low, bins[0].high, clips, confidence, accuracy)


def reliability_table(found: Reliability, name: str) -> Table:
    """Accuracy, mean confidence and calibration error of every subset."""
    panel, planned = found.panel, len(found.panel.runs.seeds(found.panel.suite))
    rows = []
    for subset in found.subsets:
        scores = {m: panel.scores(ONE_MODEL, subset, m) for m in (ACCURACY, ERROR)}
        scores[CONFIDENCE] = found.confidence(subset)
        cells = [score_cell(scores[m], m, planned=planned) for m in (ACCURACY, CONFIDENCE, ERROR)]
        rows.append(Row(subset_title(subset), cells))
    columns = [Column(m.title) for m in (ACCURACY, CONFIDENCE)] + [Column(ERROR.heading)]
    title = f"{', '.join(panel.modalities)}: how sure {ONE_MODEL} are, in %, mean ± sd over seeds"
    return Table(name, title, "What is there", columns, rows)
