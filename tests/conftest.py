"""Shared fixtures and hypothesis profiles."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# torch and numpy make single examples slow now and then, so examples have no deadline.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "nightly", settings.get_profile("default"), derandomize=False, max_examples=2000
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data beside the checkout; absent on most machines, demanded where CI says so."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("MMALIGN_REQUIRE_DATA"):
            pytest.fail(f"MMALIGN_REQUIRE_DATA is set, but there is no {folder}")
        pytest.skip("real data (MOSI, UTD-MHAD, MELD) is not beside this checkout")
    return folder
