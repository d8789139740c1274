"""A report as a whole: its title, its extent, and the chapters of its grid."""

from mmalign.experiments.report.chapters import write_chapters
from mmalign.experiments.report.document import Document
from mmalign.experiments.report.measures import percent
from mmalign.experiments.report.runs import Runs, counted


def write_document(runs: Runs) -> Document:
    """The report of one grid."""
    pairs = list(dict.fromkeys(run.condition.pair for run in runs.planned))
    return Document(
        title=f"When a modality is missing: {runs.name}",
        lead=(
            f"Systems that stand in for a missing modality, compared on {runs.name} with the same "
            f"network, the same masks and the same seeds: {'; '.join(pairs)}."
        ),
        facts=_facts(runs, len(pairs)),
        warning=_warning(runs),
        sections=write_chapters(runs),
    )


def _facts(runs: Runs, pairs: int) -> list[str]:
    jobs = {run.entry.job: run.is_done for run in runs.planned}
    survivals = sorted({run.entry.survival for run in runs.planned})
    data = runs.grid.data
    clips = " / ".join(f"{count}" for count in data["clips"].values())
    return [
        counted(pairs, "pair"),
        f"survival {', '.join(map(percent, survivals))}",
        counted(len({run.seed for run in runs.planned}), "seed"),
        f"{clips} clips ({', '.join(data['clips'])})",
        f"{sum(jobs.values())} of {len(jobs)} runs finished",
        f"data {data['hash'][:12]}",
    ]


def _warning(runs: Runs) -> str:
    missing = {run.entry.job: run.error for run in runs.planned if not run.is_done}
    if not missing:
        return ""
    failed = sum(map(bool, missing.values()))
    errors = f", {failed} of them after an error" if failed else ""
    jobs = len({run.entry.job for run in runs.planned})
    return (
        f"This grid is not finished: {len(missing)} of {jobs} runs are missing{errors}. "
        "Cells with fewer seeds than planned say how many they have; the last section lists what "
        "is missing."
    )
