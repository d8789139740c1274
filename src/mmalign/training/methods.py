"""Methods by name: what each one sees of the data, and who imputes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Masks, PairProtocol
from mmalign.data.split import Split
from mmalign.data.task import Task
from mmalign.errors import ConfigError, suggestion
from mmalign.imputers import (
    MFM,
    SMIL,
    AlignmentDynamicsLearner,
    Copy,
    DynamicWindow,
    Imputer,
    ImputerBank,
    MeanFill,
    ModalTrans,
    RandomPlan,
    UniformWindow,
    ZeroFill,
)
from mmalign.model.backbone import Backbone
from mmalign.predictor.model import Model
from mmalign.predictor.scaler import Scaler
from mmalign.predictor.scaling import AS_PRINTED, Scaling
from mmalign.training.config import Config, config_from, config_to_json
from mmalign.training.denoise import MissingLoss
from mmalign.training.losses import imputed_loss
from mmalign.training.meta import meta_loss

PAPER = "Han et al., EMNLP 2022"

See = Callable[[Split, str, str], Split]


def see_as_masked(split: Split, _visible: str, _victim: str) -> Split:
    """The split as the masks left it."""
    return split


def see_visible_twice(split: Split, visible: str, victim: str) -> Split:
    """The visible modality on both sides: the victim is never looked at."""
    twice = {**split.sequences, victim: split.sequences[visible]}
    gapped = frozenset((visible, victim)) if visible in split.gapped else frozenset[str]()
    return split.with_known_features(sequences=twice, gapped=gapped)


@dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes:
        summary: One line for people.
        source: Where it comes from.
        make_imputer: Builds the imputer.
        cost: What a training epoch takes beside one of zero-fill (benchmarks/bench_training.py).
        see: What the method sees of a masked split.
        is_masked: Whether the protocol takes the victim away at all.
        only_complete: Whether training leaves out clips without their victim.
        is_aligned: Whether it solves plans, for which the window must reach across each clip.
        missing_loss: What the missing split is trained by.
        defaults: Settings that belong to the method; the user's own win.
    """

    summary: str
    source: str
    make_imputer: Callable[[Config], Imputer]
    cost: float = 1.0
    see: See = see_as_masked
    is_masked: bool = True
    only_complete: bool = False
    is_aligned: bool = False
    missing_loss: MissingLoss = imputed_loss
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_dedicated(self) -> bool:
        """Whether it is a bound: a network that imputes nothing."""
        return self.see is see_visible_twice or not self.is_masked

    @property
    def depends_on_survival(self) -> bool:
        """Whether it matters how many training clips keep their victim."""
        return self.only_complete or (self.is_masked and self.see is not see_visible_twice)


METHODS: dict[str, Method] = {
    "mmalign": Method(
        "imitates the optimal transport plan between the modalities",
        PAPER,
        lambda c: AlignmentDynamicsLearner(
            c.dim, window=c.window, epsilon=c.epsilon, is_compiled=c.compiled_layers
        ),
        cost=1.3,
        is_aligned=True,
    ),
    "mfm": Method(
        "rebuilds the victim from factors that surrogates read off the visible sequence",
        "Tsai et al., ICLR 2019",
        lambda c: MFM(c.dim),
        cost=1.7,
    ),
    "smil": Method(
        "mixes centres of the victim's steps with weights from a Gaussian; meta-learned",
        "Ma et al., AAAI 2021",
        lambda c: SMIL(c.dim),
        cost=2.6,
        missing_loss=meta_loss,
    ),
    "modal-trans": Method(
        "translates the visible sequence step by step; cyclic, both directions",
        "TransModality, CTFN",
        lambda c: ModalTrans(c.dim, c.heads),
        cost=3.2,
    ),
    "modal-trans-uncached": Method(
        "the same without a cache of keys and values, to compare speed",
        "TransModality, CTFN",
        lambda c: ModalTrans(c.dim, c.heads, "uncached"),
        cost=4.3,
    ),
    "modal-trans-parallel": Method(
        "the same, all steps at once",
        "TransModality, CTFN",
        lambda c: ModalTrans(c.dim, c.heads, "parallel"),
        cost=2.2,
    ),
    "dynamic-window": Method(
        "each step chooses what to take from its neighbours; trained by task and distance",
        "mmalign",
        lambda c: DynamicWindow(c.dim, c.window),
        cost=1.5,
        defaults={"both_passes": True, "gate": True},
    ),
    "zero-fill": Method("zeros stand in for the victim's steps", "floor", lambda _: ZeroFill()),
    "mean-fill": Method(
        "the mean of the victim's hidden training steps", "floor", lambda c: MeanFill(c.dim)
    ),
    "copy": Method("the visible hidden sequence itself", "floor", lambda _: Copy()),
    "uniform-window": Method(
        "the mean of the visible steps in the window",
        "floor",
        lambda c: UniformWindow(c.window),
        cost=1.1,
    ),
    "random-plan": Method(
        "a plan drawn once at random", "floor", lambda c: RandomPlan(c.window), cost=1.1
    ),
    "lb": Method(
        "the same network, visible modality on both sides, all training clips",
        "lower bound",
        lambda _: ZeroFill(),
        cost=1.3,
        see=see_visible_twice,
    ),
    "lb-complete": Method(
        "the same, trained on the clips that have their victim only",
        "lower bound",
        lambda _: ZeroFill(),
        cost=0.7,
        see=see_visible_twice,
        only_complete=True,
    ),
    "ub": Method(
        "the same network with both modalities always there",
        "upper bound",
        lambda _: ZeroFill(),
        cost=1.2,
        is_masked=False,
    ),
}


