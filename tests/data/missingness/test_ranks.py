"""What goes missing is a function of seed and names that never changes: tables depend on it."""

from mmalign.data.missingness.ranks import digest_of, ranked, ranked_entries, surviving_ids

IDS = [f"clip{number}" for number in range(10)]


def test_clips_are_ranked_as_ever():
    assert digest_of(0, "x").hex() == "9ca69359bf36ebff"
    assert "".join(name[-1] for name in ranked(IDS, 3)) == "5208394167"
    assert surviving_ids(IDS, count=4, seed=3) == {"clip5", "clip2", "clip0", "clip8"}


def test_clips_of_several_modalities_are_ranked_as_ever():
    ranks = [("b", 1), ("b", 2), ("a", 0), ("a", 2), ("a", 1), ("b", 0)]
    found = ranked_entries(["a", "b"], IDS[:3], 3)
    assert found == [(modality, f"clip{number}") for modality, number in ranks]
