"""Do probabilities mean what they say? Expected calibration error and reliability bins."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

BINS = 15


@dataclass(frozen=True)
class ReliabilityBin:
    """Clips whose most probable class has a probability in (low, high].

    Attributes:
        low: Above this.
        high: Up to this.
        clips: How many there are.
        confidence: Mean probability of the predicted class.
        accuracy: Share of clips whose predicted class is right.
    """

    low: float
    high: float
    clips: int
    confidence: float
    accuracy: float


def reliability_bins(
    shares: Float[np.ndarray, "clips classes"], labels: Int64[np.ndarray, " clips"]
) -> list[ReliabilityBin]:
    """Confidence beside accuracy, in 15 bins of equal width; bins without clips are left out."""
    confidence = shares.max(axis=1)
    is_right = shares.argmax(axis=1) == labels
    numbers = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    return [
        ReliabilityBin(
            number / BINS,
            (number + 1) / BINS,
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(is_right[inside].mean()),
        )
        for number in range(BINS)
        if (inside := numbers == number).any()
    ]


def expected_calibration_error(
    shares: Float[np.ndarray, "clips classes"], labels: Int64[np.ndarray, " clips"]
) -> float:
    """Mean distance of confidence and accuracy over the bins, by their numbers of clips.

    0 is perfect; always sure and always wrong is 1. NaN without clips.

    >>> import numpy as np
    >>> expected_calibration_error(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1]))
    0.0
    """
    if len(labels) == 0:
        return float("nan")
    bins = reliability_bins(shares, labels)
    return sum(b.clips * abs(b.confidence - b.accuracy) for b in bins) / len(labels)
