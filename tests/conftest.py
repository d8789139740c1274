"""What all tests share: the real data where it is, and how much hypothesis tries."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data beside the checkout; absent on most machines, required where we say so."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("MMALIGN_REQUIRE_DATA"):
            pytest.fail(f"MMALIGN_REQUIRE_DATA is set, but there is no {folder}")
        pytest.skip("the real data is not beside this checkout (../shared/data)")
    return folder
