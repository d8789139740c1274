"""A study: several datasets, their splits, tables, systems and seeds, stated in one TOML file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from mmalign.data.split_rules import SplitRule
from mmalign.errors import ConfigError, shown, suggestion
from mmalign.experiments.keeping import Keep
from mmalign.experiments.scope import Scope
from mmalign.experiments.source import Source, absolute
from mmalign.experiments.systems import Settings
from mmalign.training.config import read_config

Pair = tuple[str, str]
Table = Mapping[str, Any]
Tables = Mapping[str, Table]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A learning rate that every system chooses on validation clips, with the same budget.

    Attributes:
        learning_rates: What there is to choose from.
        seeds: Seeds of the choice; the tables should use others.
        survival: Share of training clips that keep the victim.
    """

    learning_rates: Sequence[float]
    seeds: Sequence[int] = (100, 101)
    survival: float = 0.5


@dataclass(frozen=True, kw_only=True)
class StudyTable:
    """A part of the study on one dataset.

    Attributes:
        dataset: Its title.
        pairs: Pairs of visible and victim; empty for all.
        modalities: Those whose subsets are asked about; empty for all.
        suites: Which tables and figures.
        systems: Titles of rows; empty for all.
        survivals: Shares of training clips that keep the victim; empty for the study's.
        seeds: How many; none for the study's.
        rates: Missing rates of `random-missing` and `gaps`; empty for the usual ones.
    """

    dataset: str
    pairs: Sequence[Pair] = ()
    modalities: Sequence[str] = ()
    suites: Sequence[str] = ("main",)
    systems: Sequence[str] = ()
    survivals: Sequence[float] = ()
    seeds: int | None = None
    rates: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """What to run, on which data.

    Attributes:
        title: What the report is called.
        datasets: Where the data is, by title, in the order of the report.
        systems: Rows of tables: settings by title.
        tables: What is run on which dataset.
        survivals: Shares of training clips that keep the victim.
        seeds: How many seeds.
        settings: What is set for every run; a system's own settings win.
        choice: What is chosen on validation before the tables are run, if anything.
        chosen_on: Datasets that take over what was chosen on another one.
        keep: Which runs keep their weights.
    """

    title: str
    datasets: Mapping[str, Source]
    systems: Mapping[str, Settings]
    tables: Sequence[StudyTable]
    survivals: Sequence[float] = (0.1, 0.5)
    seeds: int = 5
    settings: Settings = field(default_factory=dict)
    choice: Choice | None = None
    chosen_on: Mapping[str, str] = field(default_factory=dict)
    keep: Keep = "nothing"

    def only(self, titles: Iterable[str]) -> "Study":
        """The study on some of its datasets.

        Raises:
            ConfigError: If it has no such dataset.
        """
        wanted = list(titles)
        unknown = [title for title in wanted if title not in self.datasets]
        if unknown:
            raise ConfigError(
                f"the study has no dataset {unknown[0]!r}; {suggestion(unknown[0], self.datasets)}"
            )
        datasets = {title: self.datasets[title] for title in self.datasets if title in wanted}
        tables = [table for table in self.tables if table.dataset in datasets]
        return Study(**{**vars(self), "datasets": datasets, "tables": tables})

    def scope(
        self, table: StudyTable, chosen: Mapping[str, Settings], pairs: Sequence[Pair] = ()
    ) -> Scope:
        """How far a table's suites reach, with the settings that each system has chosen.

        Args:
            table: The table.
            chosen: Settings that systems chose on validation, by title.
            pairs: What there is to ask about where the table names no pairs.
        """
        titles = table.systems or tuple(self.systems)
        rows = {title: {**self.systems[title], **chosen.get(title, {})} for title in titles}
        return Scope(
            pairs=table.pairs or pairs,
            survivals=table.survivals or self.survivals,
            seeds=range(self.seeds if table.seeds is None else table.seeds),
            systems=rows,
            candidates=rows,
            modalities=table.modalities,
            settings=self.settings,
            rates=table.rates,
        )


def read_study(file: Path, *, root: Path | None = None) -> Study:
    """Read a study file; paths of datasets start at `root`, or where the file is.

    Raises:
        ConfigError: If it cannot be read, or states something that is not known.
    """
    content = read_config(file)
    try:
        return _parsed(content, root or file.parent)
    except ConfigError as error:
        raise ConfigError([f"{file}: {problem}" for problem in error.problems]) from None


