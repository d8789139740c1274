"""What whole commands take, each in a process of its own: parts of bench_speed.py.

Run: python benchmarks/bench_speed.py --only mosei,command
"""

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import Any

import mmalign
from mmalign.data import smartwatch, write_native
from mosi_like import mosi_like

MOSEI = {"train": 16_000, "valid": 2_300, "test": 4_700}

Part = dict[str, Any]
"""A title, and what was measured."""


def mosei() -> Part:
    """`mmalign train` with one epoch."""
    with tempfile.TemporaryDirectory() as folder:
        # By another process: a child begins with the peak of memory of the one that starts it.
        subprocess.run([sys.executable, __file__, f"{folder}/data"], check=True)
        costs = {
            "train": trained_on(folder, "run"),
            "train, compiled_layers": trained_on(folder, "fast", "--set", "compiled_layers=true"),
        }
    title = "mmalign train, one epoch, 23,000 clips of 20 steps on average (text 300, visual 35)"
    return {"title": title, "costs": costs}


def trained_on(folder: str, run: str, *settings: str) -> dict[str, float]:
    """What a training takes in a process of its own."""
    command = ["train", f"{folder}/data", "--visible", "text", "--victim", "visual"]
    command += ["--survival", "0.1", "--out", f"{folder}/{run}"]
    command += ["--set", "epochs=1", "--set", "warm_up=0", *settings]
    return cost_of(command)


def cost_of(command: list[str]) -> dict[str, float]:
    """CPU seconds and the peak of memory of one command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mmalign", *command],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"mmalign {command[0]} ended with {status}")
    return {"seconds": usage.ru_utime + usage.ru_stime, "megabytes": peak(usage)}


def command() -> Part:
    """`mmalign predict` of 100 clips, imports included; the fastest of five."""
    watch = smartwatch()
    some = replace(watch, splits={"test": watch["test"].select(range(100))})
    names = {"experts": {"epochs": 1}, "network": {"visible": "accelerometer"}}
    names["network"] |= {"victim": "gyroscope", "epochs": 1, "warm_up": 0}
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        write_native(some, f"{folder}/data")
        for name, settings in names.items():
            mmalign.MMAlign(**settings).fit(watch["train"]).save(f"{folder}/{name}")
            asked = ["predict", f"{folder}/{name}", f"{folder}/data", "--out", f"{folder}/out.csv"]
            costs[name] = min((cost_of(asked) for _ in range(5)), key=lambda c: c["seconds"])
    return {"title": "mmalign predict of 100 clips, from start to end", "costs": costs}


def peak(usage: resource.struct_rusage) -> float:
    """The most memory that a process had, in megabytes."""
    return usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


if __name__ == "__main__":
    write_native(mosi_like(MOSEI, {"text": 300, "visual": 35}, mean_steps=20), sys.argv[1])
