"""How fast the alignment core is: every ratio beside the bar it must clear.

One thread; contenders take turns in one process; medians of CPU time. Run it as

    python benchmarks/bench_align.py
"""

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import ot
import ot.batch
import torch
from torch import Tensor

from mmalign.align import fit_loss, impute, is_inside, solve
from mmalign.align.band import band_columns
from turns import take_turns

BATCH, DIM, WINDOW = 32, 32, 8
GROWTH_LENGTHS = (256, 1024, 4096, 16384, 65536)

Contenders = dict[str, Callable[[], object]]


def median_milliseconds(contenders: Contenders, *, rounds: int) -> dict[str, float]:
    """Median CPU milliseconds of each contender, in turns so that noise hits all alike."""
    return {n: 1e3 * times.median for n, times in take_turns(contenders, rounds).items()}


def report(line: str, ratio: float, bar: float, moonshot: float | None = None) -> None:
    verdict = "moonshot" if moonshot and ratio >= moonshot else "ok" if ratio >= bar else "BELOW"
    goal = f"bar {bar:g}x" + (f", moonshot {moonshot:g}x" if moonshot else "")
    print(f"  {line:<64} {ratio:8.1f}x  ({goal}: {verdict})", flush=True)


def draw_pair(length: int, dtype: torch.dtype, *, likeness: float) -> tuple[Tensor, Tensor]:
    """Two sequences whose steps correlate: 0 are strangers, 1 would be one sequence twice."""
    first, own = torch.randn(2, BATCH, length, DIM, dtype=dtype)
    return first, likeness * first + (1 - likeness**2) ** 0.5 * own


