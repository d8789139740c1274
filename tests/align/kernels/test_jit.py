"""How kernels are compiled: their bits are a function of their arguments."""

import importlib
import pkgutil

from numba.core.dispatcher import Dispatcher

import mmalign
from mmalign.align.kernels import jit


def kernels():
    for found in pkgutil.walk_packages(mmalign.__path__, "mmalign."):
        if "kernels" in found.name or found.name.startswith("mmalign.experts.taps_"):
            for name, value in vars(importlib.import_module(found.name)).items():
                if isinstance(value, Dispatcher):
                    yield f"{found.name}.{name}", value


def test_no_kernel_lets_the_compiler_choose_the_order_of_a_sum():
    """It would choose at run time, by where arrays lie: a training would end with other bits."""
    found = {name: kernel.targetoptions["fastmath"] for name, kernel in kernels()}
    assert len(found) > 100
    assert {name for name, allowed in found.items() if set(allowed) != {"contract"}} == set()


def test_a_change_of_any_kernel_makes_what_was_compiled_before_stale(monkeypatch):
    """What a function calls is compiled into it, and may stand in another file."""

    def double(x):
        return 2 * x

    first = jit.compiled(double)
    assert first(21) == 42
    again = jit.compiled(double)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1
    monkeypatch.setattr(jit, "sources_digest", lambda: "other sources")
    changed = jit.compiled(double)
    assert changed(21) == 42
    assert sum(changed.stats.cache_hits.values()) == 0
