"""NaN and infinity in clips: what an estimator does about them, and remembers on disk."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from mmalign.errors import ConfigError, suggestion
from mmalign.runs.manifest import Saved

if TYPE_CHECKING:
    Cleaning = Literal["reject", "zero", "gap"]
else:
    # Any text may be given; what is no way to clean clips is refused here, in words that help.
    Cleaning = str
"""What becomes of NaN and infinity: refused, set to zero, or taken as steps that are missing."""

WAYS = ("reject", "zero", "gap")
NAME = "non_finite"


def known_cleaning(non_finite: Cleaning) -> Cleaning:
    """The way to clean clips, if there is such a one.

    Raises:
        ConfigError: If not.
    """
    if non_finite not in WAYS:
        near = suggestion(str(non_finite), WAYS)
        raise ConfigError(f"unknown non_finite {non_finite!r}; {near}")
    return non_finite


def with_cleaning(saved: Saved, non_finite: Cleaning) -> Saved:
    """What is saved of a model, and how it cleans clips unless it refuses them."""
    if non_finite == "reject":
        return saved
    return replace(saved, settings={**saved.settings, NAME: non_finite})


def cleaning_of(saved: Saved) -> Cleaning:
    """How a saved model cleans clips.

    Raises:
        ConfigError: If it names no way that is known.
    """
    return known_cleaning(saved.settings.get(NAME, "reject"))