def ragged_lengths(length: int) -> Tensor:
    return torch.randint(length // 4, length + 1, (BATCH,))


class PotProblem:
    """The same problems as POT takes them: dense costs, a barrier, padding aligned with itself."""

    def __init__(self, source: Tensor, target: Tensor, lengths: Tensor, epsilon: float) -> None:
        self.source, self.target, self.epsilon = source, target, epsilon
        self.lengths = lengths
        step = torch.arange(source.shape[1])
        is_step = step < lengths[:, None]
        is_diagonal = step == step[:, None]
        is_near = (step - step[:, None]).abs() <= WINDOW
        self.is_allowed = (is_near & is_step[:, :, None] & is_step[:, None]) | (
            is_diagonal & ~is_step[:, None]
        )
        self.ones = torch.ones_like(source[..., 0])
        self.far = torch.tensor(1e6, dtype=source.dtype)

    def cost(self) -> Tensor:
        """Time x time costs."""
        unit_source = torch.nn.functional.normalize(self.source, dim=-1)
        unit_target = torch.nn.functional.normalize(self.target, dim=-1)
        return torch.where(self.is_allowed, 1.0 - unit_source @ unit_target.mT, self.far)

    def kernel(self, *, iterations: int, tolerance: float) -> dict[str, object]:
        """POT's multiplicative iterations, called without its front door."""
        kernel = torch.exp(-self.cost() / self.epsilon)
        return ot.batch.bregman_projection_batch(
            kernel, self.ones, self.ones, max_iter=iterations, tol=tolerance
        )

    def per_clip(self, *, tolerance: float) -> None:
        """POT's sinkhorn on one clip after the other, without any padding."""
        for cost, length in zip(self.cost().numpy(), self.lengths.tolist(), strict=True):
            ones = np.ones(length)
            clip = cost[:length, :length]
            ot.sinkhorn(
                ones, ones, clip, self.epsilon, numItermax=100_000, stopThr=tolerance, warn=False
            )

    def variant(self, method: str, *, iterations: int, tolerance: float) -> object:
        """POT's batch solver by the name of its method."""
        return ot.batch.solve_batch(
            self.cost(),
            self.epsilon,
            a=self.ones,
            b=self.ones,
            max_iter=iterations,
            tol=tolerance,
            method=method,
            grad="detach",
        )


def bench_fixed_iterations() -> None:
    print(f"10 iterations, batch {BATCH}, window {WINDOW}, dim {DIM}, float32, lengths L/4..L")
    for length, bar, moonshot in ((50, 4, 12), (100, 7, 25), (256, 15, 60)):
        source, target = draw_pair(length, torch.float32, likeness=0)
        lengths = ragged_lengths(length)
        pot = PotProblem(source, target, lengths, 0.1)
        times = median_milliseconds(
            {
                "POT kernel": lambda pot=pot: pot.kernel(iterations=10, tolerance=0),
                "POT sinkhorn": lambda pot=pot: pot.variant("sinkhorn", iterations=10, tolerance=0),
                "mmalign": lambda s=source, t=target, n=lengths: solve(
                    s, t, iterations=10, source_lengths=n, target_lengths=n
                ),
            },
            rounds=25,
        )
        ours = times.pop("mmalign")
        best = min(times, key=times.__getitem__)
        line = f"L={length}: {ours:.3f} ms, {best} {times[best]:.2f} ms"
        report(line, times[best] / ours, bar, moonshot)


def bench_tolerance() -> None:
    print("To tolerance 1e-6, epsilon 0.1, float64, L=100, by the correlation of the sequences")
    for likeness, ragged in itertools.product((0.7, 0.5, 0.0), (True, False)):
        source, target = draw_pair(100, torch.float64, likeness=likeness)
        lengths = ragged_lengths(100) if ragged else torch.full((BATCH,), 100)
        pot = PotProblem(source, target, lengths, 0.1)
        times = median_milliseconds(
            {
                "POT kernel": lambda pot=pot: pot.kernel(iterations=100_000, tolerance=1e-6),
                "POT per clip": lambda pot=pot: pot.per_clip(tolerance=1e-6),
                "mmalign": lambda s=source, t=target, n=lengths: solve(
                    s, t, source_lengths=n, target_lengths=n
                ),
            },
            rounds=3,
        )
        ours = times.pop("mmalign")
        best = min(times, key=times.__getitem__)
        steps = "25..100 steps" if ragged else "all 100 steps"
        line = f"{likeness:.1f}, {steps}: {ours:.2f} ms, {best} {times[best]:.0f} ms"
        report(line, times[best] / ours, 500, 2000)


def dense_impute(mass: Tensor, source: Tensor, lengths: Tensor) -> list[Tensor]:
    """One dense matrix and one product a clip, as the paper's released code does."""
    imputed = []
    for clip, length in enumerate(lengths.tolist()):
        plan = dense_plan(mass[clip], length)
        imputed.append((plan.T @ source[clip, :length]) / plan.sum(0)[:, None])
    return imputed


def dense_plan(band: Tensor, length: int) -> Tensor:
    rows = []
    for i in range(length):
        low, high = max(0, i - WINDOW), min(length, i + WINDOW + 1)
        inside = band[i, low - i + WINDOW : high - i + WINDOW]
        rows.append(torch.nn.functional.pad(inside, (low, length - high)))
    return torch.stack(rows)


def dense_fit_loss(predicted: Tensor, plan: Tensor, lengths: Tensor) -> Tensor:
    total, count = predicted.new_zeros(()), 0
    for clip, length in enumerate(lengths.tolist()):
        gap = dense_plan(predicted[clip], length) - dense_plan(plan[clip], length)
        total = total + gap.square().sum()
        count += length * (2 * WINDOW + 1) - WINDOW * (WINDOW + 1)
    return total / count


def scattered_plan(band: Tensor, columns: Tensor) -> Tensor:
    """A gentler rival: the dense matrix of a clip in one indexed write."""
    length = columns.shape[0]
    row, entry = (columns >= 0).nonzero(as_tuple=True)
    return band.new_zeros(length, length).index_put((row, columns[row, entry]), band[row, entry])


def scattered_impute(mass: Tensor, source: Tensor, lengths: Tensor) -> list[Tensor]:
    columns = band_columns(lengths, window=WINDOW, time=mass.shape[1])
    imputed = []
    for clip, length in enumerate(lengths.tolist()):
        plan = scattered_plan(mass[clip, :length], columns[clip, :length])
        imputed.append((plan.T @ source[clip, :length]) / plan.sum(0)[:, None])
    return imputed


def scattered_fit_loss(predicted: Tensor, plan: Tensor, lengths: Tensor) -> Tensor:
    columns = band_columns(lengths, window=WINDOW, time=plan.shape[1])
    total, count = predicted.new_zeros(()), 0
    for clip, length in enumerate(lengths.tolist()):
        place = columns[clip, :length]
        gap = scattered_plan(predicted[clip, :length], place) - scattered_plan(
            plan[clip, :length], place
        )
        total = total + gap.square().sum()
        count += int((place >= 0).sum())
    return total / count


def bench_carry() -> None:
    print("Forward + backward, batch 32, L=50, float32, against per-clip dense loops")
    lengths = ragged_lengths(50)
    source = torch.randn(BATCH, 50, DIM, requires_grad=True)
    inside = is_inside(lengths, window=WINDOW, time=50)
    predicted = (torch.rand(inside.shape) * inside).requires_grad_()
    plan = torch.rand(inside.shape) * inside

    def imputing(run: Callable[..., Tensor | list[Tensor]]) -> Callable[[], None]:
        def step() -> None:
            answer = run(predicted, source, lengths)
            parts = [answer] if isinstance(answer, Tensor) else answer
            torch.autograd.grad(sum(part.sum() for part in parts), (predicted, source))

        return step

    def fitting(run: Callable[..., Tensor]) -> Callable[[], None]:
        return lambda: torch.autograd.grad(run(predicted, plan, lengths), predicted)

    times = median_milliseconds(
        {
            "impute": imputing(lambda a, z, n: impute(a, z, source_lengths=n)),
            "impute rows": imputing(dense_impute),
            "impute scattered": imputing(scattered_impute),
            "fit": fitting(lambda a, b, n: fit_loss(a, b, source_lengths=n)),
            "fit rows": fitting(dense_fit_loss),
            "fit scattered": fitting(scattered_fit_loss),
        },
        rounds=15,
    )
    for name, bar in (("impute", 20), ("fit", 50)):
        rows, scattered = times[f"{name} rows"], times[f"{name} scattered"]
        report(
            f"{name}: {times[name]:.3f} ms, dense, row by row {rows:.1f} ms",
            rows / times[name],
            bar,
        )
        ratio = scattered / times[name]
        print(f"    (a gentler rival, one indexed write a clip: {scattered:.1f} ms, {ratio:.1f}x)")


@contextmanager
def peak_memory() -> Iterator[Callable[[], float]]:
    """Mebibytes that the block needed on top of what was resident before (Linux)."""
    import ctypes
    from pathlib import Path

    def status(field: str) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(x.split()[1]) for x in lines if x.startswith(field)) / 1024

    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    yield lambda: status("VmHWM") - before


