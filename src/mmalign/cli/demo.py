"""`mmalign demo`: the main job on the data that comes with the install."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmalign.training.config import IMPROVED

if TYPE_CHECKING:
    from mmalign.data import Dataset
    from mmalign.training.estimator import MMAlign

VISIBLE, VICTIM, SURVIVAL = "accelerometer", "gyroscope", 0.1
ROWS: dict[str, dict[str, Any]] = {
    "unimodal (LB)": {"method": "lb"},
    "zero-fill": {"method": "zero-fill"},
    "uniform window": {"method": "uniform-window"},
    "MM-Align": {"method": "mmalign"},
    "MM-Align, improved": {"method": "mmalign", **IMPROVED},
    "both modalities (UB)": {"method": "ub"},
}


def demo(
    out: Annotated[Path, typer.Option(help="Directory for pictures and results.")] = Path(
        "demo-output"
    ),
    epochs: Annotated[int, typer.Option(min=1, help="Most epochs of training.")] = 25,
) -> None:
    """Train on smartwatch data whose gyroscope dies; show the table and an alignment."""
    import torch

    from mmalign.cli.tables import print_description, print_table
    from mmalign.data import smartwatch
    from mmalign.evaluation.inspection import inspect_dataset

    torch.set_num_threads(1)
    dataset = smartwatch()
    description = inspect_dataset(dataset)
    print_description("smartwatch", description)
    majority = description["splits"]["test"]["floor"]["accuracy"]
    out.mkdir(parents=True, exist_ok=True)
    _draw_data(dataset, out)
    scores, model = _train_all(dataset, epochs)
    print_table(
        f"test accuracy when {VICTIM} survives in {SURVIVAL:.0%} of the training clips",
        ["A: never at test", f"B: in {SURVIVAL:.0%} of test"],
        {"majority class": [majority] * 2} | scores,
    )
    typer.echo("One seed shows the way it works, not who wins: docs/results.md has six, paired.")
    _draw_alignment(dataset, model, out / "plan.png")
    model.save(out / "model")
    typer.echo(f"pictures: {out}/clips.png, missingness.png, plan.png; model: {out}/model")


def _versions(dataset: "Dataset") -> dict[str, "Dataset"]:
    from mmalign.data import Protocol

    return {
        setting: Protocol(visible=VISIBLE, victim=VICTIM, survival=SURVIVAL, setting=setting).apply(
            dataset
        )
        for setting in ("A", "B")
    }


def _draw_data(dataset: "Dataset", out: Path) -> None:
    from mmalign.experiments.pictures import draw_clips, draw_missingness

    versions = _versions(dataset)
    draw_clips(versions["A"], out / "clips.png")
    titled = [(f"survival {SURVIVAL:.0%}, setting {s}", data) for s, data in versions.items()]
    draw_missingness([("all there", dataset), *titled], out / "missingness.png")


def _train_all(dataset: "Dataset", epochs: int) -> tuple[dict[str, list[float]], "MMAlign"]:
    """Test accuracy of every row in both settings, and the improved MM-Align."""
    from mmalign.training.config import Config
    from mmalign.training.estimator import MMAlign
    from mmalign.training.settings import train_both_settings

    scores: dict[str, list[float]] = {}
    for name, settings in ROWS.items():
        config = Config(epochs=epochs, patience=8, **settings)
        done = train_both_settings(
            dataset, config, visible=VISIBLE, victim=VICTIM, survival=SURVIVAL
        )
        scores[name] = [done.selected[setting].test["accuracy"] for setting in ("A", "B")]
        typer.echo(f"{name}: {len(done.history)} epochs, {done.seconds:.0f} s", err=True)
        if settings.get("both_passes"):
            model = MMAlign.of(done.predictor, config)
    return scores, model


def _draw_alignment(dataset: "Dataset", model: "MMAlign", file: Path) -> None:
    from mmalign.experiments.pictures import draw_plans

    clips = dataset["test"].select([0])
    plans = {
        "solver's plan, from both modalities": model.align(clips)[0],
        f"predicted from the {VISIBLE} alone": model.align(clips.without(VICTIM, clips.ids))[0],
    }
    draw_plans(plans, clips[0], file, visible=VISIBLE, victim=VICTIM)
