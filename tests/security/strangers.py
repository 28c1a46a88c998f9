"""What other users of this machine see and may do, tried as one of them where that can be."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534

as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can act as another user, or give files away"
)

# No Python: the one that runs the tests may lie where others do not get to.
_TRY = 'for file in "$@"; do cat "$file" > /dev/null 2>&1 && echo "$file"; done; true'


def open_to_others(directory: Path) -> list[str]:
    """Return everything in a directory, itself included, that others have any right to."""
    everything = [directory, *directory.rglob("*")]
    return [
        f"{path} {stat.filemode(path.lstat().st_mode)}"
        for path in everything
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]


def reads_as_nobody(paths: list[Path]) -> list[str]:
    """Return which files another user can read, by trying; needs root."""
    done = subprocess.run(
        ["/bin/sh", "-c", _TRY, "sh", *map(str, paths)],
        user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.splitlines()


def arguments_of(pid: int) -> list[str]:
    """Return the arguments of a process, as every user can read them."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")


def descendants(pid: int) -> list[int]:
    """Return the processes below one."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *descendants(int(child))]
    return found


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Create files with the rights that a careless umask leaves."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
