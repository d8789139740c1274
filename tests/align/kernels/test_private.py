"""Compiled kernels are kept only where nobody else can put code in their place."""

import os
import subprocess
import sys

import pytest

from mmalign.align.kernels.private import is_private, private_folder


@pytest.mark.parametrize(
    ("mode", "above", "expected"),
    [
        (0o700, 0o755, True),
        (0o755, 0o755, True),
        (0o777, 0o755, False),
        (0o1777, 0o755, False),
        (0o700, 0o777, False),
        (0o700, 0o1777, True),
    ],
)
def test_a_folder_is_private_if_nobody_else_can_change_what_its_name_means(
    tmp_path, mode, above, expected
):
    parent = tmp_path / "parent"
    folder = parent / "folder"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    parent.chmod(above)
    assert is_private(str(folder)) is expected


def test_a_folder_that_is_not_there_yet_is_as_private_as_the_one_it_will_be_made_in(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert is_private(str(tmp_path / "new" / "deeper"))
    assert not is_private(str(tmp_path / "open" / "new"))


def test_a_link_is_as_private_as_what_it_leads_to(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    assert not is_private(str(tmp_path / "link"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_private(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    assert not is_private(str(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize(("group", "expected"), [(12345, False), (0, True)])
def test_a_group_may_write_if_it_is_the_users_own(tmp_path, group, expected):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o775)
    os.chown(folder, 0, group)
    assert is_private(str(folder)) is expected


def test_the_users_own_folder_is_made_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = private_folder()
    assert folder == tmp_path / "mmalign" / "kernels"
    assert folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "mmalign").chmod(0o777)
    is_private.cache_clear()
    assert private_folder() is None


PROGRAM = """
from mmalign.align.kernels.jit import compiled
import sys
sys.path.insert(0, sys.argv[1])
import kernel
print(compiled(kernel.twice)(21))
"""


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_nothing_is_read_from_or_written_to_a_shared_cache(tmp_path, mode):
    (tmp_path / "kernel.py").write_text("def twice(x):\n    return 2 * x\n")
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(mode)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(tmp_path / "own")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "42", done.stderr
    kept = [file for file in cache.rglob("*") if file.is_file()]
    own = [file for file in (tmp_path / "own").rglob("*") if file.is_file()]
    assert (bool(kept), bool(own)) == ((True, False) if mode == 0o700 else (False, True))
