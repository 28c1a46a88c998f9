"""What each role may do on a server: its commands and keys, as ACL rules. Pure.

A script runs with its caller's permissions, and a user who may load scripts may load any. So a role
is exactly as powerful as its commands and keys, whatever the scripts do. The keys it reads are
derived from the scripts that it calls; queuepool.verbs.grants defines which commands may write
which key. Keys that a role only reads it cannot write: a producer can neither take over a
partition, nor claim, nor forge a result. And it can only write in specific ways: it removes the
attempts of a job that it cancels, but cannot store any.

As rules: the user itself may read, and each set of keys written by the same commands is a separate
selector, `(~key +command)`. For each key of each command a server tries the patterns in order, so
the most frequently used keys come first.

The `*` for a partition's number, and in `{sys*}`, also matches the name of a pool: a role may do
the same in all pools of its queue. It matches any text. It only matches a key of another queue of
the stage if a group of that queue has a name that ends like a key of this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from queuepool.protocol.keys import PARTITION_KEYS, SYSTEM_KEYS, Keyspace
from queuepool.verbs.grants import (
    CANCELLING_COORDINATOR,
    CHANGING_COORDINATOR,
    CONSUMER,
    COORDINATOR,
    NOTHING,
    OPERATOR,
    PRODUCER,
    Grant,
)
from queuepool.verbs.scripts import names, script

# Every write command of the scripts; a test checks this with a server.
WRITING = frozenset((
    "hdel", "hincrby", "hset", "hsetnx", "linsert", "lpop", "lpush", "lrem", "persist", "pexpire",
    "rpop", "rpush", "sadd", "set", "setbit", "setrange", "srem", "unlink", "xadd", "xdel",
    "zadd", "zrem",
))  # fmt: skip
_CALLED = re.compile(r"(?:redis\.p?call|ours)\('([A-Z]+)'")
# What connections send besides scripts; CLUSTER SLOTS is where a cluster's map comes from.
_ALWAYS = ("cluster|slots", "evalsha", "script|load", "select")
# Available since Redis 7.2 and in every Valkey; Redis 7.0 rejects a rule with them.
_NEWER_ALWAYS = ("client|setinfo",)
# Keys that scripts use once per group or job.
_BUSIEST = ("q", "g", "j", "c")


@dataclass(frozen=True)
class ServerRole:
    """What one kind of process calls. writes: how it changes keys; direct: other commands."""

    name: str
    scripts: tuple[str, ...]
    writes: Grant
    direct: tuple[str, ...] = ()
    confirms: bool = (
        False  # may also confirm the durability of its writes (queuepool.client.durability)
    )
    probes: bool = False  # may also try everything on special keys: `queuepool check`

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """Return, sorted, the commands that write no key and that it sends or its scripts call."""
        called = {
            command.lower()
            for name in self.scripts
            for command in _CALLED.findall(script(name).source.decode())
        }
        confirming = ("wait",) if self.confirms else ()
        return tuple(sorted({*(called - WRITING), *self.direct, *confirming, *_ALWAYS}))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Return the stems of all keys that it touches, in the order of its rules."""
        touched = frozenset(stem for name in self.scripts for stem in keys_of(name))
        known = (_stem(key) for key in (*PARTITION_KEYS, *SYSTEM_KEYS))
        return tuple(stem for stem in dict.fromkeys((*_BUSIEST, *known)) if stem in touched)

    def rules(
        self,
        space: Keyspace,
        *,
        newer: bool = False,
        fsynced: bool = False,
        cancels: bool = False,
        changes: bool = False,
    ) -> list[str]:
        """Return its ACL rules without name and password.

        newer: for servers since Redis 7.2. fsynced: for producers that ask for that durability,
        which includes how the server fsyncs. cancels: for coordinators that cancel batches.
        changes: for coordinators that do so, and change single jobs.
        """
        if self is ROLES["coordinator"] and (cancels or changes):
            return (CHANGING if changes else CANCELLING).rules(space, newer=newer)
        patterns = _patterns(space)
        commands = set(self.commands)
        if newer:
            commands |= {*_NEWER_ALWAYS, *(("waitaof",) if self.confirms else ())}
        if fsynced and self.confirms:
            commands.add("config|get")
        return [
            *("resetkeys", "resetchannels", "-@all"),
            *(f"~{base}" for base in _bases(space)),  # no keys: what every call declares
            *(f"%R~{patterns[stem]}" for stem in self.keys),
            *(f"+{command}" for command in sorted(commands)),
            *self._selectors(patterns),
        ]

    def _selectors(self, patterns: Mapping[str, str]) -> Iterator[str]:
        together: dict[
            tuple[str, ...], list[str]
        ] = {}  # keys -> the commands that write just these
        for command in sorted(set(chain.from_iterable(self.writes.values()))):
            stems = tuple(stem for stem in self.keys if command in self.writes.get(stem, ()))
            together.setdefault(stems, []).append(command)
        for stems, commands in together.items():
            words = (*(f"~{patterns[stem]}" for stem in stems), *(f"+{c}" for c in commands))
            yield f"({' '.join(words)})"
        if self.probes:
            everything = sorted({*self.commands, *WRITING, "blpop"})
            words = (f"~{patterns['j'].removesuffix('j')}probe:*", *(f"+{c}" for c in everything))
            yield f"({' '.join(words)})"


