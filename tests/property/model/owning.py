"""What the verbs of ownership and of the leading coordinator promise, on the model."""

from __future__ import annotations

from tests.property.model.records import Owner
from tests.property.model.state import State


def acquire(s: State, nonce: str, epoch: int, lease_s: float) -> bool:
    """Make a caller the owner under this epoch, unless another one's lease runs."""
    old = s.owner
    if old and old.nonce and old.nonce != nonce and old.until_s > s.now_s:
        return False
    if old and old.nonce and old.epoch in s.books:
        s.to_recover.append(old.epoch)
    s.owner = Owner(nonce, epoch, s.now_s + lease_s, 0, old.applied if old else "0-0")
    return True


def renew(s: State, nonce: str, epoch: int, *, lease_s: float, beat: int, applied: str) -> bool:
    """Keep a lease; returns whether the server forgot a beat, which tells of a failover."""
    if not s.owns(nonce, epoch) or s.owner is None:
        s.draining[epoch] = (nonce, s.now_s + lease_s)
        return False
    if any(s.ends.sets):
        s.ends.turn(s.now_s)
    forgot = s.owner.beat < beat - 1
    s.owner = Owner(nonce, epoch, s.now_s + lease_s, beat, applied)
    for old, (_, until_s) in list(s.draining.items()):
        if until_s <= s.now_s:
            del s.draining[old]
            if old in s.books:
                s.to_recover.append(old)
    return forgot


def rotate_nonce(s: State, stem: str, epoch: int, number: int) -> bool:
    """Put a life's numbered nonce in force; returns False when the life is over, or ahead."""

    def older(nonce: str) -> bool:
        known, _, its_number = nonce.partition(".")
        return known == stem and int(its_number or 0) <= number

    new = f"{stem}.{number}"
    if s.owner and s.owner.epoch == epoch and older(s.owner.nonce):
        s.owner.nonce = new
    elif epoch in s.draining and older(s.draining[epoch][0]):
        s.draining[epoch] = (new, s.draining[epoch][1])
    else:
        s.counters["fenced"] += 1
        return False
    return True


def release(s: State, nonce: str, epoch: int, lease_s: float) -> bool:
    """Give the partition up; returns whether jobs still run and this life is draining."""
    if s.owns(nonce, epoch) and s.owner is not None:
        s.owner = Owner("", epoch, s.now_s, s.owner.beat, s.owner.applied)
    if epoch in s.books and lease_s:
        s.draining[epoch] = (nonce, s.now_s + lease_s)
        return True
    s.draining.pop(epoch, None)
    if epoch in s.books:
        s.to_recover.append(epoch)
    return False


def command(s: State, epoch: int, sequence: int, *, target: int, noop: bool) -> tuple[bool, str]:
    """Append a command unless it is not the newest; returns (accepted, its id or the newest)."""
    if s.commands and s.commands[-1] >= (epoch, sequence):
        return False, "{}-{}".format(*s.commands[-1])
    s.commands.append((epoch, sequence))
    if not noop:
        s.checkpoint = (target, epoch)
    return True, f"{epoch}-{sequence}"


def checkpoint(s: State, epoch: int, target: int) -> bool:
    """Note a target unless a newer leader noted one."""
    if s.checkpoint and s.checkpoint[1] > epoch:
        return False
    s.checkpoint = (target, epoch)
    return True
