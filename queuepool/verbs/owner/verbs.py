"""Verbs of the owner of a partition. Every one carries the owner's nonce and epoch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from queuepool.errors.escaping import stored_text
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.release import PROTOCOL
from queuepool.verbs import Argument, Verb, fenced, fields
from queuepool.verbs.owner.calls import owned
from queuepool.verbs.owner.commands import command_id, int_or_none, read_command
from queuepool.verbs.owner.replies import (
    Acks,
    Acquired,
    Buried,
    Claims,
    Finished,
    Held,
    Ownership,
    Promoted,
    Recovered,
    Renewal,
    Roused,
    Vacancy,
)

__all__ = [  # of queuepool.verbs.owner.replies
    "Acks",
    "Acquired",
    "Buried",
    "Claims",
    "Finished",
    "Held",
    "Ownership",
    "Promoted",
    "Recovered",
    "Renewal",
    "Roused",
    "Vacancy",
]

MAX_BATCH = 200
CLAIM_BYTES = 1024**2  # of bodies in one claim: what a server can send within a few ms
_WHICHEVER = repeat(b"")  # body is in flight


def acquire(
    partition: int,
    nonce: str,
    *,
    lease_ms: int,
    host: str,
    replaces: bool = True,
    gone: Held | None = None,
    pool: str = DEFAULT_POOL,
) -> Verb[Acquired | Held]:
    """Become the owner unless another owner's lease still runs.

    replaces: whether to take over an expired lease; if not, the reply is Held for 0. gone: what was
    told of an owner whose process has ended; it is replaced at once, if it has not renewed since.
    """

    def read(r: Any) -> Acquired | Held:
        if r[0] == 0:
            line = stored_text(r[4].partition(b":")[2])
            return Held(int(r[1]), int(r[2]), int(r[3]), line, stored_text(r[5]))
        ownership = Ownership(partition, nonce, int(r[1]), pool)
        target = int_or_none(r[4])
        return Acquired(ownership, r[2], r[3], target, int_or_none(r[5]), command_id(r[6]))

    how: list[Argument] = [int(replaces), "", ""]
    if gone is not None:
        how = [2, gone.epoch, gone.heartbeat_ms]
    return Verb("acquire", [nonce, lease_ms, host, *how, PROTOCOL], read)


def renew(
    ownership: Ownership,
    *,
    lease_ms: int,
    beat: int,
    workers: int,
    busy: int,
    target: int,
    applied: str,
    load: str = "",
    lifeline: str = "",
    about: str = "",
    limits: str = "",
) -> Verb[Renewal]:
    """Keep the lease, report counts, receive commands above `applied` and cancel requests.

    load: percents in use of CPU and memory, as "42:63"; either may be absent. lifeline: a
    connection of this process, see queuepool.verbs.owner.lifeline. about: its release, and the dead
    jobs and bytes of them that it keeps, as "0.2.0:100000:67108864". limits: what of its jobs
    ended, and what limits let through, see queuepool.verbs.owner.limit_uses.
    """

    def read(reply: Any) -> Renewal:
        r = fenced(reply, str(ownership), ownership.epoch)
        due = None if r[4] < 0 else r[4]
        commands = tuple(read_command(raw_id, flat) for raw_id, flat in r[5])
        cancels, to_end = frozenset(r[6]), r[0] == 3
        return Renewal(r[0] == 2, r[1], bool(r[2]), r[3], due, commands, cancels, to_end)

    args: list[Argument] = [ownership.nonce, ownership.epoch, lease_ms, beat]
    args += [workers, busy, target, applied, load, lifeline, about, limits]
    return Verb("renew", args, read)


def release(ownership: Ownership, *, drain_lease_ms: int) -> Verb[bool]:
    """Give the partition up; returns whether jobs still run and it drains."""
    return owned("release", ownership, [drain_lease_ms], lambda r: bool(r == 2))


def rotate_nonce(ownership: Ownership) -> Verb[int]:
    """Activate the newest nonce: calls under an older one are rejected from then on."""
    stem, _, number = ownership.nonce.partition(".")
    return Verb(
        "rotate_nonce",
        [stem, ownership.epoch, int(number or 0)],
        lambda reply: int(fenced(reply, str(ownership), ownership.epoch)),
    )


def claim(
    ownership: Ownership,
    limit: int,
    *,
    starting: int,
    promote_after_ms: int,
    weights: tuple[int, int, int, int],
    max_bytes: int = CLAIM_BYTES,
    ahead: Iterable[bytes] = (),
    shortest_ms: int | None = None,
) -> Verb[Claims]:
    """Take up to `limit` ready jobs; `starting` of them start at once. Weights of 0: strict.

    max_bytes: of all bodies together; a single one may be larger. ahead: lanes, each the digit of
    the tier and the group, that have their turn after all others of their tier. shortest_ms:
    instead, the lanes with the fewest jobs come first, after those whose last turn is so long ago.
    """
    order = ahead if shortest_ms is None else ("shortest", shortest_ms)
    args: list[Argument] = [limit, starting, promote_after_ms, *weights, max_bytes, *order]
    return owned("claim", ownership, args, lambda r: Claims(*r))


def read_count(raw: bytes | None) -> int | None:
    """Return how many attempts or crashes are stored, 0 for none; None if it is not a number."""
    if raw is None:
        return 0
    return int(raw) if raw.isdigit() and len(raw) <= 9 else None


def finish(ownership: Ownership, acks: Mapping[bytes, Acks]) -> Verb[Finished]:
    """Record successes of jobs in flight, by group."""
    args: list[Argument] = [0]
    for ack in acks.values():
        args += ack.ids
    args[0] = len(args) - 1
    for group, ack in acks.items():
        args += (group, ack.size_bytes, len(ack.ids), len(ack.results))
        for result in ack.results:
            args += result
    return owned("finish", ownership, args, lambda r: Finished(r[0], r[1], 0, tuple(r[3:])))


def finish_stray(
    ownership: Ownership, jobs: Iterable[tuple[bytes, bytes, int, bytes]]
) -> Verb[Finished]:
    """Record successes, (id, stamp, ttl ms, result), wherever the job of that stamp is now."""
    args = [argument for job in jobs for argument in job]
    return owned("finish_stray", ownership, args, lambda r: Finished(*r))


def retry(
    ownership: Ownership,
    jobs: Iterable[tuple[bytes, int, bool | str, bytes]],
    stamps: Iterable[bytes] = _WHICHEVER,
) -> Verb[bytes]:
    """Send (id, delay ms, charged, error) back to delayed; one byte a job: r, c or 0.

    charged: whether it counts as a failed attempt; or the name of the task that no one here knows.
    stamps, here and below: of the bodies that were claimed, one a job. Jobs whose body has another
    one are left alone.
    """
    args: list[Argument] = []
    for (job_id, delay_ms, charged, error), stamp in zip(jobs, stamps, strict=False):
        kind = f":{charged}" if isinstance(charged, str) else int(charged)
        args += (job_id, delay_ms, kind, error, stamp)
    return owned("retry", ownership, args, bytes)


def bury(
    ownership: Ownership,
    jobs: Iterable[tuple[bytes, bytes]],
    stamps: Iterable[bytes] = _WHICHEVER,
    /,
    *,
    keep_jobs: int,
    keep_bytes: int,
    keep_ms: int,
) -> Verb[Buried]:
    """Move (id, error) to dead, within the limits of retention."""
    args: list[Argument] = [keep_jobs, keep_bytes, keep_ms]
    for job, stamp in zip(jobs, stamps, strict=False):
        args += (*job, stamp)
    return owned("bury", ownership, args, lambda r: Buried(*r))


def hand_back(
    ownership: Ownership, ids: Sequence[bytes], stamps: Iterable[bytes] = _WHICHEVER
) -> Verb[int]:
    """Return claimed jobs uncharged to the front of their lanes."""
    return owned("hand_back", ownership, _stamped(ids, stamps), int)


def start(ownership: Ownership, ids: Sequence[bytes]) -> Verb[int]:
    """Record claimed jobs as running."""
    return owned("start", ownership, ids, int)


def progress(ownership: Ownership, texts: Mapping[bytes, bytes]) -> Verb[int]:
    """Store the progress of running jobs."""
    return owned("progress", ownership, [x for pair in texts.items() for x in pair], int)


def chronicle(ownership: Ownership, lines: bytes, keep_bytes: int) -> Verb[int]:
    """Keep lines of the history, and forget the oldest beyond so many bytes."""
    return owned("chronicle", ownership, [keep_bytes, lines], int)


def end_cancelled(
    ownership: Ownership, ids: Sequence[bytes], stamps: Iterable[bytes] = _WHICHEVER
) -> Verb[int]:
    """End running jobs as cancelled."""
    return owned("end_cancelled", ownership, _stamped(ids, stamps), int)


def promote(ownership: Ownership) -> Verb[Promoted]:
    """Move due jobs to their lanes, at most 100."""
    return owned(
        "promote", ownership, (), lambda r: Promoted(r[0], r[1], None if r[2] < 0 else int(r[2]))
    )


def rouse(ownership: Ownership, cursor: bytes, tasks: Iterable[str]) -> Verb[Roused]:
    """Make jobs due that were set aside for these tasks, or for tasks that are held no more.

    Start with b"0"; it has ended when it returns b"0".
    """

    def read(r: Any) -> Roused:
        return Roused(bytes(r[0]), {name: int(n) for name, n in fields(r[1]).items()}, r[2])

    return owned("rouse", ownership, [cursor, *tasks], read)


def recover(ownership: Ownership, *, max_crashes: int, error: bytes) -> Verb[Recovered]:
    """Return up to 200 jobs of dead owners to their lanes; bury those that crashed too often."""
    return owned("recover", ownership, [max_crashes, error], _read_recovered)


def _read_recovered(r: Any) -> Recovered:
    left, recovered, crashed, cancelled, *buried = r
    return Recovered(left, recovered, crashed, cancelled, tuple(map(bytes, buried)))


def vacancy() -> Verb[Vacancy]:
    """Tell whether nobody owns a partition that has work."""

    def read(reply: Any) -> Vacancy:
        work, *epoch = reply
        return Vacancy(int(work), int(epoch[0]) if epoch else None)

    return Verb("vacancy", [], read)


def in_flight(ownership: Ownership) -> Verb[Sequence[bytes]]:
    """List the ids in flight under this ownership."""
    return Verb("in_flight", [ownership.epoch], list)


def _stamped(ids: Sequence[bytes], stamps: Iterable[bytes]) -> list[bytes]:
    return [argument for pair in zip(ids, stamps, strict=False) for argument in pair]
