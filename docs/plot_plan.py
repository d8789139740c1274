"""Draws docs/images/plan.png: the plan of two real sequences, face and voice of one MOSI clip.

    python docs/plot_plan.py PATH_TO_MOSI

The two modalities share no dimension, so both are projected onto the directions in which face and
voice correlate most over the other clips (canonical correlation analysis), then aligned.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from mmalign.align import solve

DIM, WINDOW, EPSILONS = 12, 8, (0.02, 0.1, 1.0)
PICTURE = Path(__file__).parent / "images" / "plan.png"

Steps = NDArray[np.float32]


def canonical_directions(face: Steps, voice: Steps) -> tuple[Steps, Steps]:
    """Projections of each side onto the directions that correlate most with the other."""
    white_face, white_voice = whitening(face), whitening(voice)
    shared = (face @ white_face).T @ (voice @ white_voice) / len(face)
    left, _, right = np.linalg.svd(shared)
    return white_face @ left[:, :DIM], white_voice @ right[:DIM].T


def whitening(steps: Steps) -> Steps:
    """What makes steps uncorrelated, with a little ridge."""
    values, vectors = np.linalg.eigh(np.cov(steps.T))
    return (vectors / np.sqrt(values + 0.1 * values.mean())).astype(np.float32)


def draw(face: Steps, voice: Steps, clip: str) -> None:
    """One panel per epsilon."""
    figure, axes = plt.subplots(1, len(EPSILONS), figsize=(10, 4), layout="constrained")
    for axis, epsilon in zip(axes, EPSILONS, strict=True):
        plan = solve(face, voice, window=WINDOW, epsilon=epsilon)
        dense = plan.dense().numpy()
        outside = abs(np.subtract.outer(*map(np.arange, dense.shape))) > WINDOW
        axis.imshow(np.where(outside, np.nan, dense), cmap="viridis", vmin=0)
        axis.set_facecolor("0.9")
        axis.set_title(f"epsilon {epsilon:g}: error {float(plan.marginal_error):.0e}", fontsize=9)
        axis.set_xlabel("voice step (word)")
    axes[0].set_ylabel("face step (word)")
    figure.suptitle(f"clip {clip}: face to voice, window {WINDOW}; grey has no entry", y=1.06)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110, bbox_inches="tight")


def main(faces: Sequence[Steps], voices: Sequence[Steps], names: Sequence[str]) -> None:
    """Fits the directions on all clips but the one that is drawn: the first of 38 to 42 steps."""
    chosen = next(i for i, face in enumerate(faces) if 38 <= len(face) <= 42)
    others = [i for i in range(len(faces)) if i != chosen]
    to_face, to_voice = canonical_directions(
        np.concatenate([faces[i] for i in others]), np.concatenate([voices[i] for i in others])
    )
    draw(faces[chosen] @ to_face, voices[chosen] @ to_voice, names[chosen])


if __name__ == "__main__":
    import mmalign

    clips = mmalign.load_dataset(sys.argv[1])["train"]
    main(
        [clip.sequences["visual"] for clip in clips],
        [clip.sequences["acoustic"] for clip in clips],
        [clip.id for clip in clips],
    )
