"""The training of experts as a run: one modality after the other, each remembered."""

import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.split import Split
from mmalign.data.widths import require_any
from mmalign.errors import located
from mmalign.experts.contract import EPOCHS, Lesson
from mmalign.experts.modality import ModalityExperts, learn_modality
from mmalign.experts.model import Experts
from mmalign.experts.senses import Senses
from mmalign.runs.card import data_in_words
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.experts_artifact import KIND, describe_modality, saved_experts
from mmalign.runs.experts_checkpoint import Progress
from mmalign.runs.experts_result import ExpertsOutcome
from mmalign.runs.manifest import write_saved
from mmalign.runs.protocols import Protocols, protocol_facts, save_masks, seen_under
from mmalign.runs.records import METRICS, write_json, write_json_lines
from mmalign.runs.result import PREDICTIONS, RESULT, TIMING, Result
from mmalign.runs.run import Watch
from mmalign.runs.subset_scores import subsets_summary
from mmalign.training.distributed import World


@dataclass(frozen=True, kw_only=True)
class ExpertsTraining:
    """What to train experts on.

    Attributes:
        dataset: All clips.
        modalities: Which to use; all of the dataset's by default.
        protocols: What goes missing, by setting; none leaves the data as it is. Experts learn from
            the first one's training clips, and are scored under each.
        seed: Initial weights, random features, order of batches.
        epochs: Passes of the networks over the clips.
        members: Networks of each expert.
        senses: For a modality, parts of its input sense that are not to be chosen.
        world: The processes; the first one trains, the others wait.
    """

    dataset: Dataset
    modalities: tuple[str, ...] | None = None
    protocols: Protocols = field(default_factory=dict)
    seed: int = 0
    epochs: int = EPOCHS
    members: int = 1
    senses: Senses = field(default_factory=dict)
    world: World = field(default_factory=World)

    def check(self) -> None:
        """Check that every clip has a modality, and every modality enough training clips.

        Raises:
            DataError: If not, or if there are no training clips with labels.
        """
        self.dataset.training_labels()
        for seen in self._seen.values():
            for name, split in seen.splits.items():
                with located(split=name):
                    require_any(split, split.modalities, of="the modalities")
        with located(split="train"):
            self._fresh().lessons(self._train_clips)

    def identity(self) -> dict[str, Any]:
        """Data, protocol and config."""
        return {
            "device": "cpu",
            "data": self._data_hash,
            "protocol": protocol_facts(self.protocols),
            "config": self._config(),
        }

    def train(self, folder: Path, watch: Watch) -> Result:
        """Learn what the checkpoint in the folder lacks; write model, result and all about it."""
        if not self.world.is_leader:
            return {}
        file = folder / CHECKPOINT
        progress = Progress.load(file) if file.exists() else Progress()

        def learn(name: str, lesson: Lesson) -> ModalityExperts:
            known = progress.members
            if name not in known:
                started = time.perf_counter()
                known[name] = learn_modality(lesson)
                progress.seconds += time.perf_counter() - started
                progress.save(file)
                records = [_record(n, one) for n, one in known.items()]
                write_json_lines(folder / METRICS, records)
                watch(records[-1], list(self._used.dims))
            return known[name]

        model = self._fresh().fit(self._train_clips, learn=learn)
        return self._finish(model, folder, progress.seconds)

    def _finish(self, model: Experts, folder: Path, seconds: float) -> Result:
        outcome = ExpertsOutcome(model)
        for setting, seen in self._seen.items():
            outcome.score(setting, seen)
        save_masks(self.protocols, self._used, folder)
        outcome.write_predictions(folder / PREDICTIONS)
        first = next(iter(self._seen.values()))
        result = outcome.result(self._config(), protocol_facts(self.protocols), first)
        write_json(folder / TIMING, {"seconds": seconds})
        write_json(folder / RESULT, result)
        about = data_in_words(self._used, self._data_hash, protocol_facts(self.protocols))
        write_saved(folder, saved_experts(model, f"{about}\n{subsets_summary(result)}"))
        return result

    def _config(self) -> dict[str, Any]:
        return {
            "method": KIND,
            "modalities": list(self._used.dims),
            "seed": self.seed,
            "epochs": self.epochs,
            "members": self.members,
            # Runs of before there were any had none.
            **({"senses": self.senses} if self.senses else {}),
        }

    def _fresh(self) -> Experts:
        recipe = {"seed": self.seed, "epochs": self.epochs, "members": self.members}
        return Experts(list(self._used.dims), senses=self.senses, **recipe)

    @cached_property
    def _data_hash(self) -> str:
        return dataset_hash(self._used)

    @cached_property
    def _used(self) -> Dataset:
        """The dataset with the modalities that are used."""
        return self.dataset if self.modalities is None else self.dataset.only(self.modalities)

    @cached_property
    def _seen(self) -> dict[str, Dataset]:
        """What experts see of the data, by setting."""
        return seen_under(self.protocols, self._used)

    @property
    def _train_clips(self) -> Split:
        return next(iter(self._seen.values()))["train"]


def _record(name: str, experts: ModalityExperts) -> dict[str, Any]:
    return {"modality": name, **describe_modality(experts)}
