"""Dropout before the read-out."""

import numpy as np

from mmalign.experts.taps_read_out import drop_out


def test_of_what_is_read_out_each_clip_loses_its_own_share():
    pool = np.ones((400, 128), np.float32)
    seeds = np.random.default_rng(0).integers(2**32, size=400, dtype=np.uint32)
    drop_out(pool, seeds, np.uint32(77))
    assert set(np.unique(pool)) == {np.float32(0), np.float32(256) / np.float32(179)}
    np.testing.assert_allclose((pool == 0).mean(), 77 / 256, atol=0.01)
    assert len(np.unique(pool, axis=0)) == 400
    again = np.ones((1, 128), np.float32)
    drop_out(again, seeds[7:8], np.uint32(77))
    np.testing.assert_array_equal(again[0], pool[7])
