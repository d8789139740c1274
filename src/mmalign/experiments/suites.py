"""Suites: the paper's tables and figures as lists of jobs."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from mmalign.align import smallest_window
from mmalign.data.dataset import Dataset
from mmalign.data.split_names import SPLITS
from mmalign.errors import ConfigError, DataError
from mmalign.experiments.job import Entry, Job, Kind
from mmalign.experiments.plan_study import choose_clip
from mmalign.experiments.scope import Scope
from mmalign.experiments.subset_suites import SUBSET_SUITES
from mmalign.experiments.systems import SYSTEMS, Settings, unknown
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.training.config import IMPROVED, config_from
from mmalign.training.methods import configure, find_method

ABLATIONS: Mapping[str, Settings] = {
    "MM-Align": {},
    "without contrastive loss": {"contrastive_weight": 0.0},
    "without fit loss": {"fit": False},
    "separated iterations": {"separated": True},
    "without positions at the fusion": {"fusion_positions": False},
    "with both passes": {"both_passes": True},
    "with step contrast": {"step_contrast_weight": 1.0},
    "MM-Align, improved": IMPROVED,
}
WINDOWS = (4, 8, 16, 32, 64, 128, 256)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 5.0)


Suite = Callable[[Dataset, Scope], Iterator[Entry]]


def main(_: Dataset, scope: Scope) -> Iterator[Entry]:
    """Methods x pairs x survival rates x seeds; settings A and B come from one run."""
    for pair, survival, seed in itertools.product(scope.pairs, scope.survivals, scope.seeds):
        for title, settings in scope.systems.items():
            yield _entry("main", title, scope, pair, survival, {**settings, "seed": seed})


def ablation(_: Dataset, scope: Scope) -> Iterator[Entry]:
    """What each part of the method is worth; plan swaps come with every run of it."""
    rows: dict[str, Settings] = {
        title: {"method": "mmalign", **settings} for title, settings in ABLATIONS.items()
    }
    rows |= {
        SYSTEMS[name][0]: SYSTEMS[name][1] for name in ("lb", "zero-fill", "uniform-window", "ub")
    }
    for pair, survival, seed in itertools.product(scope.pairs, scope.survivals, scope.seeds):
        for title, settings in rows.items():
            yield _entry("ablation", title, scope, pair, survival, {**settings, "seed": seed})


def window(dataset: Dataset, scope: Scope) -> Iterator[Entry]:
    """The method over radii of the band; those that cannot reach across a clip are left out."""
    for pair, survival, seed in itertools.product(scope.pairs, scope.survivals, scope.seeds):
        for radius in WINDOWS:
            if radius >= _smallest_window(dataset, *pair):
                settings = {"method": "mmalign", "window": radius, "seed": seed}
                yield _entry("window", f"{radius}", scope, pair, survival, settings)
        yield from _references("window", scope, pair, survival, seed)


def epsilon(_: Dataset, scope: Scope) -> Iterator[Entry]:
    """The method over entropic regularisation, up to the uniform limit."""
    for pair, survival, seed in itertools.product(scope.pairs, scope.survivals, scope.seeds):
        for value in EPSILONS:
            settings = {"method": "mmalign", "epsilon": value, "seed": seed}
            yield _entry("epsilon", f"{value:g}", scope, pair, survival, settings)
        limit = {"method": "uniform-window", "seed": seed}
        yield _entry("epsilon", "uniform", scope, pair, survival, limit)
        yield from _references("epsilon", scope, pair, survival, seed)


def speed(_: Dataset, scope: Scope) -> Iterator[Entry]:
    """What imputation costs a training batch."""
    for pair in scope.pairs:
        yield _plan_entry("speed", "MM-Align and Modal-Trans", scope, pair, {}, kind="speed")


def alignment(_: Dataset, scope: Scope) -> Iterator[Entry]:
    """Mean plans over clips of 20 steps or more."""
    for pair, name in itertools.product(scope.pairs, ("mmalign", "mmalign-improved")):
        title, settings = SYSTEMS[name]
        yield _plan_entry("alignment", title, scope, pair, settings)


def case(dataset: Dataset, scope: Scope) -> Iterator[Entry]:
    """One clip, word by word."""
    for pair, name in itertools.product(scope.pairs, ("mmalign", "mmalign-improved")):
        title, settings = SYSTEMS[name]
        choose_clip(dataset["test"], *pair)  # told now, not after training, if there is none
        yield _plan_entry("case", title, scope, pair, settings)


SUITES: Mapping[str, Suite] = {
    "main": main,
    "ablation": ablation,
    "window": window,
    "epsilon": epsilon,
    "speed": speed,
    "alignment": alignment,
    "case": case,
}
"""Suites of the paper, about one modality that stands in for another."""

PAIRED = ("main", "ablation", "window", "epsilon", *SUBSET_SUITES)
"""Suites that compare over seeds."""


def list_entries(dataset: Dataset, scope: Scope, suites: Sequence[str]) -> list[Entry]:
    """All entries of some suites, checked against the data.

    Raises:
        ConfigError: If a suite is unknown, or seeds are too few for a paired test.
        DataError: If a modality or a split is not in the data.
    """
    known = {**SUITES, **SUBSET_SUITES}
    problems = [unknown("suite", name, known) for name in suites if name not in known]
    paired = [name for name in suites if name in PAIRED]
    if paired and len(scope.seeds) < 2:
        problems.append(
            f"suite {paired[0]} compares over seeds: a paired test needs two or more, "
            f"got {len(scope.seeds)}; give --seeds 5"
        )
    if problems:
        raise ConfigError(problems)
    for split in SPLITS:
        if dataset[split].labels is None:
            raise DataError("a grid needs labels", split=split, fix="Give each clip one.")
    dataset.require(*scope.modalities)
    for visible, victim in scope.pairs:
        dataset.require(visible, victim)
        if visible == victim:
            raise DataError("a pair needs two modalities", modality=visible, fix="Name two.")
    return [entry for name in suites for entry in known[name](dataset, scope)]


def all_pairs(dataset: Dataset) -> list[tuple[str, str]]:
    """Every ordered pair of modalities: six for text, face and voice."""
    return list(itertools.permutations(dataset.modalities, 2))


def _entry(
    suite: str,
    title: str,
    scope: Scope,
    pair: tuple[str, str],
    survival: float,
    settings: Settings,
) -> Entry:
    job = _job(scope, pair, survival, settings)
    return Entry(suite=suite, system=title, survival=survival, job=job)


def _job(scope: Scope, pair: tuple[str, str], survival: float, settings: Settings) -> Job:
    visible, victim = pair
    if settings.get("method") == EXPERTS:
        config = config_from({**scope.experts_settings, **settings})
        return Job(visible=visible, victim=victim, survival=survival, config=config)
    config = configure({**scope.settings, **settings})
    method = find_method(config.method)
    return Job(
        visible=visible,
        victim=victim,
        survival=survival if method.depends_on_survival else 1.0,
        config=config,
        analyses=("swaps",) if method.is_aligned else (),
    )


def _references(
    suite: str, scope: Scope, pair: tuple[str, str], survival: float, seed: int
) -> Iterator[Entry]:
    """Lines that a curve is read against."""
    for name in ("lb", "zero-fill"):
        title, settings = SYSTEMS[name]
        yield _entry(suite, title, scope, pair, survival, {**settings, "seed": seed})


def _plan_entry(
    suite: str,
    title: str,
    scope: Scope,
    pair: tuple[str, str],
    settings: Settings,
    *,
    kind: Kind = "train",
) -> Entry:
    """A job about plans rather than scores: first seed, largest survival rate."""
    survival = max(scope.survivals)
    config = configure({**scope.settings, **settings, "seed": scope.seeds[0]})
    job = Job(
        kind=kind,
        visible=pair[0],
        victim=pair[1],
        survival=survival,
        config=config,
        analyses=(suite,) if kind == "train" else (),
    )
    return Entry(suite=suite, system=title, survival=survival, job=job)


def _smallest_window(dataset: Dataset, visible: str, victim: str) -> int:
    """The smallest radius that reaches across every complete clip."""
    smallest = 1
    for split in dataset.splits.values():
        lengths = set(
            zip(split.lengths(visible).tolist(), split.lengths(victim).tolist(), strict=True)
        )
        smallest = max(smallest, *(smallest_window(n, m) for n, m in lengths if n and m), 1)
    return smallest
