"""The names of all Redis keys. Pure.

Every partition has one base name; its keys are the base and a suffix. The braces are a
Redis Cluster hash tag and enclose the partition alone: with anything else inside them, every
partition of a stage would share one cluster slot.

    /prod/queue/{partition_3}/bulk          the base, KEYS[1] of every script
    /prod/queue/{partition_3}/bulk:j        ... and what the scripts derive from it

Each other pool of a partition has a base of its own, with the same keys, on the same server:

    /prod/queue/{partition_3}~{video}/bulk

A queue without partitions has one place of the same kind, which needs no rights of its own:

    /prod/queue/{partition_legacy}/bulk

Its owner, lanes, commands and counters are therefore its own. The second pair of braces is not part
of the hash tag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from queuepool.errors import ConfigurationError
from queuepool.models.places import DEFAULT_POOL, LEGACY, LEGACY_NAME, check_pool, partition_at

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

# suffix -> (type, what it holds). docs/protocol.md explains each; a test keeps the two together.
PARTITION_KEYS: dict[str, tuple[str, str]] = {
    "j": ("HASH", "job id -> body: header and envelope"),
    "q:<tier>:<group>": ("LIST", "a lane: ids of ready jobs, oldest first"),
    "ring:<tier>": ("LIST", "lanes that have ready jobs, least recently served first"),
    "tr:<tier>:<tenant>": ("LIST", "lanes of a tenant, in the order of their turns within its own"),
    "tn:<tenant>": ("HASH", "a tenant: its jobs ready and in flight, settings, lost seats"),
    "tt:<tenant>": ("HASH", "totals of a tenant: jobs done, died, cancelled, expired"),
    "mt": ("HASH", "tenants that are held, bounded, or have another weight than 1"),
    "fl:<epoch>": ("ZSET", "in-flight set of one ownership: id -> claim sequence or start ms"),
    "dl": ("ZSET", "id -> due ms: delayed and retrying jobs"),
    "du": ("ZSET", "id -> due ms: of those in dl, the jobs of the tiers 0 and 1"),
    "dg:<group>": ("SET", "ids of a group's delayed jobs"),
    "ua": ("HASH", "id -> task, of delayed jobs whose task no consumer here knows, or is held"),
    "ht": ("HASH", "task -> since when it is held, and how envelopes of its jobs begin"),
    "dead": ("ZSET", "id -> died ms"),
    "u": ("HASH", "unique key -> id of the job that holds it"),
    "uk": ("HASH", "id -> unique key and until when it is held, only of jobs that have one"),
    "ex": ("HASH", "id -> by when it is to start, only of jobs that expire"),
    "lm": ("HASH", "id -> state and gate, only of jobs that name limits"),
    "ll": ("SET", "tier and group of lanes in which such jobs may stand"),
    "gt": ("HASH", "gate -> ids that wait there for the limits that it is named after"),
    "ga": ("HASH", "gate -> jobs admitted to their lanes, and not claimed yet"),
    "gk": ("HASH", "gate -> whose turn it is; lane at a gate -> last to come back"),
    "gr:<tier>:<gate>": ("LIST", "groups that have lanes at the gate"),
    "gq:<tier>:<gate>~<group>": ("LIST", "a lane at a gate: ids of parked jobs"),
    "gg:<group>": ("SET", "tier:gate of the lanes that a group has at gates"),
    "at": ("HASH", "id -> failed attempts, only of jobs that failed"),
    "cr": ("HASH", "id -> crashes, only of jobs that ran when their consumer died"),
    "er": ("HASH", "id -> last error, only of retrying and dead jobs"),
    "pr": ("HASH", "id -> progress of a running job"),
    "h": ("LIST", "history: entries of executions that ended, the oldest first"),
    "cn": ("HASH", "id -> ms of a cancel request for a running job"),
    "cx": ("HASH", "id -> 1: cancelled while ready, its id is still in a lane"),
    "dn:<set>": ("SET", "ids that ended lately: one set in use, and the one before"),
    "r:<id>": ("STRING", "result of a finished job, with a time to live"),
    "g:<group>": ("HASH", "totals of a task group"),
    "mg": ("HASH", "held groups with work left"),
    "mv": ("SET", "groups on their way to or from another partition: none of their jobs starts"),
    "mn": ("SET", "groups that were configured while slots move"),
    "mr": ("HASH", "slots that closed while slots move -> by which version of the route"),
    "c": ("HASH", "counters"),
    "o": ("HASH", "owner: nonce, epoch, expiry, heartbeat, workers, busy, applied command"),
    "dr": ("HASH", "epoch -> nonce and expiry of a draining predecessor"),
    "rec": ("LIST", "epochs whose in-flight set must be recovered"),
    "cmd": ("STREAM", "commands to the owner; ids are <leader epoch>-<sequence>"),
    "ck": ("HASH", "checkpoint: target workers, when, by which leader"),
    "li:<limit>": ("HASH", "a limit that has its home here: definitions, state, what it granted"),
    "lc:<limit>": ("HASH", "its askers: <place>:<epoch> -> permits, and when they ask again"),
    "lt:<limit>": ("ZSET", "its askers that wait for tokens, by the ms since when"),
    "lw:<limit>": ("ZSET", "its askers that wait for permits, by the ms since when"),
    "ls": ("ZSET", "names of the limits that have their home here"),
    "lp:<place>": ("HASH", "limits of which the epochs of a place, such as 3@main, hold permits"),
    "ob:<outbox>": ("STRING", "the number of the last delivery of an outbox that came here"),
    "sf:<schedule>": ("STRING", "the last time for which a schedule fired here, and its job's id"),
    "b:<batch>": ("HASH", "a batch: its continuation, deadline, state, and counts of its jobs"),
    "bb:<batch>": ("STRING", "a bit for each of its jobs: whether that has ended"),
    "bf:<batch>": ("HASH", "number of a job that is not done -> how it ended, and its error"),
    "br:<batch>:<page>": ("HASH", "number in the page -> result, of 128 of its jobs"),
    "bd": ("ZSET", "batch -> ms at which its owner looks at it"),
    "fo": ("STREAM", "outcomes of jobs of batches, to be told to these"),
    "pl": ("HASH", "other pools of the partition -> ms; at the base of the default one"),
    "wk": (
        "LIST",
        "at most one wake token of a kind: w work, d something due sooner, c command, "
        "g parked jobs, f batches",
    ),
}
SYSTEM_KEYS: dict[str, tuple[str, str]] = {
    "leader": ("HASH", "the leading coordinator: nonce, epoch, expiry, address"),
    "why:<partition>": ("STREAM", "recent scaling decisions with their inputs and outcomes"),
    "decisions": ("STREAM", "scaling decisions that a release before 0.2.0 stored"),
    "manual": ("HASH", "partition -> workers set manually, with expiry"),
    "policy": ("HASH", "the scaling record: what operators set, its version, by whom and when"),
    "schedules": ("HASH", "schedule -> version, times, who, JSON; version of all, under no name"),
    "fired": ("HASH", "schedule -> what the leading coordinator has done of it"),
    "log:<kind>": ("STREAM", "operator actions and events: act, finding, leader, ..."),
    "route": (
        "HASH",
        "where jobs are: version, partitions, layout, created ms, slots, servers, moving, and more",
    ),
}


@dataclass(frozen=True, slots=True)
class Keyspace:
    """The names of one stage and queue, for one pool of workers.

    Raises ConfigurationError on a name Redis could misread.
    """

    stage: str = "dev"
    queue: str = "main"
    pool: str = DEFAULT_POOL

    def __post_init__(self) -> None:
        for field, value in (("stage", self.stage), ("queue", self.queue)):
            if not _NAME.fullmatch(value) or value in (".", ".."):
                raise ConfigurationError(
                    f"{field}={value!r}: use 1 to 64 of A-Z a-z 0-9 _ . - "
                    f"(setting QUEUEPOOL_{field.upper()})"
                )
        check_pool(self.pool)

    def of(self, pool: str) -> Keyspace:
        """Return the names for another pool of the same queue. Raises InvalidInputError."""
        return self if pool == self.pool else replace(self, pool=pool)

    def partition(self, number: int) -> bytes:
        """Return the base name of a partition's keys, the same for all places of it."""
        return b"/%s/queue/{partition_%s}%s/%s" % (
            self.stage.encode(),
            LEGACY_NAME.encode() if number == LEGACY else b"%d" % partition_at(number),
            self._pool,
            self.queue.encode(),
        )

    def system(self) -> bytes:
        """Return the base name of the keys that the coordinators share."""
        return b"/%s/sys/{sys}%s/%s" % (self.stage.encode(), self._pool, self.queue.encode())

    @property
    def _pool(self) -> bytes:
        return b"" if self.pool == DEFAULT_POOL else b"~{%s}" % self.pool.encode()
