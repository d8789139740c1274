"""What studies of experts share: options, and rows in a file that a second run goes on from."""

import argparse
import json
from pathlib import Path


def study_options(title: str, rows: str, *, only: str = "") -> argparse.ArgumentParser:
    """Options of a study: where data lies, how many seeds, which studies, where rows go."""
    parser = argparse.ArgumentParser(description=title)
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--data", type=Path, default=root / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default=only, help="studies whose title holds this")
    parser.add_argument("--rows", type=Path, default=Path(rows))
    return parser


def read_rows(file: Path) -> list[dict]:
    """Rows that were computed already; none where there is no file."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def append_rows(file: Path, rows: list[dict]) -> None:
    """Add rows to a file."""
    with file.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
