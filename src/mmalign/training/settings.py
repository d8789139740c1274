"""Settings A and B from one training run: they share the training clips, not the best epoch."""

from dataclasses import dataclass
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Protocol
from mmalign.training.checkpoint import load_checkpoint, save_checkpoint
from mmalign.training.config import Config
from mmalign.training.loop import Record, Training
from mmalign.training.methods import find_method, seen_by
from mmalign.training.prediction import Predictor

SETTINGS = ("A", "B")


@dataclass(frozen=True)
class Selected:
    """The epoch that validation chose in one setting, and what it scores."""

    epoch: int
    valid: dict[str, float]
    test: dict[str, float]


@dataclass(frozen=True)
class BothSettings:
    """One training run, selected twice; the predictor holds the weights for setting A."""

    predictor: Predictor
    selected: dict[str, Selected]
    history: list[Record]
    seconds: float


def train_both_settings(
    dataset: Dataset,
    config: Config,
    *,
    visible: str,
    victim: str,
    survival: float,
    checkpoint: Path | None = None,
) -> BothSettings:
    """Train once; choose an epoch on each setting's validation clips; read test once for each.

    Args:
        dataset: All clips, complete; the protocol takes away what must be missing.
        config: Method, model and training.
        visible: The visible modality.
        victim: The victim modality.
        survival: Share of training clips that keep the victim.
        checkpoint: Where each epoch is kept; training goes on from there if it exists.

    Raises:
        DataError: If a modality or a split is not in the data.
        TrainingError: If a loss is not finite.
    """
    method = find_method(config.method)
    seen = {}
    for setting in SETTINGS:
        protocol = Protocol(
            visible=visible, victim=victim, survival=survival, setting=setting, seed=config.seed
        )
        seen[setting] = seen_by(method, dataset, protocol.masks(dataset))
    validations = {setting: data["valid"] for setting, data in seen.items()}
    training = Training(seen["A"], config, visible=visible, victim=victim, validations=validations)
    if checkpoint is None:
        training.run()
    else:
        if checkpoint.exists():
            load_checkpoint(checkpoint, training.state)
        training.run(lambda _: save_checkpoint(training.state, checkpoint))
    state = training.state
    selected = {}
    for setting in reversed(SETTINGS):
        predictor = training.select(setting)
        selected[setting] = Selected(
            epoch=state.selections[setting].best_epoch,
            # Scored again: the epoch's record knows nothing of the gate, which is chosen last.
            valid=predictor.evaluate(validations[setting]),
            test=predictor.evaluate(seen[setting]["test"]),
        )
    return BothSettings(training.predictor, selected, state.history, state.seconds)