def find_method(name: str) -> Method:
    """The method of that name.

    Raises:
        ConfigError: If there is none, with a suggestion.
    """
    if name not in METHODS:
        raise ConfigError(f"unknown method {name!r}; {suggestion(name, METHODS)}")
    return METHODS[name]


def seen_by(method: Method, dataset: Dataset, masks: Masks[PairProtocol]) -> Dataset:
    """The dataset as the method sees it under the masks.

    Raises:
        DataError: If the masks do not fit the dataset.
    """
    visible, victim = masks.protocol.visible, masks.protocol.victim
    pair = masks.apply(dataset) if method.is_masked else dataset.only([visible, victim])
    splits = dict(pair.splits)
    if method.only_complete and "train" in splits:
        complete = np.flatnonzero(splits["train"].is_present(victim))
        splits["train"] = splits["train"].select(complete)
    splits = {name: method.see(split, visible, victim) for name, split in splits.items()}
    dims = dict(pair.dims)
    if method.see is see_visible_twice:
        dims[victim] = dims[visible]
    return replace(pair, splits=splits, dims=dims)


def seen_subset(method: Method, dataset: Dataset, modalities: Sequence[str]) -> Dataset:
    """These modalities of the dataset as the method sees them, whatever clips lack.

    The bounds are the dedicated network of the subset: they learn from the clips that have all of
    it. A single modality is read by itself.

    Raises:
        DataError: If a modality is not in the data.
    """
    chosen = dataset.only(modalities)
    if not method.is_dedicated or "train" not in chosen.splits:
        return chosen
    train = chosen.splits["train"]
    complete = train.select(np.flatnonzero(train.has_all(modalities)))
    return replace(chosen, splits={**chosen.splits, "train": complete})


def configure(settings: Mapping[str, Any]) -> Config:
    """A config from plain settings on top of the method's own defaults.

    Raises:
        ConfigError: If the method or a setting is unknown, or a value makes no sense.
    """
    method = find_method(str(settings.get("method", Config.method)))
    return config_from({**method.defaults, **settings})


def settings_of(config: Config) -> dict[str, Any]:
    """The settings from which `configure` makes this config: the method, and what is no default."""
    defaults = config_to_json(configure({"method": config.method}))
    changed = {k: v for k, v in config_to_json(config).items() if v != defaults[k]}
    return {"method": config.method, **changed}


def build_model(
    config: Config,
    task: Task,
    dims: Mapping[str, int],
    directions: Sequence[tuple[str, str]],
    scalings: Mapping[str, Scaling] | None = None,
) -> Model:
    """A fresh model for the config's method; weights come from torch's current seed.

    Args:
        config: Method and sizes.
        task: What is predicted.
        dims: Feature dimension of each modality, in the model's order.
        directions: What is imputed from what; for the paper's pair `[(visible, victim)]`.
        scalings: How features are scaled, where that is not as printed.
    """
    method = find_method(config.method)
    if method.missing_loss is meta_loss:  # differentiates twice, which compiled layers cannot
        config = replace(config, compiled_layers=False)
    chosen = {name: (scalings or {}).get(name, AS_PRINTED) for name in dims}
    widths = {name: chosen[name].width(features) for name, features in dims.items()}
    backbone = Backbone(config, widths, task.outputs)
    bank = ImputerBank(directions, lambda: method.make_imputer(config))
    return Model(backbone, bank, [Scaler(dims[name], chosen[name]) for name in dims])
