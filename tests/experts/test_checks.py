"""Built-in experts keep the contract, and the check finds those that do not."""

import numpy as np
import pytest

from mmalign.errors import MMAlignError
from mmalign.experts import RidgeExpert, TapsExpert, recipe
from mmalign.experts.checks import check_expert
from mmalign.experts.recipe import Recipe


@pytest.mark.parametrize("make", [lambda: RidgeExpert(500, 40), lambda: TapsExpert()])
def test_built_in_experts_pass(make, monkeypatch):
    monkeypatch.setattr(recipe, "Recipe", lambda **_: Recipe(epochs=30))
    check_expert(make)


class Crowd(RidgeExpert):
    def evidence(self, clips):
        return super().evidence(clips) + len(clips)


class Forgetful(RidgeExpert):
    def state(self):
        found = super().state()
        return found | {"ridge/intercept": np.zeros_like(found["ridge/intercept"])}


class Wild(RidgeExpert):
    def fit(self, lesson, sense):
        super().fit(lesson, sense)
        self.ridge.intercept[:] += np.random.default_rng().normal()


@pytest.mark.parametrize(
    ("kind", "promise"),
    [(Crowd, "does not depend on others"), (Wild, "the same bits"), (Forgetful, "was saved")],
)
def test_broken_promises_are_named(kind, promise):
    with pytest.raises(MMAlignError, match=promise):
        check_expert(lambda: kind(200, 20))
