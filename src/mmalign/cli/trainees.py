"""From the options of `mmalign train` to what is trained: experts, a network, or a pair."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmalign.cli import options
from mmalign.errors import ConfigError, suggestion

if TYPE_CHECKING:
    import torch

    from mmalign.data import Dataset
    from mmalign.runs.run import Trainee
    from mmalign.training.distributed import World

    Make = Callable[[Dataset, torch.device, World], Trainee]

EXPERTS = "experts"
EXPERTS_SETTINGS = ("method", "seed", "epochs", "members", "senses")
SURVIVAL, SETTING = "0.1", "A"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asks for; None where it says nothing.

    Attributes:
        visible: The modality that is always there.
        victim: The modality that may be missing.
        modalities: Which modalities are used where any may be missing, a,b,….
        survival: A rate for the victim, or a=0.9,b=0.5.
        setting: A or B.
        settings: Method, seed, and whatever else is set.
        device: Where to compute.
    """

    visible: str | None
    victim: str | None
    modalities: str | None
    survival: str | None
    setting: str | None
    settings: Mapping[str, Any]
    device: str

    def __post_init__(self) -> None:
        problems = []
        if (self.visible is None) != (self.victim is None):
            problems.append("give both --visible and --victim, or neither")
        if not self.has_pair and self.setting is not None:
            problems.append("--setting needs --visible and --victim")
        if self.has_pair and self.modalities is not None:
            problems.append(
                "--modalities does not go with --visible and --victim: remove one or the other"
            )
        if problems:
            raise ConfigError(problems)

    @property
    def has_pair(self) -> bool:
        """Whether the paper's protocol says what goes missing."""
        return self.visible is not None and self.victim is not None

    def check_pair(self, dataset: "Dataset") -> None:
        """Check that the data has both modalities of the pair, if there is one.

        Raises:
            DataError: If it lacks one.
        """
        if self.has_pair:
            dataset.require(str(self.visible), str(self.victim))

    @property
    def is_of_experts(self) -> bool:
        """Whether experts are trained."""
        default = None if self.has_pair else EXPERTS
        return bool(self.settings.get("method", default) == EXPERTS)

    def place(self) -> "torch.device":
        """Where to compute.

        Raises:
            ConfigError: If there is no such device here.
        """
        from mmalign.predictor.device import choose_device

        return choose_device("cpu" if self.is_of_experts else self.device)

    def trainee(self) -> "Make":
        """What makes the trainee, once there is data; all options are checked before.

        Raises:
            ConfigError: If an option makes no sense.
        """
        if self.is_of_experts:
            return self._experts()
        return self._pair() if self.has_pair else self._network()

    def _pair(self) -> "Make":
        from mmalign.runs.pair_training import PairTraining
        from mmalign.training.methods import configure

        config = configure(self.settings)
        protocol = self._pair_protocol(config.seed)
        return lambda dataset, device, world: PairTraining(
            dataset=dataset, protocols=(protocol,), config=config, device=device, world=world
        )

    def _network(self) -> "Make":
        from mmalign.estimator.network import NetworkMMAlign
        from mmalign.runs.network_training import NetworkTraining

        config = NetworkMMAlign(modalities=self._names, **self.settings).config
        names, protocols = self._names, self._subset_protocols(config.seed)
        return lambda dataset, device, world: NetworkTraining(
            dataset=dataset,
            config=config,
            modalities=None if names is None else tuple(names),
            protocols=protocols,
            device=device,
            world=world,
        )

    def _experts(self) -> "Make":
        from mmalign.estimator.experts import ExpertsMMAlign
        from mmalign.runs.experts_training import ExpertsTraining

        unknown = [name for name in self.settings if name not in EXPERTS_SETTINGS]
        if unknown:
            known = [f"experts have no setting {n!r}; {_nearest(n)}" for n in unknown]
            raise ConfigError(known)
        names = self._names
        model = ExpertsMMAlign(modalities=names, device=self.device, **self.settings)
        if self.has_pair:
            protocol = self._pair_protocol(model.seed)
            names, protocols = [protocol.visible, protocol.victim], {protocol.setting: protocol}
        else:
            protocols = self._subset_protocols(model.seed)
        return lambda dataset, _, world: ExpertsTraining(
            dataset=dataset,
            modalities=None if names is None else tuple(names),
            protocols=protocols,
            seed=model.seed,
            epochs=model.epochs,
            members=model.members,
            senses=model.senses or {},
            world=world,
        )

    @property
    def _names(self) -> list[str] | None:
        return None if self.modalities is None else options.split_list(self.modalities)

    def _subset_protocols(self, seed: int) -> dict[str, Any]:
        """What the rates take away; nothing without rates."""
        from mmalign.data import SubsetProtocol

        if self.survival is None:
            return {}
        return {"subsets": SubsetProtocol(survival=parse_rates(self.survival), seed=seed)}

    def _pair_protocol(self, seed: int) -> Any:
        from mmalign.data import Protocol

        survival = self.survival or SURVIVAL
        try:
            rate = float(survival)
        except ValueError as error:
            raise ConfigError(f"--survival: {survival!r} is not a number") from error
        return Protocol(
            visible=str(self.visible),
            victim=str(self.victim),
            survival=rate,
            setting=self.setting or SETTING,
            seed=seed,
        )


def parse_rates(text: str) -> dict[str, float]:
    """Survival rates from `text=0.9,visual=0.5`.

    Raises:
        ConfigError: If it is something else.
    """
    rates = {}
    for part in options.split_list(text):
        name, sign, rate = part.partition("=")
        try:
            rates[name.strip()] = float(rate)
        except ValueError as error:
            wanted = "of the form modality=rate, e.g. text=0.9,visual=0.5"
            alone = "; a rate alone needs --visible and --victim" if not sign else ""
            raise ConfigError(f"--survival: {part!r} is not {wanted}{alone}") from error
    return rates


def _nearest(name: str) -> str:
    from mmalign.training.config import Config

    if hasattr(Config, name):
        return "it belongs to the paper's methods: give --method mmalign"
    return suggestion(name, EXPERTS_SETTINGS)
