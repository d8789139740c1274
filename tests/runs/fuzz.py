"""Damage what mmalign writes at random and load it: `fuzz.py MUTANTS SEED [KIND...]`.

Runs, saved models, checkpoints and grids are loaded as they were written or refused with an error
of ours; what loads as something else, or fails otherwise, is printed. It runs outside pytest:
without the type checks of tests, as users run it.
"""

import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import mmalign
from mmalign.errors import MMAlignError
from mmalign.experiments.grid import open_grid
from mmalign.experts import Experts
from mmalign.runs.checkpoint import CHECKPOINT, load_checkpoint
from mmalign.runs.experts_checkpoint import Progress
from mmalign.runs.manifest import load_masks, read_record, read_saved
from tests.data.readers.fuzz import IN_MEMORY, mutate
from tests.experiments.report.made import Making, make_grid
from tests.experts.made import made_clips
from tests.training.small import small_run

SECONDS = 10
NEVER_READ = ("README.md", "metrics.jsonl", "predictions.parquet", "timing.json", ".lock")
Load = Callable[[Path], Any]
Built = tuple[Path, Load]


def build_run(folder: Path) -> Built:
    small_run(folder / "run", epochs=1).execute()
    (folder / "run" / CHECKPOINT).unlink()

    def load(run: Path) -> Any:
        saved = read_saved(run)
        mmalign.load(run)
        details = json.loads((run / "manifest.json").read_text())
        records = [read_record(run, name) for name in ("result.json", "run.json")]
        return saved.settings, saved.weights, load_masks(run), details, records

    return folder / "run", load


def build_experts(folder: Path) -> Built:
    model = Experts(epochs=1).fit(made_clips(12, seed=0))
    model.save(folder / "experts")
    return folder / "experts", lambda path: Experts.load(path).packed()


def build_checkpoint(folder: Path) -> Built:
    states: list[Any] = []
    small_run(folder / "run", epochs=1).execute(lambda _, training: states.append(training.state))
    file = folder / "run" / CHECKPOINT
    for other in folder.rglob("*"):
        if other.is_file() and other != file:
            other.unlink()

    def load(_: Path) -> Any:
        load_checkpoint(file, states[0])
        weights = states[0].model.state_dict().values()
        return states[0].history, [tensor.tolist() for tensor in weights]

    return folder / "run", load


def build_experts_checkpoint(folder: Path) -> Built:
    model = Experts(epochs=1).fit(made_clips(12, seed=0))
    file = folder / "state"
    Progress({names[0]: one for names, one in model.fitted.members.items()}, 1.0).save(file)
    return folder, lambda _: (Progress.load(file).seconds, sorted(Progress.load(file).members))


def build_grid(folder: Path) -> Built:
    make_grid(folder / "grid", Making(suites=("main",), survivals=(0.5,), seeds=(0,)))

    def load(path: Path) -> Any:
        grid = open_grid(path)
        return grid.data, grid.placed, [grid.seconds(a) for a in grid.jobs], list(grid.results())

    return folder / "grid", load


BUILDERS = {
    "run": build_run,
    "experts": build_experts,
    "checkpoint": build_checkpoint,
    "experts checkpoint": build_experts_checkpoint,
    "grid": build_grid,
}


def attempt(load: Load, path: Path, expected: Any) -> str:
    try:
        return "same" if load(path) == expected else "WRONG LOAD"
    except MMAlignError as error:
        text = str(error)
        return "refused" if len(text) < 2500 and text.isprintable() else f"BAD MESSAGE {text[:300]}"
    except Exception as error:
        return f"FOREIGN {type(error).__name__}: {error}"[:300]


def on_alarm(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def fuzz(name: str, mutants: int, rng: random.Random) -> tuple[Counter, int]:
    outcomes: Counter = Counter()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as temporary:
        path, load = BUILDERS[name](Path(temporary))
        expected = load(path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        files = sorted(f for f in path.rglob("*") if f.is_file() and f.stat().st_size)
        files = [file for file in files if file.name not in NEVER_READ]
        for _ in range(mutants):
            file = rng.choice(files)
            original = file.read_bytes()
            file.write_bytes(mutate(original, rng))
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            outcome = attempt(load, path, expected)
            signal.setitimer(signal.ITIMER_REAL, 0)
            file.write_bytes(original)
            if outcome not in ("same", "refused"):
                sys.stdout.write(f"{name}/{file.name}: {outcome}\n")
                outcome = "failed"
            outcomes[outcome] += 1
        return outcomes, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024


def main() -> None:
    mutants, seed, *names = sys.argv[1:]
    signal.signal(signal.SIGALRM, on_alarm)
    chosen = names or list(BUILDERS)
    share = -(-int(mutants) // len(chosen))
    total: Counter = Counter()
    rise = 0
    for name in chosen:
        started = time.monotonic()
        outcomes, risen = fuzz(name, share, random.Random(f"{seed} {name}"))
        total += outcomes
        rise = max(rise, risen)
        sys.stderr.write(f"{name} {dict(outcomes)} {time.monotonic() - started:.1f} s\n")
    found = {**total, "mutants": total.total(), "rss_rise_mb": rise}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
