"""A server with one user a role, and a port that sends each verb as the user of its role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from queuepool.cli.commands.acl import ADMIN, aclfile
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.servers import Bell, Memory, Reply, Stream
from queuepool.servers.sync import Server
from queuepool.verbs import Verb
from queuepool.verbs.acl import ROLES, user_name

PASSWORD = "password-of-{}"


class GuardedServer:
    """A server that lets no one in but the users of `queuepool acl`."""

    def __init__(self, server: EmbeddedServer, space: Keyspace) -> None:
        self.server, self.space = server, space

    def url(self, role: str) -> str:
        """Return the URL of a role's user."""
        name = ADMIN if role == ADMIN else user_name(role, self.space)
        return self.server.url.replace("redis://", f"redis://{name}:{PASSWORD.format(role)}@")

    def client(self, role: str) -> Any:
        """Return a plain client; close it."""
        return redis.Redis.from_url(self.url(role), decode_responses=True)

    def denied(self) -> list[str]:
        """Return what the server refused so far, as `user reason object`."""
        with self.client(ADMIN) as admin:
            log = admin.acl_log(128)
        return [f"{e['username']} {e['reason']} {e['object']}" for e in log]


@contextmanager
def guarded_server(
    binary: Path,
    stage: str,
    directory: Path,
    *more: str,
    fsynced: bool = False,
    **coordinators: bool,
) -> Iterator[GuardedServer]:
    """Start a server that reads its users from the file that `queuepool acl` prints."""
    space = Keyspace(stage=stage)
    passwords = {role: PASSWORD.format(role) for role in (*ROLES, ADMIN)}
    file = directory / "users.acl"
    newer = binary.name != "redis-server"  # the one that is installed may be Redis 7.0
    lines = aclfile(space, passwords, newer=newer, fsynced=fsynced, **coordinators)
    file.write_text("\n".join(lines) + "\n")
    arguments = ("--aclfile", str(file), "--enable-debug-command", "yes", *more)
    with EmbeddedServer(binary=binary, appendonly=fsynced, extra_args=arguments) as server:
        yield GuardedServer(server, space)


class RoleServer:
    """Sends each verb as the user of a role that may call its script. A Port."""

    def __init__(self, guarded: GuardedServer, order: Sequence[str] = tuple(ROLES)) -> None:
        self._servers = {role: Server(guarded.url(role)) for role in order}
        self._role_of = {script: role for role in reversed(order) for script in ROLES[role].scripts}
        self.name = "roles"

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        return [self._servers[self._role_of[v.script]].run(key, [v])[0] for v in verbs]

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        return [self.run(key, [verb])[0] for key, verb in calls]

    def stream(self, key: bytes, window: int) -> Stream:
        return self._servers["producer"].stream(key, window)

    def doorbell(self, key: bytes) -> Bell:
        return self._servers["consumer"].doorbell(key)

    def info(self) -> dict[str, Any]:
        return self._servers["ops"].info()

    def memory(self, key: bytes) -> Memory:
        return self._servers["consumer"].memory(key)

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
