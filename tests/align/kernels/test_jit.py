"""How kernels are compiled: their bits are a function of their arguments."""

import importlib
import pkgutil

from numba.core.dispatcher import Dispatcher

import mmalign


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
