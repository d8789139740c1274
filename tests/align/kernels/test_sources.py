"""Every file with a kernel counts."""

from mmalign.align.kernels import sources


def test_all_files_that_compile_kernels_are_among_the_sources():
    known = {path for place in sources.PLACES for path in sources.PACKAGE.glob(place)}
    using = {
        path
        for path in sources.PACKAGE.rglob("*.py")
        if "kernels.jit import" in path.read_text(encoding="utf-8")
    }
    assert len(using) > 20
    assert using <= known


def test_the_digest_changes_with_a_source(tmp_path, monkeypatch):
    file = tmp_path / "made" / "kernels" / "one.py"
    file.parent.mkdir(parents=True)
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    digests = set()
    for text in ("a = 1", "a = 2"):
        file.write_text(text)
        sources.sources_digest.cache_clear()
        digests.add(sources.sources_digest())
    sources.sources_digest.cache_clear()
    assert len(digests) == 2
