"""A run, loaded to be served."""

from pathlib import Path

from mmalign.errors import MMAlignError
from mmalign.estimator import MMAlign
from mmalign.estimator.experts import ExpertsMMAlign
from mmalign.estimator.network import NetworkMMAlign
from mmalign.estimator.pair import PairMMAlign
from mmalign.runs.manifest import CARD
from mmalign.serving.answering import Answering
from mmalign.serving.facts import Facts
from mmalign.training.methods import find_method


def load_answering(run: str, device: str, threads: int) -> Answering:
    """The model of a run, ready to answer.

    Raises:
        ConfigError: If there is no such device here.
        CorruptArtifactError: If a file is not as it was written.
        MMAlignError: If there is no finished run.
    """
    import torch

    torch.set_num_threads(threads)
    model = MMAlign.load(run, device=device)
    return Answering(model, facts_of(model, Path(run)))


def facts_of(model: MMAlign, folder: Path) -> Facts:
    """The facts of a model that was loaded from a folder.

    Raises:
        MMAlignError: If the model is not fitted.
    """
    if model.task is None:
        raise MMAlignError("this model is not fitted. Serve a finished run.")
    card = folder / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    name = folder.resolve().name
    if isinstance(model, ExpertsMMAlign):
        dims = model.experts.dims()
        return Facts(name, "experts", "experts", model.task, dims, (), (), (), text)
    if not isinstance(model, NetworkMMAlign):
        raise MMAlignError(f"{folder}: {type(model).__name__} cannot be served.")
    bank = model.fitted.model.bank
    method = find_method(model.config.method)
    directions = tuple((d.source, d.target) for d in bank.directions)
    return Facts(
        name,
        "pair" if isinstance(model, PairMMAlign) else "network",
        model.config.method,
        model.task,
        model.fitted.features(),
        model.needs,
        () if method.is_dedicated else tuple(dict.fromkeys(bank.targets)),
        directions if method.is_aligned else (),
        text,
    )