def measure_length(length: int, tolerance: float) -> dict[str, float]:
    """Time and memory of one clip, in a process of its own."""
    torch.manual_seed(0)
    source, target = torch.randn(2, length, DIM, dtype=torch.float64)
    # Lengths that differ are solved one by one, as long clips are: compiles what will be measured.
    solve(source[:64], target[:63], epsilon=0.2)
    repeats = max(1, 16384 // length)
    with peak_memory() as used:
        plan = solve(source, target, epsilon=0.2, tolerance=tolerance)
        memory = used()
    seconds = []
    for _ in range(3):
        start = time.process_time()
        for _ in range(repeats):
            plan = solve(source, target, epsilon=0.2, tolerance=tolerance)
        seconds.append((time.process_time() - start) / repeats)
    return {
        "seconds": float(np.median(seconds)),
        "mebibytes": memory,
        "sweeps": float(plan.iterations),
        "error": float(plan.marginal_error),
    }


def in_own_process(length: int, tolerance: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--length", str(length), str(tolerance)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def bench_length() -> None:
    print("One clip, window 8, epsilon 0.2, float64, to 1e-12")
    long = in_own_process(100_000, 1e-12)
    print(
        f"  100,000 steps: {long['seconds']:.2f} s (bar 10), "
        f"{long['mebibytes']:.0f} MiB on top of the imports (bar 400), "
        f"marginal error {long['error']:.0e}"
    )
    figures = [in_own_process(length, 1e-12) for length in GROWTH_LENGTHS]
    for length, row in zip(GROWTH_LENGTHS, figures, strict=True):
        print(
            f"  {length:>6} steps: {1e3 * row['seconds']:9.2f} ms, {row['mebibytes']:7.2f} MiB, "
            f"{row['sweeps']:.0f} sweeps"
        )
    for what in ("seconds", "mebibytes"):
        logs = np.log([row[what] for row in figures])
        exponent = np.polyfit(np.log(GROWTH_LENGTHS), logs, 1)[0]
        print(f"  {what} grow with exponent {exponent:.2f} (bar 0.9 .. 1.1)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", nargs=2, help=argparse.SUPPRESS)  # steps and tolerance
    alone = parser.parse_args().length
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if alone:
        print(json.dumps(measure_length(int(alone[0]), float(alone[1]))))
        return
    bench_fixed_iterations()
    bench_tolerance()
    bench_carry()
    bench_length()


if __name__ == "__main__":
    main()
