"""Files and directories that only their owner may write to, opened without following links.

Anyone who may write to a directory can place a link, a pipe or a file where we expect ours. So
everything is opened first and then checked through the open descriptor: what the name leads to
later does not matter.

    someone else's, or writable by others   refused: its content cannot be trusted
    a symbolic link, a second hard link      refused: writing would change another file
    a pipe or a device                       refused without waiting for it
    ours, but readable by others             made private before it is written
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from queuepool.errors import ConfigurationError

_OTHERS = 0o077
_WRITABLE_BY_OTHERS = 0o022
# Some systems lack these; `queuepool up` does not run there anyway.
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)


class UnsafePathError(ConfigurationError):
    """A file or directory may come from another user; it was neither used nor changed."""

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(f"{_shown(path)} {problem}, so it is not used. {remedy}.")


def make_directory(path: Path) -> None:
    """Create a private directory, or make the existing one private.

    Raises UnsafePathError, and OSError if it cannot be created.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    with open_directory(path) as directory:
        refuse_shared_parent(directory, path)
        tighten(directory, path)


@contextmanager
def open_directory(path: Path) -> Iterator[int]:
    """Yield the descriptor of a directory of ours. Raises UnsafePathError, OSError."""
    try:
        directory = os.open(path, os.O_RDONLY | _DIRECTORY | _NOFOLLOW)
    except OSError as error:
        raise _translated(path, error) from error
    try:
        _refuse_others(os.fstat(directory), path)
        yield directory
    finally:
        os.close(directory)


def refuse_writable(descriptor: int, path: Path) -> None:
    """Raise UnsafePathError when others may write to what is open."""
    if os.fstat(descriptor).st_mode & _WRITABLE_BY_OTHERS:
        raise UnsafePathError(
            path,
            "is writable by other users of this machine",
            f"If no one else has changed it, remove their permission: chmod go-w {_shown(path)}",
        )


def refuse_shared_parent(directory: int, path: Path) -> None:
    """Raise UnsafePathError if everyone may replace this directory with another.

    A sticky parent such as /tmp is safe: there only the owner of an entry can move it.
    """
    above = os.stat("..", dir_fd=directory)
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        raise UnsafePathError(
            path,
            "is in a directory that every user of this machine can write to",
            "Use a directory that you own, or remove the permission (chmod o-w) from that one",
        )


def tighten(descriptor: int, path: Path) -> None:
    """Remove all other users' permissions from what is open. Raises UnsafePathError."""
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & _OTHERS:
        with suppress(OSError):
            os.fchmod(descriptor, mode & ~_OTHERS)
        if os.fstat(descriptor).st_mode & _OTHERS:
            raise UnsafePathError(
                path,
                "remains accessible to other users: its file system does not store permissions",
                "Use a directory on another file system",
            )


def opener(path: str, flags: int) -> int:
    """Open a file of ours for `open(..., opener=opener)`; a new one is private.

    The file is checked before it is truncated (mode "w"). Raises UnsafePathError, OSError.
    """
    where = Path(path)
    descriptor = _open(where, flags & ~os.O_TRUNC, None)
    try:
        tighten(descriptor, where)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        os.set_blocking(descriptor, True)  # a child may inherit it
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(directory: Path, name: str, *, limit: int) -> bytes | None:
    """Return the content of a file of ours, at most `limit` bytes; None: there is none.

    Raises UnsafePathError for what others may have written, OSError, ValueError when it is larger.
    """
    try:
        with open_directory(directory) as opened:
            return _read(directory / name, opened, limit)
    except FileNotFoundError:
        return None


def _read(path: Path, directory: int, limit: int) -> bytes:
    with os.fdopen(_open(path, os.O_RDONLY, directory), "rb") as file:
        # Only if the file exists: a directory without it may have any permissions.
        refuse_writable(directory, path.parent)
        refuse_shared_parent(directory, path.parent)
        refuse_writable(file.fileno(), path)
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it has more than {limit:,} bytes")
    return content


def replace(directory: Path, name: str, content: bytes) -> None:
    """Replace a file of ours atomically: readers see either the old content or the new."""
    temporary = f".{name}.{secrets.token_hex(8)}"
    with open_directory(directory) as opened:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(temporary, flags | _NOFOLLOW, 0o600, dir_fd=opened)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, name, src_dir_fd=opened, dst_dir_fd=opened)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=opened)
            raise


def add_missing(directory: Path, name: str, content: bytes) -> None:
    """Write a file of ours unless that name exists, which then stays unchanged."""
    with open_directory(directory) as opened, suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(name, flags | _NOFOLLOW, 0o600, dir_fd=opened)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def remove(directory: Path, name: str) -> None:
    """Remove a file, or a link of that name; a missing one is fine."""
    with suppress(FileNotFoundError), open_directory(directory) as opened:
        os.unlink(name, dir_fd=opened)


def open_entry(path: Path, directory: int) -> int:
    """Open an entry of an open directory for reading: a file or a directory of ours.

    Raises UnsafePathError, OSError.
    """
    descriptor = _open_any(path, os.O_RDONLY, directory)
    try:
        _refuse_others(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open(path: Path, flags: int, directory: int | None) -> int:
    """Open a regular file of ours without other hard links."""
    descriptor = _open_any(path, flags, directory)
    try:
        found = os.fstat(descriptor)
        refuse_irregular(found, path)
        _refuse_others(found, path)
        refuse_links(found, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open_any(path: Path, flags: int, directory: int | None) -> int:
    name = path if directory is None else path.name
    try:
        return os.open(name, flags | _NOFOLLOW | _AT_ONCE, 0o600, dir_fd=directory)
    except OSError as error:
        raise _translated(path, error) from error


def _translated(path: Path, error: OSError) -> Exception:
    """Return the error for a name that could not be opened."""
    # A link instead of a directory is ENOTDIR on Linux; a pipe without a reader is ENXIO.
    if error.errno == errno.ELOOP or os.path.islink(path):  # noqa: PTH114 - it never raises
        return UnsafePathError(path, "is a symbolic link", "Remove it, or work elsewhere")
    if error.errno == errno.ENXIO:
        return UnsafePathError(path, "is not a regular file", "Remove it, or work elsewhere")
    return error


def refuse_irregular(found: os.stat_result, path: Path) -> None:
    """Raise UnsafePathError for a pipe or a device, and IsADirectoryError for a directory."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise UnsafePathError(path, "is not a regular file", "Remove it, or work elsewhere")


def refuse_links(found: os.stat_result, path: Path) -> None:
    """Raise UnsafePathError if a file has a second hard link: writing would change that, too."""
    if found.st_nlink > 1:
        raise UnsafePathError(
            path, f"has {found.st_nlink} hard links", "Remove it, or put a copy in its place"
        )


def _refuse_others(found: os.stat_result, path: Path) -> None:
    me = os.geteuid()
    if found.st_uid != me:
        raise UnsafePathError(
            path,
            f"belongs to the user with the id {found.st_uid} and not to you ({me})",
            "Work in a directory that you own, or set the server (QUEUEPOOL_URL) and the "
            "coordinator (QUEUEPOOL_GRPC) yourself",
        )


def _shown(path: Path) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(path))
