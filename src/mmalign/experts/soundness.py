"""A panel from a file is sound: its arrays fit each other, and no compiled loop leaves one.

Kernels do not look where an index points. What training writes is sound; a file may say anything.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, combinations

import numpy as np

from mmalign.data.names import check_names
from mmalign.data.task import Classification
from mmalign.experts.modality import ModalityExperts
from mmalign.experts.panel import MOST_MODALITIES, Panel
from mmalign.experts.patterns import KERNELS, Patterns
from mmalign.experts.ridge_expert import RidgeExpert
from mmalign.experts.windows import WIDTHS, Windows

MOST_STEPS_APART = 1 << 20

Shape = tuple[int, ...]


def check_panel(panel: Panel) -> None:
    """Check that members, weights and task fit each other.

    Raises:
        ValueError: If something does not fit; names it.
    """
    modalities = panel.modalities
    if not 1 <= len(modalities) <= MOST_MODALITIES:
        raise ValueError(f"{len(modalities)} modalities")
    check_names("modality", modalities)
    if isinstance(panel.task, Classification):
        check_names("class", panel.task.classes)
    widths = {name: len(panel.members[name,].taps.inputs.mean) for name in modalities}
    for names, member in panel.members.items():
        if not names or not set(names) <= set(modalities) or len(set(names)) < len(names):
            raise ValueError("a member of modalities that are not known")
        check_member(member, sum(widths[name] for name in names), panel.task.outputs)
    sizes = range(1, len(modalities) + 1)
    subsets = set(chain.from_iterable(combinations(modalities, size) for size in sizes))
    if set(panel.weights) != subsets:
        raise ValueError("weights of other subsets than those of the modalities")
    for subset, weights in panel.weights.items():
        _check(f"weights of {subset}", weights, (len(panel.members_of(subset)),))
    _check("prior", panel.prior, (panel.task.outputs,))
    if not np.isfinite([*panel.prior, *chain.from_iterable(panel.weights.values())]).all():
        raise ValueError("the prior or a weight is not a number")


def check_member(member: ModalityExperts, channels: int, outputs: int) -> None:
    """Check that the experts of a member read so many channels, and answer with so many numbers.

    Raises:
        ValueError: If not.
    """
    ridge, taps = member.ridge, member.taps
    for inputs in (*ridge.inputs, taps.inputs):
        _check("mean of inputs", inputs.mean, (channels,))
        _check("scale of inputs", inputs.scale, (channels,))
        if not (inputs.scale > 0).all():
            raise ValueError("inputs of no scale")
    for bank in ridge.banks:
        _check_bank(bank, channels)
    for windows in (ridge.windows, ridge.motion):
        _check_windows(windows, channels, ridge.detectors)
    features = sum(_feature_counts(ridge))
    _check("mean of features", ridge.ridge.mean, (features,))
    _check("scale of features", ridge.ridge.scale, (features,))
    _check("weights of features", ridge.ridge.weights, (features, outputs))
    _check("intercept", ridge.ridge.intercept, (outputs,))
    if outputs > 1 and not (np.abs(ridge.ridge.intercept) <= 1).all():
        raise ValueError("an intercept that no shares of classes have")
    _check("held-out answers", member.held_out, (len(member.held_out), outputs))
    if any(network.outputs != outputs for network in taps.networks):
        raise ValueError("the network answers another number of outputs")
    if not np.isfinite([ridge.motion_gain, taps.mean, taps.scale, member.skill]).all():
        raise ValueError("a scale is not a number")


def finite(arrays: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """The arrays, if all their numbers are finite; but for the scale of a constant feature.

    Raises:
        ValueError: If not.
    """
    for name, array in arrays.items():
        is_bad = np.isnan if name.endswith("ridge/ridge/scale") else _is_not_finite
        if array.dtype.kind == "f" and is_bad(array).any():
            raise ValueError(f"array {name!r} holds NaN or infinity")
    return arrays


def _is_not_finite(array: np.ndarray) -> np.ndarray:
    return np.asarray(~np.isfinite(array))


def _check_bank(bank: Patterns, channels: int) -> None:
    count = len(bank.dilations)
    levels = bank.thresholds.shape[-1] if bank.thresholds.ndim == 2 else 0
    for name, shape in (
        ("dilations", (count,)),
        ("kernels", (count,)),
        ("channels", (count, channels)),
        ("thresholds", (count, levels)),
    ):
        _check(name, getattr(bank, name), shape)
    kernels, dilations = bank.kernels, bank.dilations
    if not count or kernels.min() < 0 or kernels.max() >= len(KERNELS):
        raise ValueError("a kernel that is not known")
    if dilations.min() < 1 or dilations.max() > MOST_STEPS_APART:
        raise ValueError("taps that lie too far apart")


def _check_windows(windows: Windows, channels: int, detectors: int) -> None:
    _check("biases of windows", windows.biases, (len(WIDTHS), detectors))
    for width, weights in zip(WIDTHS, windows.weights, strict=True):
        _check("weights of windows", weights, (width * channels, detectors))


def _feature_counts(ridge: RidgeExpert) -> Iterator[int]:
    for bank in ridge.banks:
        yield bank.thresholds.size
    for _ in range(ridge.has_windows + bool(ridge.motion_gain)):
        yield 2 * len(WIDTHS) * ridge.detectors


def _check(name: str, array: np.ndarray, shape: Shape) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} of shape {list(array.shape)}, expected {list(shape)}")