def _bases(space: Keyspace) -> tuple[str, str]:
    partitions = space.partition(0).decode().replace("{partition_0}", "{partition_*}")
    return partitions, space.system().decode().replace("{sys}", "{sys*}")


def _patterns(space: Keyspace) -> dict[str, str]:
    """Return the pattern of each key, by stem."""
    return {
        _stem(key): f"{base}:{re.sub('<.*', '*', key)}"
        for base, known in zip(_bases(space), (PARTITION_KEYS, SYSTEM_KEYS), strict=True)
        for key in known
    }


def keys_of(name: str) -> frozenset[str]:
    """Return the stems of the keys that a script derives, as its header says."""
    listed = re.sub("<[^>]*>", "", script(name).header("KEYS[1]").partition("derived:")[2])
    return frozenset(_stem(key) for key in listed.split())


def _stem(key: str) -> str:
    return key.partition(":")[0].strip(",;")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _called_by(role: str) -> tuple[str, ...]:
    """Return the scripts of a role, according to their headers."""
    return tuple(name for name in names() if role in script(name).header("ROLES").split())


ROLES: dict[str, ServerRole] = {
    role.name: role
    for role in (
        ServerRole(
            name="producer",
            scripts=_called_by("producer"),
            writes=PRODUCER,
            confirms=True,
        ),
        ServerRole(
            name="consumer",
            scripts=_called_by("consumer"),
            writes=CONSUMER,
            direct=_words("client|id client|list info"),
        ),
        ServerRole(
            name="coordinator",
            scripts=_called_by("coordinator"),
            writes=COORDINATOR,
            direct=("info",),
        ),
        ServerRole(
            name="ops-read",
            scripts=_called_by("ops-read"),
            writes=NOTHING,
            direct=("info",),
        ),
        ServerRole(
            name="ops",
            scripts=_called_by("ops"),
            writes=OPERATOR,
            direct=_words("acl|whoami command config|get info ping"),
            confirms=True,
            probes=True,
        ),
    )
}

# The coordinator that may cancel batches for operators, with what that destroys.
CANCELLING = replace(
    ROLES["coordinator"],
    scripts=(*ROLES["coordinator"].scripts, "cancel", "cancel_batch", "cancel_children"),
    writes=CANCELLING_COORDINATOR,
)
# The same, also for replaying, discarding, editing and running jobs.
CHANGING = replace(
    CANCELLING,
    scripts=(*CANCELLING.scripts, "replay", "discard", "edit", "hasten", "status"),
    writes=CHANGING_COORDINATOR,
)


def user_name(role: str, space: Keyspace) -> str:
    """Return the name of a role's user: a server may hold several stages and queues."""
    return f"{space.stage}-{space.queue}-{role}"
