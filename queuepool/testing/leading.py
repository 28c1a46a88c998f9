"""What coordinators share: the lead, counts set manually, the scaling record, decisions, the route.

And what they send to owners: command, checkpoint.
"""

from __future__ import annotations

from typing import Any

from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.records import StoredCommand, StoredPolicy, SystemData, command_order

_LONGEST = 16_384


def lead(s: SystemData, args: Args) -> Any:
    """Become the leader, stay leader, or learn who leads."""
    nonce, lease_ms, address = args[0], int(args[1]), args[2]
    known, led = s.leader, who_leads(s, args)
    mine = known.get("nonce") == nonce
    if not nonce or (not mine and known.get("nonce") and led[3] > 0):
        return led
    epoch = known["epoch"] if mine else max(known.get("epoch", 0) + 1, s.now)
    s.leader = {
        "nonce": nonce,
        "epoch": epoch,
        "expires": s.now + lease_ms,
        "address": address,
    }
    return [1, b"%d" % epoch, s.now, lease_ms, address, led[5]]


def who_leads(s: SystemData, _args: Args) -> Any:
    """Tell who leads, and what is set manually."""
    known = s.leader
    left = known.get("expires", 0) - s.now
    address = known.get("address", b"") if left > 0 else b""
    byhand = [x for p, (n, ms) in s.manual.items() for x in (p, b"%s:%d" % (n, ms))]
    return [0, b"%d" % known.get("epoch", 0), s.now, max(0, left), address, byhand]


def resign(s: SystemData, args: Args) -> Any:
    """Give up leadership at once."""
    if s.leader.get("nonce") != args[0]:
        return 0
    s.leader |= {"nonce": b"", "expires": 0}
    return 1


def manual(s: SystemData, args: Args) -> Any:
    """Set workers of a partition manually for a limited time, or clear it."""
    s.manual = {p: (n, ms) for p, (n, ms) in s.manual.items() if ms > s.now}
    if args[1] == b"":
        s.manual.pop(args[0], None)
        return 0
    until = s.now + int(args[2])
    s.manual[args[0]] = (args[1], until)
    return until


def read_policy(s: SystemData, args: Args) -> Any:
    """Read the scaling record."""
    known = s.policy
    if known is None:
        return [0, b"", b"", b"", 0]
    if (known.version, known.nonce) == (int(args[0]), args[1]):
        return [known.version, known.nonce, 0, b"", 0]
    return [known.version, known.nonce, known.text, known.by, known.at]


def set_policy(s: SystemData, args: Args) -> Any:
    """Replace the scaling record, unless someone changed it since it was read."""
    version, nonce, text, by = int(args[0]), args[1], args[2], args[3]
    there = s.policy.version if s.policy is not None else 0
    if s.policy is not None and s.policy.nonce == nonce:
        return [1, there]
    if there != version:
        return [0, there]
    s.policy = StoredPolicy(max(version + 1, s.now), nonce, text, by, s.now)
    return [1, s.policy.version]


def record(s: SystemData, args: Args) -> Any:
    """Store decisions of the leader."""
    if int(args[0]) != s.leader.get("epoch"):
        return 0
    for partition, text in zip(args[2::2], args[3::2], strict=True):
        kept = s.decisions.setdefault(partition, [])
        last_ms, last_sequence = kept[-1][0] if kept else (0, 0)
        newest = (s.now, 0) if s.now > last_ms else (last_ms, last_sequence + 1)
        kept.append((newest, text))
        del kept[: -int(args[1])]
    return (len(args) - 2) // 2


def decisions(s: SystemData, args: Args) -> Any:
    """Read decisions, the latest first."""
    newest, count = args[0], int(args[1])
    kept = s.decisions.get(args[2], [])
    listed = reversed(kept)
    if newest != b"+":
        bound = command_order(newest.removeprefix(b"("))
        exclusive = newest.startswith(b"(")
        listed = reversed([d for d in kept if d[0] < bound or (d[0] == bound and not exclusive)])
    texts = [(order, text if len(text) <= _LONGEST else b"") for order, text in listed]
    return [[b"%d-%d" % order, text] for order, text in texts][:count]


def route(s: SystemData, args: Args) -> Any:
    """Create the route record if there is none; return it."""
    if args and not s.route:
        s.route = dict(zip(args[::2], args[1::2], strict=True)) | {b"created": b"%d" % s.now}
    return [x for pair in s.route.items() for x in pair]


def change_route(s: SystemData, args: Args) -> Any:
    """Change the route record, unless someone did since it was read."""
    version = int(s.route.get(b"version", 0))
    if s.route.get(b"nonce") == args[1]:
        return [1, version]
    if not version or version != int(args[0]):
        return [0, version]
    s.route |= dict(zip(args[2::2], args[3::2], strict=True))
    s.route |= {b"version": b"%d" % (version + 1), b"nonce": args[1]}
    return [1, version + 1]


def command(p: PartitionData, args: Args) -> Any:
    """Append one command for the owner, and remember it as the checkpoint."""
    epoch, sequence, kind, target, reason, expires_ms, number = args
    wanted = (int(epoch), int(sequence))
    if p.commands and p.commands[-1].order >= wanted:
        return [0, p.commands[-1].id]
    until = b"%d" % (p.now + int(expires_ms))
    fields = [b"type", kind, b"partition", number, b"targetWorkers", target]
    fields += [b"reason", reason, b"expires", until]
    p.commands.append(StoredCommand(b"%d-%d" % wanted, fields))
    if kind != b"NOOP":
        p.checkpoint = {"target": int(target), "at": p.now, "leader": wanted[0]}
        p.wake(b"c")
    return [1, p.commands[-1].id]


def checkpoint(p: PartitionData, args: Args) -> Any:
    """Record a worker count, unless a newer leader did before."""
    if p.checkpoint.get("leader", 0) > int(args[0]):
        return 0
    p.checkpoint = {"target": int(args[1]), "at": p.now, "leader": int(args[0])}
    return 1
