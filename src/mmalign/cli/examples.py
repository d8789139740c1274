"""Examples that `--help` ends with; each is a command that can be typed as it stands."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": ("mmalign demo", "mmalign train smartwatch --out run", "mmalign evaluate run smartwatch"),
    "data": ("mmalign data inspect smartwatch", "mmalign data split mine.csv dealt --by subject"),
    "data inspect": (
        "mmalign data inspect smartwatch",
        "mmalign data inspect mosi/ --json",
    ),
    "data convert": ("mmalign data convert aligned_50.pkl mosi --non-finite zero",),
    "data split": (
        "mmalign data split mine.csv dealt --by subject --valid 0.1 --test 0.2",
        "mmalign data split mine.csv dealt --by '^(.*?)-'",
        "mmalign data split mine.csv dealt --test-from later.csv",
    ),
    "data verify": ("mmalign data verify mosi/",),
    "demo": ("mmalign demo", "mmalign demo --out quick --epochs 5 --seeds 2"),
    "train": (
        "mmalign train smartwatch --out run",
        "mmalign train DATA --out run --modalities text,visual --survival text=0.9,visual=0.5",
        "mmalign train DATA --out net --method mmalign --set epochs=20",
        "mmalign train DATA --out paper --visible text --victim visual --survival 0.1 --setting A",
    ),
    "tune": ("mmalign tune DATA --visible text --victim visual --trials 30 --out search",),
    "bench": (
        "mmalign bench smartwatch --suite subsets --out grid",
        "mmalign bench DATA --suite main --pairs text:visual --seeds 5 --out grid",
        "mmalign bench study.toml --out results",
    ),
    "methods": ("mmalign methods", "mmalign methods --json"),
    "evaluate": (
        "mmalign evaluate run smartwatch",
        "mmalign evaluate run smartwatch --split valid --without gyroscope --json",
    ),
    "predict": (
        "mmalign predict run smartwatch --out predictions.csv",
        "mmalign predict run smartwatch --split test --without gyroscope --out -",
    ),
    "explain": (
        "mmalign explain run smartwatch --clip subject09-recording005-window03 --out why.png",
        "mmalign explain net DATA --clip ID --source text --target visual",
    ),
    "report": ("mmalign report grid",),
    "export": ("mmalign export run --to onnx --out model.onnx",),
    "serve": ("mmalign serve run", "mmalign serve run --examples smartwatch --port 8080"),
}


def examples(command: str) -> str | None:
    """The end of a command's help; what is not listed has none."""
    lines = EXAMPLES.get(command)
    return None if lines is None else "\n\n".join(["Examples:", *(f"  {line}" for line in lines)])
