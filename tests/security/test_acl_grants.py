"""A server lets a role do just what is granted: every command that it knows, on every key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from queuepool.protocol.keys import PARTITION_KEYS, SYSTEM_KEYS, Keyspace
from queuepool.verbs.acl import ROLES, WRITING, ServerRole, user_name
from queuepool.verbs.grants import NOTHING
from tests.security.roles import GuardedServer

# Whoever is connected may log in as another, or leave.
OPEN_TO_ALL = {"auth", "hello", "quit", "reset"}
NO_KEY = {
    *(
        "acl|whoami",
        "client|id",
        "client|list",
        "client|setinfo",
        "cluster|slots",
        "command",
        "config|get",
        "info",
        "ping",
    ),
    *("scan", "script|load", "select", "time", "wait", "waitaof"),
}
NASTY = "}/main:j*?[a]\\ "  # at the end of a key, where a name of the user's own may be


def keys(space: Keyspace) -> dict[str, str]:
    """Return a key of each kind, by its stem."""
    named = {
        base + ":" + key: key.partition(":")[0]
        for base, known in (
            (space.partition(12).decode(), PARTITION_KEYS),
            (space.system().decode(), SYSTEM_KEYS),
        )
        for key in known
    }
    return {stem: key.partition("<")[0] + NASTY * ("<" in key) for key, stem in named.items()}


def foreign(space: Keyspace) -> Iterator[str]:
    """Yield keys that are not of the queue, and some that no queue has."""
    for other in (Keyspace(space.stage, "other"), Keyspace("other", space.queue)):
        yield from keys(other).values()
    for base in (space.partition(0).decode(), space.system().decode()):
        yield from (f"{base}:", f"{base}:new", f"{base}:j2", f" {base}:j", base.upper() + ":j")
    yield from ("elsewhere", "", "/", f"/{space.stage}/queue/main:j")


def allowed(client: Any, user: str, calls: Sequence[Sequence[str]]) -> list[bool]:
    """Return whether a server would let a user make each of these calls."""
    with client.pipeline(transaction=False) as pipe:
        for words in calls:
            pipe.execute_command("ACL", "DRYRUN", user, *words)
        replies = pipe.execute(raise_on_error=False)
    for reply, words in zip(replies, calls, strict=True):
        # What has not the right number of words is refused whoever calls.
        assert reply == "OK" or "permissions" in str(reply), (words, reply)
    return [reply == "OK" for reply in replies]


def known_commands(client: Any) -> dict[str, list[str]]:
    """Return every command and subcommand that a server knows, with as many words as it wants."""
    found: dict[str, list[str]] = {}

    def add(infos: Sequence[Any]) -> None:
        for info in infos:
            name = str(info[0])
            words = name.split("|")
            if info[9]:
                add(info[9])
            else:
                found[name] = words + ["1"] * (abs(int(info[1])) - len(words))

    client.set_response_callback("COMMAND", lambda reply, **_: reply)
    add(client.execute_command("COMMAND"))
    return found


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_no_command_is_allowed_but_those_of_the_role(
    shared: GuardedServer, role: ServerRole
) -> None:
    base = shared.space.partition(0).decode()
    with shared.client("admin") as admin:
        commands = known_commands(admin)
        commands["evalsha"] = ["evalsha", "1" * 40, "1", base]
        for name in {*role.commands, *WRITING, "blpop"} - NO_KEY - {"evalsha"}:
            key = next((k for k, how in role.writes.items() if name in how), "j")
            commands[name][1] = keys(shared.space)[key]
        found = allowed(admin, user_name(role.name, shared.space), list(commands.values()))

    wanted = {*role.commands, *OPEN_TO_ALL}.union(*role.writes.values())
    if "command" in wanted:  # with its subcommands, which describe commands
        wanted = wanted - {"command"} | {name for name in commands if name.startswith("command|")}
    newer = {"client|setinfo"} | ({"waitaof"} if role.confirms else set())
    permitted = {name for name, ok in zip(commands, found, strict=True) if ok}
    assert len(commands) > 300
    assert permitted - newer == wanted


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_no_command_is_allowed_on_a_key_but_those_granted(
    shared: GuardedServer, role: ServerRole
) -> None:
    mine = keys(shared.space)
    reading = {*role.commands} - NO_KEY - {"evalsha"}
    with shared.client("admin") as admin:
        known = known_commands(admin)
        tried = [
            (stem, name, [name, key, *known[name][2:]])
            for stem, key in [*mine.items(), *((None, key) for key in foreign(shared.space))]
            for name in sorted({*reading, *WRITING, "blpop"})
        ]
        found = allowed(admin, user_name(role.name, shared.space), [words for _, _, words in tried])

    permitted = {(stem, name) for (stem, name, _), ok in zip(tried, found, strict=True) if ok}
    reads = {(stem, name) for stem in role.keys for name in reading}
    assert permitted == reads | {(stem, name) for stem, how in role.writes.items() for name in how}
    assert len(reads) > 100


@pytest.mark.parametrize("role", ROLES)
def test_a_command_on_two_keys_needs_the_right_to_both(shared: GuardedServer, role: str) -> None:
    base = shared.space.partition(0).decode()
    with shared.client("admin") as admin:
        found = allowed(
            admin,
            user_name(role, shared.space),
            [
                ("unlink", f"{base}:dn:0", "elsewhere"),
                ("exists", f"{base}:j", "elsewhere"),
                ("set", f"{base}:r:id", "1", "get"),
                ("evalsha", "1" * 40, "2", base, "elsewhere"),
            ],
        )

    writes_results = "r" in ROLES[role].writes
    assert found == [False, False, writes_results, False]


def test_whoever_only_looks_is_granted_nothing() -> None:
    assert [name for name, role in ROLES.items() if role.writes == NOTHING] == ["ops-read"]
