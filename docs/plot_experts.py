"""Draws docs/images/experts.png: how the answer for a clip is a sum over what it has.

python docs/plot_experts.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

PICTURE = Path(__file__).parent / "images" / "experts.png"
ROWS = {"accelerometer": "#3b6fb6", "gyroscope": "#c8553d", "skeleton": "#4f8f5b"}
MISSING = "gyroscope"
GREY = "#b4b4b4"


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, hue: str) -> None:
    """Draw a box with words in it."""
    patch = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0.04", facecolor="white", edgecolor=hue, lw=1.6
    )
    axes.add_patch(patch)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9, color=hue)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], hue: str) -> None:
    """Draw an arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": hue, "lw": 1.4})


def draw() -> None:
    """Draw three modalities, of which one is missing, and write the picture."""
    figure, axes = plt.subplots(figsize=(10, 4.4))
    time = np.linspace(0, 1, 120)
    for number, (name, hue) in enumerate(ROWS.items()):
        y = 2.6 - 1.25 * number
        is_there = name != MISSING
        hue = hue if is_there else GREY
        wave = 0.22 * np.sin(2 * np.pi * (3 + number) * time + number) * (0.5 + time)
        if is_there:
            axes.plot(0.2 + 1.6 * time, y + 0.4 + wave, color=hue, lw=1.4)
        axes.text(1.0, y + 0.86, name if is_there else f"{name}: missing", ha="center", color=hue)
        for shift, text in ((0.46, "ridge on fixed features"), (-0.02, "small network")):
            box(axes, 2.7, y + shift, 2.0, 0.34, text, hue)
        box(axes, 5.5, y + 0.18, 1.4, 0.44, "evidence", hue)
        if is_there:
            for shift in (0.63, 0.15):
                arrow(axes, (1.9, y + 0.4), (2.62, y + shift), hue)
                arrow(axes, (4.78, y + shift), (5.42, y + 0.4), hue)
            arrow(axes, (6.98, y + 0.4), (8.0, 1.75), hue)
            axes.text(7.45, 2.75 if number == 0 else 0.85, "x weight", color=hue, fontsize=9)
    circle = plt.Circle((8.25, 1.75), 0.25, facecolor="white", edgecolor="black", lw=1.6)
    axes.add_patch(circle)
    axes.text(8.25, 1.75, "+", ha="center", va="center", fontsize=16)
    arrow(axes, (8.52, 1.75), (9.0, 1.75), "black")
    shares = [0.72, 0.2, 0.08]
    axes.barh([2.05, 1.75, 1.45], shares, left=9.1, height=0.22, color=["black", GREY, GREY])
    axes.text(9.1, 2.35, "prediction", fontsize=10)
    axes.text(
        8.75,
        -0.05,
        "weights for every subset,\nfitted on held-out clips;\n0 if a modality does not help",
        ha="center",
        fontsize=9,
    )
    axes.set(xlim=(0, 10.1), ylim=(-0.15, 3.7))
    axes.set_aspect("equal")
    axes.axis("off")
    figure.savefig(PICTURE, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    draw()
