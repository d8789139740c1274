"""Models on disk: a run directory that an earlier version wrote still answers as it did."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import mmalign
from mmalign.runs.artifact import load_artifact
from mmalign.runs.manifest import load_masks
from tests.training.small import small_dataset, small_protocol

EARLIER = Path(__file__).parent / "format1"
"""A run of format 1, as it was written before settings A and B were parts of one result."""


def test_a_run_of_an_earlier_version_loads_and_predicts_what_it_predicted():
    table = pq.read_table(EARLIER / "predictions.parquet").to_pydict()
    rows = [row for row, split in enumerate(table["split"]) if split == "test"]
    test = small_protocol().apply(small_dataset())["test"]
    assert [table["id"][row] for row in rows] == list(test.ids)
    model = mmalign.load(EARLIER)
    expected = [table[f"probability/{name}"] for name in model.classes_]
    expected = np.array([[column[row] for column in expected] for row in rows])
    np.testing.assert_allclose(model.predict_proba(test), expected, atol=1e-6)


def test_its_masks_and_config_are_read():
    assert load_masks(EARLIER).protocol == small_protocol()
    assert load_artifact(EARLIER).config.epochs == 2
