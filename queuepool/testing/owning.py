"""acquire, renew, release, rotate_nonce, promote, recover, in_flight, vacancy: of owners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import FIRST, STARTED, PartitionData, lane_of
from queuepool.testing.ending import add_dead
from queuepool.testing.fencing import fence, fence_or_drain
from queuepool.testing.groups import TIERS
from queuepool.testing.keyspace import Args
from queuepool.testing.records import OwnerRecord, command_order

_BATCH, _PROMOTED = 200, 100
_TRIALS = 3  # crashes beyond the last that a job survives if others started after it


def acquire(p: PartitionData, args: Args) -> Any:
    """Become the owner, unless another's lease still runs."""
    nonce, lease_ms, host = args[0], int(args[1]), args[2]
    old = p.owner
    held = old is not None and old.nonce not in (b"", nonce)
    if held and old is not None and _stays(p, old, args):
        line = b"%d:%s" % (old.epoch, old.line) if old.line else b""
        return [0, max(0, old.expires - p.now), b"%d" % old.epoch, old.heartbeat, line, old.host]
    if old is not None and old.nonce and p.book(old.epoch):
        p.to_recover.append(old.epoch)
    epoch = max(old.epoch + 1 if old else 1, p.now)
    applied, past = (old.applied, old.past) if old else (None, None)
    p.owner = OwnerRecord(
        nonce,
        epoch,
        p.now + lease_ms,
        p.now,
        host,
        p.now,
        applied=applied,
        past=past,
        protocol=_protocol(p, old, args),
    )
    target, at = (b"%d" % p.checkpoint[k] if p.checkpoint else b"" for k in ("target", "at"))
    return [1, epoch, p.now, len(p.to_recover), target, at, applied or b"0-0"]


def _protocol(p: PartitionData, old: OwnerRecord | None, args: Args) -> tuple[int, int]:
    # Its own, which older releases do not tell, and the least of those that drain, too.
    own = int(args[6]) if len(args) > 6 else 0
    last, before = old.protocol if old is not None else (0, 0)
    drains = old is not None and old.epoch in p.draining
    least = [own, *[last] * drains, *[before] * (len(p.draining) > drains)]
    return own, min(least)


def _stays(p: PartitionData, owner: OwnerRecord, args: Args) -> bool:
    gone = args[3] == b"2" and args[4:6] == [b"%d" % owner.epoch, b"%d" % owner.heartbeat]
    return args[3] == b"0" or (owner.expires > p.now and not gone)


@fence_or_drain
def renew(p: PartitionData, args: Args) -> Any:
    """Keep the lease, report, and receive news."""
    nonce, epoch, lease_ms, beat = args[0], int(args[1]), int(args[2]), int(args[3])
    owner = p.owner
    if owner is None or (owner.nonce, owner.epoch) != (nonce, epoch):
        p.draining[epoch] = (nonce, p.now + lease_ms)
        return [2, p.now, 0, 0, -1, [], _asked(p, epoch)]
    forgot = int(owner.beat < beat - 1)
    owner.expires, owner.heartbeat, owner.beat = p.now + lease_ms, p.now, beat
    owner.workers, owner.busy, owner.target = (int(x) for x in args[4:7])
    owner.applied, owner.line = args[7], args[9]
    owner.load = b"%d:%s" % (epoch, args[8])
    owner.about = b"%d:%s" % (epoch, args[10])
    limits = args[11] if len(args) > 11 else b""  # older releases tell nothing of them
    owner.limits = b"%d:%s" % (epoch, limits) if limits else b""
    for old, (_nonce, expires) in list(p.draining.items()):
        if expires < p.now:
            del p.draining[old]
            if p.book(old):
                p.to_recover.append(old)
    if any(p.ended.sets):
        p.ended.turn(p.now)
    newer = [c for c in p.commands if c.order > command_order(args[7])][:100]
    commands = [[c.id, c.fields] for c in newer]
    due = _until_due(p)
    role = 3 if owner.drain == epoch else 1
    return [role, p.now, forgot, len(p.to_recover), due, commands, _asked(p, epoch)]


def _asked(p: PartitionData, epoch: int) -> list[bytes]:
    # Only what this owner runs: no other process can stop it.
    return [job_id for _, job_id in p.book(epoch).entries() if job_id in p.cancels]


def rotate_nonce(p: PartitionData, args: Args) -> Any:
    """Change the nonce of an ownership, so that earlier calls are rejected from now on."""
    stem, epoch, number = args[0], int(args[1]), int(args[2])

    def older(nonce: bytes) -> bool:
        known, _, its_number = nonce.partition(b".")
        return known == stem and int(its_number or 0) <= number

    new = b"%s.%d" % (stem, number)
    owner = p.owner
    if owner is not None and owner.epoch == epoch and older(owner.nonce):
        owner.nonce = new
        return 1
    leaving = p.draining.get(epoch)
    if leaving is not None and older(leaving[0]):
        p.draining[epoch] = (new, leaving[1])
        return 1
    p.count("fenced", 1)
    return [b"FENCED", b"%d" % owner.epoch if owner else b"0"]


def release(p: PartitionData, args: Args) -> Any:
    """Give the partition up: leave, or drain under a lease."""
    nonce, epoch, lease_ms = args[0], int(args[1]), int(args[2])
    refused = p.refuse(args, draining_may=True, count=False)
    if refused:
        return refused
    owner = p.owner
    if owner is not None and (owner.nonce, owner.epoch) == (nonce, epoch):
        owner.nonce, owner.expires = b"", 0
        owner.workers = owner.busy = owner.target = 0
    booked = bool(p.book(epoch))
    if booked and lease_ms > 0:
        p.draining[epoch] = (nonce, p.now + lease_ms)
        return 2
    p.draining.pop(epoch, None)
    if booked:
        p.to_recover.append(epoch)
    return 1


