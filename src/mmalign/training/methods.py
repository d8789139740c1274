"""Methods by name: what each one sees of the data, and who imputes."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Masks
from mmalign.data.split import Split
from mmalign.data.task import Classification, Task
from mmalign.errors import ConfigError
from mmalign.imputers import AlignmentDynamicsLearner, Imputer, Model, UniformWindow, ZeroFill
from mmalign.imputers.model import Scaler
from mmalign.model.backbone import Backbone
from mmalign.training.config import Config


@dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes:
        summary: One line for people.
        make_imputer: Builds the imputer.
        see: What the method sees of a split: as masked, the visible modality twice (LB), or all.
    """

    summary: str
    make_imputer: Callable[[Config], Imputer]
    see: Callable[[Split, str, str], Split] = lambda split, _visible, _victim: split
    is_masked: bool = True


def _twice(split: Split, visible: str, victim: str) -> Split:
    return replace(split, sequences={**split.sequences, victim: split.sequences[visible]})


METHODS: Mapping[str, Method] = {
    "mmalign": Method(
        "the paper's method: imitates the optimal transport plan between the modalities",
        lambda c: AlignmentDynamicsLearner(c.dim, window=c.window, epsilon=c.epsilon),
    ),
    "zero-fill": Method(
        "floor: zeros stand in for the victim's hidden steps", lambda _: ZeroFill()
    ),
    "uniform-window": Method(
        "floor: the mean of the visible steps in the window, no optimal transport",
        lambda c: UniformWindow(c.window),
    ),
    "lb": Method(
        "lower bound: the same network with the visible modality on both sides",
        lambda _: ZeroFill(),
        see=_twice,
    ),
    "ub": Method(
        "upper bound: the same network with both modalities always there",
        lambda _: ZeroFill(),
        is_masked=False,
    ),
}


def find_method(name: str) -> Method:
    """The method of that name.

    Raises:
        ConfigError: If there is none, with a suggestion.
    """
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(METHODS)}"
        raise ConfigError(f"unknown method {name!r}{hint}")
    return METHODS[name]


def seen_by(method: Method, dataset: Dataset, masks: Masks) -> Dataset:
    """The dataset as the method sees it under the masks.

    Raises:
        DataError: If the masks do not fit the dataset.
    """
    visible, victim = masks.protocol.visible, masks.protocol.victim
    pair = masks.apply(dataset) if method.is_masked else dataset.only([visible, victim])
    splits = {name: method.see(split, visible, victim) for name, split in pair.splits.items()}
    dims = dict(pair.dims)
    if method.see is _twice:
        dims[victim] = dims[visible]
    return replace(pair, splits=splits, dims=dims)


def build_model(
    config: Config, task: Task, *, visible_features: int, victim_features: int
) -> Model:
    """A fresh model for the config's method; weights come from torch's current seed."""
    method = find_method(config.method)
    backbone = Backbone(
        config,
        visible_features=visible_features,
        victim_features=victim_features,
        outputs=len(task.classes) if isinstance(task, Classification) else 1,
    )
    scalers = Scaler(visible_features), Scaler(victim_features)
    return Model(backbone, method.make_imputer(config), scalers)
