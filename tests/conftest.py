"""Shared fixtures, hypothesis profiles, and a guard on what tests and mmalign may do."""

import gc
import os
import random
import signal
import sys
from pathlib import Path

# Two workers on two cores: more threads would only wait for each other, here and in subprocesses.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# MiniRocket's Numba kernel gives its number of threads to OpenMP, and so to torch in every later
# test: a fork that trains would wait forever for a thread that it lacks.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# The process that only hands tests out to others has no use for what they import.
if "PYTEST_XDIST_WORKER" in os.environ or not {"-n", "--numprocesses"} & set(sys.argv):
    # jaxtyping compiles anew what a module that it checks is the first to import: these go before.
    import numba  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401

from tests import checking

# torch and numpy make single examples slow now and then, so examples have no deadline.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "nightly", settings.get_profile("default"), derandomize=False, max_examples=2000
)
settings.load_profile("default")

LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "", None, b"localhost", b"127.0.0.1")
SOURCE = str(Path(__file__).resolve().parents[1] / "src" / "mmalign")
EXECUTES = ("exec", "compile", "os.system", "os.exec", "subprocess.Popen", "pickle.find_class")
NAMED = (
    *("numba/core/", "data/readers/csd/sequences.py", "experiments/engines/"),
    *("serving/worker.py", "cli/kernels.py"),
)
"""Who may: Numba's private cache, and what starts workers of our own or talks to them."""

forbidden: list[str] = []
"""What mmalign executed in this session; `pytest_sessionfinish` fails if there is anything."""


def guard(event: str, arguments: tuple) -> None:
    """Refuse the network, and note whatever mmalign's own code executes."""
    if event in ("socket.connect", "socket.getaddrinfo"):
        address = arguments[1] if event == "socket.connect" else arguments
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise ConnectionRefusedError(f"tests cannot reach the network: {address[:2]}")
    elif event in EXECUTES:
        frame = sys._getframe(1)
        names = []
        while frame is not None and len(names) < (40 if event == "pickle.find_class" else 1):
            names.append(frame.f_code.co_filename)
            frame = frame.f_back
        is_ours = any(name.startswith(SOURCE) for name in names)
        if is_ours and not any(part in name for part in NAMED for name in names):
            forbidden.append(f"{event} from {names[0]}")


os.environ["HF_HUB_OFFLINE"] = "1"
# A shell that starts tests in the background lets them, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(guard)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Check signatures in what fixtures do."""
    checking.start_anew()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """Check signatures in what the test does, whatever fixtures have done."""
    checking.start_anew()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let tests run in any order."""
    parser.addoption("--order", type=int, help="seed of a random order of the tests")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the order, so that it can be had again."""
    seed = config.getoption("--order")
    return None if seed is None else f"tests in random order: --order {seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle files, and tests within each; what takes long begins, lest one worker end alone.

    What a file shares is made once, as its tests stay together.
    """
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.split("::")[0], []).append(item)
    groups = list(files.values())
    seed = config.getoption("--order")
    if seed is not None:
        rng = random.Random(seed)
        rng.shuffle(groups)
        for group in groups:
            rng.shuffle(group)
    groups.sort(key=lambda group: group[0].get_closest_marker("long") is None)
    items[:] = [item for group in groups for item in group]


def pytest_collection_finish() -> None:
    """Spare what was imported from being looked through for garbage over and over."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session in which mmalign executed anything."""
    if forbidden:
        sys.stderr.write("mmalign executed: " + "; ".join(sorted(set(forbidden))[:20]) + "\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter) -> None:
    """Print what tests measured: `record_property("figure", …)`."""
    figures = {
        f"{report.nodeid.rpartition('/')[2]}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "figure"
    }
    if figures:
        terminalreporter.section("figures")
        for line in sorted(figures):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data beside the checkout; absent on most machines, demanded where CI says so."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("MMALIGN_REQUIRE_DATA"):
            pytest.fail(f"MMALIGN_REQUIRE_DATA is set, but there is no {folder}")
        pytest.skip("real data (MOSI, UTD-MHAD, MELD) is not beside this checkout")
    return folder
