"""The rows of docs/security.md about other users of the machine on which `queuepool up` runs.

What depends on the user is tried as another one, by tools of the system: the Python that runs the
tests may lie where others do not get to.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import redis

from tests.e2e.clusters import LocalUp
from tests.security.stolen import callers
from tests.security.strangers import NOBODY, arguments_of, descendants, reads_as_nobody

NEIGHBOUR = "another user of the machine"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that a neighbour may try. done: whether it worked. as_other: needs another user."""

    name: str
    may: frozenset[str]
    done: Callable[[LocalUp], bool]
    as_other: bool = False


def _processes(cluster: LocalUp) -> list[int]:
    return [cluster.process.pid, *descendants(cluster.process.pid)]


def _secrets(cluster: LocalUp) -> list[str]:
    (url,) = cluster.state.servers.values()
    return [url.removeprefix("redis://:").partition("@")[0], str(cluster.state.grpc_token)]


def _server(cluster: LocalUp) -> str:
    (url,) = cluster.state.servers.values()
    return url.rpartition("@")[2]


def _connects(cluster: LocalUp) -> bool:
    host, _, port = _server(cluster).partition("/")[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10):
        return True


def _commands_the_server(cluster: LocalUp) -> bool:
    for guess in ("", ":guess@", "default:@"):
        with (
            redis.Redis.from_url(f"redis://{guess}{_server(cluster)}") as client,
            suppress(redis.AuthenticationError),
        ):
            client.execute_command("DBSIZE")
            return True
    return False


def _calls(cluster: LocalUp) -> bool:
    replies = callers.by_token(str(cluster.state.grpc_address), None, callers.LOOKS | callers.ACTS)
    return set(replies.values()) != {grpc.StatusCode.UNAUTHENTICATED.name}


def _asks_for_health(cluster: LocalUp) -> bool:
    replies = callers.health_and_methods(str(cluster.state.grpc_address), None)
    return "SERVING" in replies["health"]


def _files(cluster: LocalUp) -> list[Path]:
    return [path for path in (cluster.directory / ".queuepool").rglob("*") if path.is_file()]


def _as_nobody(*words: str) -> bool:
    """Return whether a command works for another user."""
    done = subprocess.run(
        words, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", capture_output=True,
        check=False, timeout=60,
    )  # fmt: skip
    return done.returncode == 0


def _in_reach(cluster: LocalUp) -> None:
    """Open the way to the directory, which pytest keeps closed."""
    for directory in (cluster.directory, *cluster.directory.parents):
        mode = directory.stat().st_mode
        if directory != Path("/") and mode & 0o005 != 0o005:
            directory.chmod(mode | 0o005)


def _reads(cluster: LocalUp) -> bool:
    _in_reach(cluster)
    assert reads_as_nobody([cluster.directory / "app.py"]), "nothing can be read: nothing is tried"
    assert len(_files(cluster)) > 3
    return reads_as_nobody(_files(cluster)) != []


def _writes(cluster: LocalUp) -> bool:
    _in_reach(cluster)
    kept = cluster.directory / ".queuepool"
    new = [kept / "new", kept / "data" / "new"]
    return any(
        _as_nobody("/bin/sh", "-c", 'echo >> "$1"', "sh", str(f)) for f in [*_files(cluster), *new]
    )


ATTEMPTS = (
    Attempt(
        "see its processes and their arguments",
        frozenset((NEIGHBOUR,)),
        lambda cluster: _as_nobody("/bin/cat", f"/proc/{cluster.process.pid}/cmdline"),
        as_other=True,
    ),
    Attempt("open connections to its server", frozenset((NEIGHBOUR,)), _connects),
    Attempt("ask whether its coordinator is well", frozenset((NEIGHBOUR,)), _asks_for_health),
    Attempt("command its server", frozenset(), _commands_the_server),
    Attempt("look at its partitions, set workers", frozenset(), _calls),
    Attempt("read its jobs on disk, its logs, its state", frozenset(), _reads, as_other=True),
    Attempt("change its files", frozenset(), _writes, as_other=True),
    Attempt(
        "find password or token in arguments",
        frozenset(),
        lambda cluster: any(
            secret in word
            for pid in _processes(cluster)
            for word in arguments_of(pid)
            for secret in _secrets(cluster)
        ),
    ),
    Attempt(
        "find them in the environment of its processes",
        frozenset(),
        lambda cluster: any(
            _as_nobody("/bin/cat", f"/proc/{pid}/environ") for pid in _processes(cluster)
        ),
        as_other=True,
    ),
    Attempt(
        "end its processes",
        frozenset(),
        lambda cluster: any(
            _as_nobody("/bin/sh", "-c", f"kill -0 {pid}") for pid in _processes(cluster)
        ),
        as_other=True,
    ),
)
