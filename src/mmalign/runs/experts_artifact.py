"""A model of experts on disk: the same files as the paper's, and `kind` in `config.json`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from mmalign.data.inputs import Sense
from mmalign.errors import CorruptArtifactError
from mmalign.experts.modality import ModalityExperts
from mmalign.experts.model import Experts
from mmalign.runs.card import card_text, task_in_words
from mmalign.runs.manifest import Saved

KIND = "experts"


def is_of_experts(saved: Saved) -> bool:
    """Whether what was saved is a model of experts."""
    return saved.settings.get("kind") == KIND


def saved_experts(model: Experts, summary: str = "") -> Saved:
    """The model as it is written; `summary` is what the card says of its training."""
    weights, card = model.packed()
    features = model.dims()
    return Saved({"kind": KIND, "features": features, **card}, weights, _card(model, summary))


def experts_of(saved: Saved, folder: Path) -> Experts:
    """The model that `saved_experts` gave; the folder is named in errors.

    Raises:
        CorruptArtifactError: If settings and weights do not fit.
    """
    try:
        return Experts.unpacked(saved.weights, saved.settings)
    except (CorruptArtifactError, KeyError, TypeError) as error:
        raise CorruptArtifactError(
            f"{folder}: settings and weights do not fit ({error})"
        ) from error


def _card(model: Experts, summary: str) -> str:
    dims = model.dims()
    rows = [
        f"| {name} | {dims[name]} | {sense_in_words(one.sense)} | {one.clips} | {one.skill:.2f} | "
        f"{model.weight(name):.2f} |"
        for name, one in model.experts.items()
    ]
    table = "\n".join(
        [
            "| modality | features | input sense | training clips | skill | weight |",
            "| --- | --- | --- | --- | --- | --- |",
            *rows,
        ]
    )
    joint = [" + ".join(names) for names in model.fitted.members if len(names) > 1]
    together = f" Read together as well: {', '.join(joint)}." if joint else ""
    explained = (
        "Skill is the share of the labels' variance that is explained on training clips left out; "
        "weight is how much the modality counts in the sum."
    )
    parts = [f"Task: {task_in_words(model.fitted_task)}.", table, explained + together, summary]
    return card_text(
        tag=KIND,
        title=f"experts: {', '.join(model.experts)}, any of which may be missing",
        body="\n\n".join(parts),
        comment="clips may lack any modality, but not all",
    )


def describe_modality(experts: ModalityExperts) -> dict[str, Any]:
    """Sense, number of training clips and skill, as plain values."""
    sense = asdict(experts.sense)
    return {"sense": sense, "clips": experts.clips, "skill": experts.skill}


def sense_in_words(sense: Sense) -> str:
    """How a modality's sequences are read."""
    centred = "each clip loses its mean" if sense.centre else "means stay"
    scaled = "a scale for each channel" if sense.own_scale else "one scale"
    kind = "a signal" if sense.smooth else "a list of separate steps"
    kind += ", with its changes" if sense.motion else ""
    kind += "" if sense.windows else ", patterns only"
    return f"{kind}; {centred}; {scaled}"
