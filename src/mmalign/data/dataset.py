"""A dataset: a task, named modalities with their dims, and up to three splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mmalign.data.split import Split
from mmalign.data.task import Labels, Task
from mmalign.errors import DataError, no_modality, shown


@dataclass(frozen=True, eq=False)
class Dataset:
    """Splits of clips that share a task and modalities.

    Attributes:
        task: What to predict.
        dims: Feature dimension of each modality, in the order of the source.
        splits: `train`, `valid`, `test`; at least one of them.
        notes: Decisions that a reader made, e.g. which label column it used.
    """

    task: Task
    dims: Mapping[str, int]
    splits: Mapping[str, Split]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # They may quote a file, and are shown on terminals.
        object.__setattr__(self, "notes", tuple(shown(str(note)) for note in self.notes))

    def __getitem__(self, split: str) -> Split:
        if split not in self.splits:
            raise DataError(
                f"there is no {split} split",
                fix=f"There are {', '.join(self.splits)}; `mmalign data split` and "
                "mmalign.data.split_by make others.",
            )
        return self.splits[split].with_known_features(task=self.task)

    def training_labels(self, split: str = "train") -> Labels:
        """The labels of a split that training looks at.

        Raises:
            DataError: If it has none.
        """
        labels = self[split].labels
        if labels is None:
            raise DataError(
                "training needs labels", split=split, fix="Give the data a column 'label'."
            )
        return labels

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(split)}" for name, split in self.splits.items())
        dims = ", ".join(f"{name} [{dim}]" for name, dim in self.dims.items())
        return f"Dataset({counts} clips; {dims}; {self.task.in_words()})"

    @property
    def is_finite(self) -> bool:
        """Whether the features are known to hold no NaN or infinity."""
        return all(split.is_finite for split in self.splits.values())

    def checked_finite(self) -> "Dataset":
        """The same dataset, marked as one whose features hold no NaN or infinity."""
        splits = {name: split.checked_finite() for name, split in self.splits.items()}
        return replace(self, splits=splits)

    @property
    def modalities(self) -> tuple[str, ...]:
        """Names of the modalities, in order."""
        return tuple(self.dims)

    def require(self, *modalities: str) -> None:
        """Check that the modalities exist.

        Raises:
            DataError: If one of them is not in the data.
        """
        for name in modalities:
            if name not in self.dims:
                raise no_modality(name, self.dims, "This dataset has")

    def only(self, modalities: Sequence[str]) -> "Dataset":
        """Keep only these modalities.

        Raises:
            DataError: If one of them is not in the data.
        """
        self.require(*modalities)
        return replace(
            self,
            dims={name: self.dims[name] for name in modalities},
            splits={name: split.only(modalities) for name, split in self.splits.items()},
        )
