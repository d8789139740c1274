"""A report as a whole: its title, its extent, and the chapters of its grids."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mmalign.errors import counted
from mmalign.experiments.report.chapters import write_chapters
from mmalign.experiments.report.document import Document, Section, renamed
from mmalign.experiments.report.findings import (
    Finding,
    count_against_floor,
    count_sentence,
    find_all,
    findings_note,
)
from mmalign.experiments.report.measures import percent
from mmalign.experiments.report.runs import Runs
from mmalign.experiments.report.table import Cell, Column, Row, Table, slug


def write_document(runs: Runs) -> Document:
    """The report of one grid."""
    return Document(
        title=f"When a modality is missing: {runs.name}",
        lead=_lead(runs),
        facts=_facts(runs),
        warning=_warning([runs], "This grid", "the last section lists"),
        sections=write_chapters(runs),
    )


def study_document(results: Mapping[str, Runs], title: str) -> Document:
    """The report of a study: one count over all datasets, then the chapters of each.

    Args:
        results: Runs by the title of their dataset.
        title: Title of the study.
    """
    titles = list(results)
    sections = [
        _of_dataset(section, name, f"{number}-{slug(name)}")
        for number, (name, runs) in enumerate(results.items(), 1)
        for section in write_chapters(runs)
    ]
    seeds = max(len(runs.seeds("main")) for runs in results.values())
    note = findings_note(seeds, f"up to {counted(seeds, 'seed')}")
    return Document(
        title=title,
        lead=(
            "Systems that stand in for a missing modality, compared with the same network, the "
            f"same masks and the same seeds on {'; '.join(titles)}."
        ),
        facts=[counted(len(titles), "dataset"), _progress(results.values())],
        warning=_warning(results.values(), "This study", "the last section of each dataset lists"),
        sections=[
            Section("glance", "All datasets", [count_all(results), count_table(results), note]),
            *sections,
        ],
    )


def count_all(results: Mapping[str, Runs]) -> str:
    """One count over all datasets, in words."""
    findings = [found for runs in results.values() for found in find_all(runs)]
    return count_sentence(count_against_floor(findings))


def count_table(results: Mapping[str, Runs]) -> Table:
    """Clear differences from zero-fill on each dataset and on all, beside those of chance."""
    findings = [(title, find_all(runs)) for title, runs in results.items()]
    rows = [Row(title, _count_cells(found)) for title, found in findings]
    everything = [one for _, found in findings for one in found]
    rows.append(Row("All datasets", _count_cells(everything), starts_group=True))
    headings = ("Comparisons", "Clearly better", "Clearly worse", "By chance, each")
    title = "Imputers and floors against zero-fill"
    return Table("counts", title, "Dataset", list(map(Column, headings)), rows)


def _count_cells(findings: Iterable[Finding]) -> list[Cell]:
    count = count_against_floor(findings)
    whole = (count.comparisons, count.better, count.worse)
    return [*(Cell(f"{number}") for number in whole), Cell(f"{count.by_chance:.1f}")]


def _of_dataset(section: Section, title: str, prefix: str) -> Section:
    """A chapter of one dataset, its names told apart from those of the others."""
    return replace(
        section,
        name=f"{prefix}-{section.name}",
        part=title,
        blocks=[renamed(block, prefix) for block in section.blocks],
    )


def _lead(runs: Runs) -> str:
    """What was compared on what."""
    pairs = dict.fromkeys(run.condition.pair for run in runs.of_pairs)
    told = []
    if len(runs.of_pairs) < len(runs.planned):
        told.append(
            f"One model for every subset of the modalities of {runs.name}, compared with models "
            "trained separately for each subset, on the same clips and with the same seeds."
        )
    if pairs:
        told.append(
            f"Systems that stand in for a missing modality, compared on {runs.name} with the same "
            f"network, the same masks and the same seeds: {'; '.join(pairs)}."
        )
    return " ".join(told)


def _facts(runs: Runs) -> list[str]:
    pairs = {run.condition.pair for run in runs.of_pairs}
    survivals = sorted({run.entry.survival for run in runs.of_pairs})
    data = runs.grid.data
    clips = " / ".join(f"{count}" for count in data["clips"].values())
    of_pairs = [counted(len(pairs), "pair"), f"survival {', '.join(map(percent, survivals))}"]
    return [
        *(of_pairs if pairs else [", ".join(data["dims"])]),
        counted(len({run.seed for run in runs.planned}), "seed"),
        f"{clips} clips ({', '.join(data['clips'])})",
        _progress([runs]),
        f"data {data['hash'][:12]}",
    ]


def _progress(results: Iterable[Runs]) -> str:
    jobs = [done for runs in results for done in runs.jobs.values()]
    return f"{sum(run.is_done for run in jobs)} of {len(jobs)} runs finished"


def _warning(results: Iterable[Runs], what: str, where: str) -> str:
    jobs = [run for runs in results for run in runs.jobs.values()]
    missing = [run for run in jobs if not run.is_done]
    if not missing:
        return ""
    failed = sum(bool(run.error) for run in missing)
    errors = f", {failed} of them after an error" if failed else ""
    return (
        f"{what} is not finished: {len(missing)} of {len(jobs)} runs are missing{errors}. Cells "
        f"with fewer seeds than planned say how many they have; {where} what is missing."
    )