@fence
def promote(p: PartitionData, _args: Args) -> Any:
    """Move due jobs to the back of their lanes, at most 100; those of the first tiers first."""
    promoted = cancelled = 0
    for job_id in _due(p):
        p.delayed.remove(job_id)
        p.unaside(job_id)
        body = p.jobs.get(job_id)
        if body is None:
            continue
        p.group_of(body).delayed -= 1
        if p.is_cancelled(job_id, body):
            cancelled += 1
            p.end_cancelled(job_id, body)
        else:
            promoted += 1
            first = p.group_of(body).next_id == job_id  # the retry of a serial group
            p.place(job_id, lane_of(body), front=first)
            p.tune(codec.read_group(body))
    if promoted:
        p.wake(b"w")
    passed = sum(_is_copied(p, job_id) for _, job_id in p.delayed.up_to(p.now))
    return [promoted, cancelled, _until_due(p, passed)]


def _is_copied(p: PartitionData, job_id: bytes) -> bool:
    # Others pass it while it is being copied to another partition.
    return p.is_closed(p.jobs.get(job_id, b""))


def _due(p: PartitionData) -> list[bytes]:
    ids = [job_id for _, job_id in p.delayed.up_to(p.now) if not _is_copied(p, job_id)][:_PROMOTED]
    critical = p.urgent.up_to(p.now - FIRST)
    high = [entry for entry in p.urgent.up_to(p.now) if entry[0] >= 0]
    urgent = [i for _, i in (*critical, *high) if not _is_copied(p, i)][:_PROMOTED]
    for job_id in urgent:
        p.urgent.remove(job_id)
    if len(ids) < _PROMOTED:
        return ids
    first = [i for i in urgent if (due := p.delayed.score(i)) is not None and due <= p.now]
    return list(dict.fromkeys([*first, *ids]))[:_PROMOTED]


def _until_due(p: PartitionData, passed: int = 0) -> int:
    following = p.delayed.entries(passed, passed + 1)
    return max(0, ceil(following[0][0] - p.now)) if following else -1


@fence
def recover(p: PartitionData, args: Args) -> Any:
    """Return up to 200 jobs of a dead owner to the front of their lanes."""
    if not p.to_recover:
        return [0, 0, 0, 0]
    max_crashes, error, epoch = int(args[2]), args[3], p.to_recover[0]
    book = p.book(epoch)
    # From the last to the first, each to the front: the claimed ones, then the started ones.
    entries = book.below(STARTED) or book.entries()
    latest = None  # of those that started: the last crash is charged to it alone
    if entries and entries[-1][0] >= STARTED and p.owner is not None and p.owner.past != epoch:
        latest = entries[-1][1]
        if len(entries) > _BATCH:
            p.owner.past = epoch
    became: dict[str, list[bytes]] = defaultdict(list)
    for score, job_id in reversed(entries[-_BATCH:]):
        limit = max_crashes if job_id == latest or max_crashes < 2 else max_crashes + _TRIALS
        p.unbook(epoch, job_id)
        p.progress.pop(job_id, None)
        for end in _recover_one(p, job_id, score >= STARTED, limit, error):
            became[end].append(job_id)
    p.count("recovered", len(became["recovered"]))
    if became["recovered"]:
        p.wake(b"w")
    if not p.book(epoch):
        p.to_recover.popleft()
    counts = (len(became[end]) for end in ("recovered", "crashed", "cancelled"))
    return [len(p.to_recover), *counts, *became["buried"]]


def _recover_one(
    p: PartitionData, job_id: bytes, started: bool, limit: int, error: bytes
) -> Iterator[str]:
    # Yields the outcome; limit: crashes that bury it.
    body = p.jobs.get(job_id)
    if body is None:
        return
    if p.is_cancelled(job_id, body):
        p.end_cancelled(job_id, body)
        yield "cancelled"
        return
    if started:
        p.crashes[job_id] = p.crashes.get(job_id, 0) + 1
        yield "crashed"
    if started and p.crashes[job_id] >= limit:
        add_dead(p, job_id, body, error)
        yield "buried"
    else:
        p.crashes.setdefault(job_id, 0)  # it may have started without a record
        p.place(job_id, lane_of(body), front=True, next_turn=True)
        p.tune(codec.read_group(body))
        yield "recovered"


def vacancy(p: PartitionData, _args: Args) -> Any:
    """Tell whether the partition has work, and no owner that does it."""
    owner = p.owner
    if owner is None or not owner.nonce:
        return [_vacant_work(p)]
    return [_vacant_work(p), b"%d" % owner.epoch]


def _vacant_work(p: PartitionData) -> int:
    owner = p.owner
    if owner is not None and owner.nonce and owner.expires > p.now:
        return 0
    if p.to_recover or (owner is not None and p.book(owner.epoch)):
        return 2
    if p.untold or min(p.batches_due.values(), default=p.now + 1) <= p.now:
        return 2
    if p.counters.get("hold"):
        return 0
    if any(p.counters.get(f"r{tier}", 0) > 0 for tier in TIERS) or _until_due(p) == 0:
        return 2
    if any(not begins for _since, begins in p.tasks.values()):
        return 2
    return int(p.counters.get("parked", 0) > 0)


def in_flight(p: PartitionData, args: Args) -> Any:
    """List the jobs in flight in one epoch."""
    entries = p.book(int(args[0])).entries()
    waiting = p.book(int(args[0])).below(STARTED)
    return [job_id for _score, job_id in (*entries[len(waiting) :], *waiting)][:10_000]
