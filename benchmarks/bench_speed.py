"""How fast training and prediction are beside the alternatives; writes speed.json and a page.

Run: python benchmarks/bench_speed.py [--only PART,PART,…]

Contenders take turns in one process on one thread; times are CPU time, medians with the fastest and
the slowest round; ratios are of medians. A part that is run again replaces its rows alone. Clips
are like MOSI's: random features of its sizes and lengths, 1,284 clips of 12 steps on average.

- epoch: a training epoch at survival 10 %, everybody with the same batches, by length
- step: a step on the missing split, everybody with the same random batches
- stages: where such a step goes
- clip, batch: `predict` of one clip of 12 steps, and of 256 clips, without their victim
- single-clip: the same as clip, but every call comes after one of the other contender
- growth: predict and training step of one clip of 1,024 to 65,536 steps, attention in a band
- hour: the same for 360,000 steps, an hour at 100 Hz, with the peak of memory
- experts-clip, experts-training: the default model beside sktime's MiniRocket + ridge
- mosei: `mmalign train` with one epoch on 23,000 clips, in a process of its own
- command: `mmalign predict` of 100 clips, for a run of experts and for one of the paper's network
"""

import argparse
import json
import math
import platform
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mmalign
from commands import Part, command, mosei, peak
from mmalign.data import Protocol, Regression, Split, smartwatch
from mmalign.data.batching import Batches, make_batch
from mmalign.imputers import Direction
from mmalign.model.adamw import clip_gradients
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.model import main_loss
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.direct import denoising_training
from mmalign.training.methods import build_model
from mosi_like import DIMS, mosi_like
from reference_loop import ReferenceLoop, ReferenceModel
from speed_page import render
from turns import TURN, Times, take_turns

RESULTS = Path(__file__).parent / "results" / "speed.json"
PAIR = ("text", "visual")
REFERENCE = "reference loop"
PLAIN = "ours, torch's layers (the default)"
LENGTHS = (1024, 4096, 16384, 65536)
HOUR = 360_000
BAND = 32
SENSORS = {"accelerometer": 6, "gyroscope": 6}


def part(title: str, times: Mapping[str, Times], at_least: Mapping[str, float]) -> Part:
    """Times of contenders, ours first, and what each of the others should be slower by."""
    return {
        "title": title,
        "contenders": {name: asdict(taken) for name, taken in times.items()},
        "at_least": dict(at_least),
    }


def halves(split: Split) -> tuple[Split, Split]:
    """Clips with their victim, and without it."""
    is_complete = split.is_present("visual")
    first, second = (split.select(np.flatnonzero(chosen)) for chosen in (is_complete, ~is_complete))
    return first, second


def by_length(split: Split) -> list[Streams]:
    return [to_streams(batch, PAIR) for batch in Batches(split, DIMS).epoch(0)]


def at_random(split: Split, count: int) -> list[Streams]:
    rows = np.random.default_rng(0).permutation(len(split))
    starts = range(0, 32 * count, 32)
    return [to_streams(make_batch(split, DIMS, rows[s : s + 32].tolist()), PAIR) for s in starts]


def training_of(method: str, *, compiled_layers: bool = False) -> DenoisingTraining:
    config = Config(method=method, compiled_layers=compiled_layers)
    torch.manual_seed(0)
    model = build_model(config, Regression(-3, 3), DIMS, [Direction(*PAIR)])
    return denoising_training(model, make_optimizers(model, config), config)


def reference_of(ours: DenoisingTraining, iterations: int | None = None) -> ReferenceLoop:
    reference = ReferenceModel(tuple(DIMS.values()), ours.config)
    reference.copy_from(ours.model)
    return ReferenceLoop(reference, PAIR, iterations=iterations)


def epoch() -> Part:
    train = Protocol(visible="text", victim="visual", survival=0.1).apply(mosi_like())["train"]
    complete, missing = map(by_length, halves(train))
    plain = training_of("mmalign")
    loops = {
        "ours": training_of("mmalign", compiled_layers=True),
        PLAIN: plain,
        REFERENCE: reference_of(plain),
        f"{REFERENCE}, 10 iterations of Sinkhorn": reference_of(plain, iterations=10),
    }
    work = {n: lambda loop=loop: loop.epoch(complete, missing) for n, loop in loops.items()}
    title = "training epoch, survival 10 %, everybody batched by length; ours with compiled_layers"
    return part(title, take_turns(work, 3), {REFERENCE: 8})