def folder_name(title: str) -> str:
    """The name of a dataset's directory.

    >>> folder_name("UTD-MHAD, 32 steps")
    'utd-mhad-32-steps'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _parsed(content: dict[str, Any], root: Path) -> Study:
    if "keep" in content and content["keep"] not in get_args(Keep):
        raise ConfigError(f"keep is one of {', '.join(get_args(Keep))}, got {content['keep']!r}")
    _check_kinds("study", content, {"datasets": Tables, "tables": Sequence[Table], "choice": Table})
    datasets, chosen_on = {}, {}
    for title, stated in content.get("datasets", {}).items():
        if "chosen_on" in stated:
            chosen_on[title] = stated.pop("chosen_on")
        datasets[title] = _source(title, stated, root)
    tables = [_table(number, stated) for number, stated in enumerate(content.get("tables", ()), 1)]
    choice = content.get("choice")
    known = {
        **content,
        "datasets": datasets,
        "chosen_on": chosen_on,
        "tables": tables,
        "choice": None if choice is None else _made(Choice, "choice", choice),
    }
    study: Study = _made(Study, "study", known)
    problems = _problems(study)
    if problems:
        raise ConfigError(problems)
    return study


def _table(number: int, stated: Mapping[str, Any]) -> StudyTable:
    where, pairs = f"table {number}", stated.get("pairs", [])
    _check_kinds(where, stated, {"pairs": Sequence[Sequence[str]]})
    if any(len(pair) != 2 for pair in pairs):
        raise ConfigError(f"{where}: a pair names a visible modality and a victim")
    pairs = [tuple(pair) for pair in pairs]
    table: StudyTable = _made(StudyTable, where, {**stated, "pairs": pairs})
    return table


def _source(title: str, stated: dict[str, Any], root: Path) -> Source:
    where = f"dataset {title!r}"
    _check_kinds(where, stated, {"splits": Tables, "path": str, "vectors": str})
    rules = {
        split: _made(SplitRule, f"{where}, split {split}", rule)
        for split, rule in stated.get("splits", {}).items()
    }
    places: dict[str, Any] = {
        name: absolute(str(root / stated[name])) if (root / stated[name]).exists() else stated[name]
        for name in ("path", "vectors")
        if name in stated
    }
    source: Source = _made(Source, where, {**stated, **places, "splits": rules})
    return source


def _made(kind: Any, where: str, stated: Mapping[str, Any]) -> Any:
    """An object of a kind from what a file states.

    Raises:
        ConfigError: If the file states too much, too little, or what makes no sense.
    """
    known = {one.name: one for one in fields(kind)}
    problems = [
        f"{where}: {name!r} is not known; {suggestion(name, known)}"
        for name in stated
        if name not in known
    ]
    problems += [
        f"{where}: {name} is missing"
        for name, one in known.items()
        if name not in stated and one.default is MISSING and one.default_factory is MISSING
    ]
    if problems:
        raise ConfigError(problems)
    _check_kinds(where, stated, {name: one.type for name, one in known.items()})
    try:
        return kind(**stated)
    except ConfigError as error:
        raise ConfigError([f"{where}: {problem}" for problem in error.problems]) from None


def _check_kinds(where: str, stated: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Check that values are of the kinds that their names want.

    Raises:
        ConfigError: If some are not; names them all.
    """
    problems = [
        f"{where}: {name} cannot be {shown(repr(stated[name]), most=80)}"
        for name, kind in kinds.items()
        if name in stated and not _is_of(stated[name], kind)
    ]
    if problems:
        raise ConfigError(problems)


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, which is an annotation."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_is_of(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is Mapping:
        return isinstance(value, dict) and all(_is_of(one, parts[1]) for one in value.values())
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(_is_of(one, parts[0]) for one in value)
    if origin is tuple or kind is Any:
        return True
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _problems(study: Study) -> list[str]:
    """What does not fit together."""
    problems = []
    if len({folder_name(title) for title in study.datasets}) < len(study.datasets):
        problems.append("titles of datasets must differ in more than signs: they name directories")
    for number, table in enumerate(study.tables, 1):
        if table.dataset not in study.datasets:
            problems.append(f"table {number}: there is no dataset {table.dataset!r}")
        problems += [
            f"table {number}: there is no system {title!r}"
            for title in table.systems
            if title not in study.systems
        ]
    if study.choice is not None:
        problems += [
            f"table {number}: a choice of settings is made on a pair: name pairs"
            for number, table in enumerate(study.tables, 1)
            if not table.pairs
        ]
    for title, other in study.chosen_on.items():
        if other not in study.datasets:
            problems.append(f"dataset {title!r}: chosen_on names no dataset: {other!r}")
    return problems
