"""What each role of process may do on a server: its commands and keys, as ACL rules. Pure.

A script runs with the rights of who calls it, and whoever may load scripts may load any. So a role
is exactly as strong as its commands and keys, whatever the scripts say. Commands and keys are read
from the scripts that the role calls; which of the keys it may write is declared here, and a test
compares it with the scripts. A role can write no key that it only has to read: a producer, for
example, can neither take a partition over, nor claim, nor forge a result.

The `*` for a partition's number matches any text. That reaches into another queue of the stage only
where a group of that queue has a name that ends like a key of this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from queuepool.keys import PARTITION_KEYS, SYSTEM_KEYS, Keyspace
from queuepool.scripts import names, script

# Every command of the scripts that writes; a test asks a server for its opinion.
WRITING = frozenset((
    "hdel", "hincrby", "hset", "hsetnx", "lpop", "lpush", "persist", "pexpire", "rpush", "sadd",
    "set", "srem", "unlink", "xadd", "zadd", "zrem",
))  # fmt: skip
_CALLED = re.compile(r"redis\.call\('([A-Z]+)'")
_DERIVED = re.compile(r"^-- KEYS\[1\] (?:system )?base; derived: (.+(?:\n--  +.+)*)$", re.MULTILINE)
# What connections send besides scripts; CLUSTER SLOTS is where a cluster's map comes from.
_ALWAYS = ("cluster|slots", "evalsha", "script|load", "select")
# Known from Redis 7.2 and in every Valkey; Redis 7.0 refuses a rule that names them.
_NEWER_ALWAYS = ("client|setinfo",)


@dataclass(frozen=True)
class Role:
    """What one kind of process calls. writes: stems of keys; direct: commands beside scripts."""

    name: str
    scripts: tuple[str, ...]
    writes: tuple[str, ...]
    direct: tuple[str, ...] = ()
    confirms: bool = False  # may also ask what its writes have survived (queuepool.durability)
    probes: bool = False  # may also try everything on keys made for that: `queuepool check`

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """Return the commands that it may send or that its scripts may call, sorted."""
        called = {
            command.lower()
            for name in self.scripts
            for command in _CALLED.findall(script(name).source.decode())
        }
        allowed = called if self.writes else called - WRITING
        confirming = ("wait",) if self.confirms else ()
        return tuple(sorted({*allowed, *self.direct, *confirming, *_ALWAYS}))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the stems of all keys that it touches."""
        return frozenset(stem for name in self.scripts for stem in keys_of(name))

    def rules(self, space: Keyspace, *, newer: bool = False, fsynced: bool = False) -> list[str]:
        """Return its ACL rules without name and password.

        newer: for servers since Redis 7.2. fsynced: for producers that ask for that durability,
        which includes how the server fsyncs.
        """
        words = ["resetkeys", "resetchannels", "-@all"]
        partitions = space.partition(0).decode().replace("{partition_0}", "{partition_*}")
        for base, known in ((partitions, PARTITION_KEYS), (space.system().decode(), SYSTEM_KEYS)):
            touched = [key for key in known if _stem(key) in self.keys]
            if touched:
                words.append(f"~{base}")  # no key: what every call declares
            for key in touched:
                kind = "~" if _stem(key) in self.writes else "%R~"
                words.append(f"{kind}{base}:{re.sub('<.*', '*', key)}")
        if self.probes:
            words.append(f"~{partitions}:probe:*")
        commands = set(self.commands)
        if newer:
            commands |= {*_NEWER_ALWAYS, *(("waitaof",) if self.confirms else ())}
        if fsynced and self.confirms:
            commands.add("config|get")
        return [*words, *(f"+{command}" for command in sorted(commands))]


def keys_of(name: str) -> frozenset[str]:
    """Return the stems of the keys that a script derives, as its header says."""
    found = _DERIVED.search(script(name).source.decode())
    listed = re.sub("<[^>]*>|--", "", found[1]) if found else ""
    return frozenset(_stem(key) for key in listed.split())


def _stem(key: str) -> str:
    return key.partition(":")[0].strip(",;")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role(
            name="producer",
            scripts=_words("enqueue status cancel cancel_group group route peek"),
            writes=_words("j c g q ring wk dl dg ua dn cn cx at cr er"),
            confirms=True,
        ),
        Role(
            name="consumer",
            scripts=_words(
                "acquire renew rekey release claim start finish finish_stray retry bury abandon "
                "hand_back progress promote recover rouse book route peek"
            ),
            writes=_words("j c g q ring wk dl dg ua dn cn cx at cr er fl pr r dead o dr rec route"),
            direct=("blpop", "info"),
        ),
        Role(
            name="coordinator",
            scripts=_words(
                "observe group lead resign command checkpoint manual record decisions route peek"
            ),
            writes=_words("cmd wk ck leader decisions manual route"),
        ),
        Role(
            name="ops-read",
            scripts=_words("observe status group dead audit lead decisions route peek"),
            writes=(),
        ),
        Role(
            name="ops",
            scripts=tuple(names()),
            writes=tuple(_stem(key) for key in (*PARTITION_KEYS, *SYSTEM_KEYS)),
            direct=_words("acl|whoami blpop command config|get info ping"),
            confirms=True,
            probes=True,
        ),
    )
}


def user_name(role: str, space: Keyspace) -> str:
    """Return the name of a role's user: a server may hold several stages and queues."""
    return f"{space.stage}-{space.queue}-{role}"