def step() -> Part:
    train = Protocol(visible="text", victim="visual", survival=0.1).apply(mosi_like())["train"]
    batches = at_random(halves(train)[1], 4)
    plain = training_of("mmalign")
    loops = {
        "ours": training_of("mmalign", compiled_layers=True),
        PLAIN: plain,
        "Modal-Trans, uncached": training_of("modal-trans-uncached"),
        "Modal-Trans, cached": training_of("modal-trans"),
        "Modal-Trans, cached, compiled_layers": training_of("modal-trans", compiled_layers=True),
        "Modal-Trans, parallel": training_of("modal-trans-parallel"),
        REFERENCE: reference_of(plain),
    }
    work = {n: lambda loop=loop: loop.epoch([], batches) for n, loop in loops.items()}
    title = "four steps on the missing split, the same random batches; ours with compiled_layers"
    bars = {"Modal-Trans, uncached": 20, "Modal-Trans, cached": 7}
    return part(title, take_turns(work, 3), bars)


def stages() -> Part:
    """Where the time of a step on the missing split goes."""
    train = Protocol(visible="text", victim="visual", survival=0.1).apply(mosi_like())["train"]
    ours = training_of("mmalign")
    model, optimizer = ours.model, ours.optimizers.main
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(name: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        answer = work()
        spent[name] += time.process_time() - started
        return answer

    for turn in range(4):
        for batch in by_length(halves(train)[1])[:12]:
            known = timed("encode", lambda batch=batch: model.known(batch))
            whole = timed("impute", lambda known=known: model.completed(known))
            outputs = timed("fuse and predict", lambda whole=whole: model.backbone.predict(whole))
            loss = main_loss(model, outputs, batch.labels)
            optimizer.zero_grad()
            timed("backward", loss.backward)
            timed("clip", lambda: clip_gradients(optimizer.weights, 1.0))
            timed("Adam", optimizer.step)
        if not turn:
            spent.clear()
    total = sum(spent.values())
    shares = {name: seconds / total for name, seconds in spent.items()}
    return {"title": "where a step on the missing split goes", "shares": shares}


def predictors() -> tuple[Any, ReferenceModel, Split]:
    """A model behind the API, the reference with its weights, and clips without their victim."""
    data = mosi_like({"train": 96, "valid": 32, "test": 686})
    seen = Protocol(visible="text", victim="visual", survival=0.5, setting="A").apply(data)
    model = mmalign.MMAlign(*PAIR, epochs=1, warm_up=0).fit(seen["train"], valid=seen["valid"])
    reference = ReferenceModel(tuple(DIMS.values()), model.config)
    reference.copy_from(model.fitted.model)
    return model, reference, seen["test"]


def predict_row(
    title: str, split: Split, rounds: int, at_least: float, found: Any, turn: float = TURN
) -> Part:
    model, reference = found
    clips = list(split)
    answers = model.predict(clips), reference.predict(clips, "text")
    np.testing.assert_allclose(*answers, atol=1e-4)
    work = {
        "ours": lambda: model.predict(clips),
        REFERENCE: lambda: reference.predict(clips, "text"),
    }
    return part(title, take_turns(work, rounds, turn), {REFERENCE: at_least})


def clip() -> Part:
    *found, test = predictors()
    row = int(np.flatnonzero(test.lengths("text") == 12)[0])
    return predict_row("predict([clip]), 12 steps", test.select([row]), 50, 20, found)


def single_clip() -> Part:
    *found, test = predictors()
    row = int(np.flatnonzero(test.lengths("text") == 12)[0])
    title = "predict([clip]), 12 steps, after a call of the other: caches are cold"
    return predict_row(title, test.select([row]), 200, 20, found, turn=0)


def batch() -> Part:
    *found, test = predictors()
    title = f"predict of 256 clips ({REFERENCE}: one padded batch)"
    return predict_row(title, test.select(range(256)), 9, 12, found)


def long_work(steps: int, band: int) -> dict[str, Callable[[], object]]:
    """Predict a clip with and without its victim; train on both."""
    config = Config(attention_band=band, batch_size=1)
    torch.manual_seed(0)
    model = build_model(config, Regression(-3, 3), SENSORS, [Direction(*SENSORS)])
    training = DenoisingTraining(model, make_optimizers(model, config), config)
    complete = Streams(
        ("clip",),
        torch.zeros(1),
        {name: torch.randn(1, steps, dim) for name, dim in SENSORS.items()},
        {name: torch.tensor([steps]) for name in SENSORS},
        {},
    )
    missing = complete.without(["gyroscope"])

    @torch.inference_mode()
    def predict() -> None:
        model.eval()
        model(complete)
        model(missing)

    def train() -> None:
        model.train()
        training.epoch([complete], [missing])

    return {"predict": predict, "training step": train}


def growth() -> Part:
    curves: list[dict[str, Any]] = []
    for band, lengths in ((BAND, LENGTHS), (0, LENGTHS[:2])):
        work = {
            (kind, steps): run for steps in lengths for kind, run in long_work(steps, band).items()
        }
        times = take_turns(work, 3)
        for kind in ("predict", "training step"):
            seconds = [times[kind, steps].median for steps in lengths]
            exponent = math.log(seconds[-1] / seconds[0]) / math.log(lengths[-1] / lengths[0])
            name = f"{kind}, band of {band}" if band else f"{kind}, whole sequence"
            curve = {"name": name, "steps": lengths, "seconds": seconds, "exponent": exponent}
            curves.append(curve | ({"at_most": 1.1} if band else {}))
    return {"title": "growth with length, one clip of two modalities", "curves": curves}


def hour() -> Part:
    """In a process of its own, for its own peak of memory."""
    found = {}
    for kind in ("predict", "training step"):
        command = [sys.executable, __file__, "--hour-of", kind]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[kind] = json.loads(answer)
    return {"title": f"an hour at 100 Hz ({HOUR:,} steps), band of {BAND}", "costs": found}


def one_hour(kind: str) -> dict[str, float]:
    work = long_work(HOUR, BAND)[kind]
    long_work(1024, BAND)[kind]()  # compiles
    started = time.process_time()
    work()
    seconds = time.process_time() - started
    return {"seconds": seconds, "megabytes": peak(resource.getrusage(resource.RUSAGE_SELF))}


def experts_clip() -> Part:
    from bench_experts import NAMES, fit_minirocket

    watch = smartwatch()
    clips = [watch["test"][0]]
    model = mmalign.MMAlign(epochs=1).fit(watch["train"])
    anchor = fit_minirocket(list(watch["train"]), NAMES)
    work = {
        "ours": lambda: model.predict(clips),
        "sktime MiniRocket + ridge": lambda: anchor.predict(clips),
    }
    title = "experts: predict([clip]), two modalities of 40 steps"
    return part(title, take_turns(work, 20), {"sktime MiniRocket + ridge": 3})


def experts_training() -> Part:
    from bench_experts import SUBSETS, fit_minirocket

    watch = smartwatch()
    train = list(watch["train"])
    work = {
        "ours": lambda: mmalign.MMAlign().fit(watch["train"]),
        "sktime MiniRocket + ridge": lambda: [fit_minirocket(train, names) for names in SUBSETS],
    }
    title = "experts: a whole training on the smartwatch; sktime: one for each of three subsets"
    return part(title, take_turns(work, 1), {"sktime MiniRocket + ridge": 0.2})


PARTS: dict[str, Callable[[], Part]] = {
    "epoch": epoch,
    "step": step,
    "stages": stages,
    "clip": clip,
    "single-clip": single_clip,
    "batch": batch,
    "growth": growth,
    "hour": hour,
    "experts-clip": experts_clip,
    "experts-training": experts_training,
    "mosei": mosei,
    "command": command,
}


def show(found: Part) -> None:
    print(found["title"])
    contenders = {name: Times(**taken) for name, taken in found.get("contenders", {}).items()}
    for name, taken in contenders.items():
        bar = found["at_least"].get(name)
        wanted = "" if bar is None else f" (at least {bar:g}x)"
        print(f"  {name}: {taken}, {taken.median / contenders['ours'].median:.2f}x{wanted}")
    for curve in found.get("curves", []):
        shown = ", ".join(f"{1e3 * seconds:.4g}" for seconds in curve["seconds"])
        print(f"  {curve['name']}: {shown} ms, exponent {curve['exponent']:.3f}")
    for name, share in found.get("shares", {}).items():
        print(f"  {name}: {100 * share:.0f} %")
    for name, cost in found.get("costs", {}).items():
        print(f"  {name}: {cost['seconds']:.1f} s CPU, {cost['megabytes']:.0f} MB at most")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="parts with commas between them")
    parser.add_argument("--hour-of", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.hour_of:
        print(json.dumps(one_hour(given.hour_of)))
        return
    names = given.only.split(",") if given.only else list(PARTS)
    if len(names) == 1:
        measure(*names)
        return
    for name in names:  # one process each: a command's peak of memory begins with its parent's
        subprocess.run([sys.executable, __file__, "--only", name], check=True)


def measure(name: str) -> None:
    """Show one part and keep what was found."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"parts": {}}
    found = PARTS[name]() | {"command": f"python benchmarks/bench_speed.py --only {name}"}
    show(found)
    known["parts"][name] = found
    known["torch"], known["python"] = str(torch.__version__), platform.python_version()
    known["parts"] = {n: known["parts"][n] for n in PARTS if n in known["parts"]}
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    RESULTS.with_suffix(".html").write_text(render(known), encoding="utf-8")


if __name__ == "__main__":
    main()
