"""The paper's network as an anchor: for one set of modalities, or one network for all subsets."""

from dataclasses import replace

from mmalign.data.dataset import Dataset
from mmalign.estimator.network import NetworkMMAlign
from mmalign.experiments.anchors.contract import Answer
from mmalign.training.config import Config, config_to_json


def fit_network(dataset: Dataset, config: Config) -> Answer:
    """Train the network of a method on all clips; it answers for clips that lack any modality.

    Raises:
        DataError: If the method cannot be trained on such clips.
        TrainingError: If a loss is not finite.
    """
    model = NetworkMMAlign(
        modalities=list(dataset.dims), device="cpu", **config_to_json(config)
    ).fit(dataset)
    return model.answers


def fit_plain_network(dataset: Dataset, config: Config) -> Answer:
    """Train the network on clips that have all their modalities: there is nothing to impute."""
    return fit_network(dataset, replace(config, method="zero-fill"))
