"""How one frozen task group goes from A to B: export, adopt, forget, until A has nothing of it.

A batch goes whole, page by page, and A deletes it when B has all of it (M2). Frozen in both places,
it is the same in both, so a page may be written again, also back.

    A export   the jobs that come first, up to 100; none is left: only the record
    B adopt    they are frozen at B; those that it has from an earlier attempt it knows
    A forget   deletes what B has; the last call deletes the group, once its totals are at B

If jobs are left that export does not find, A drops cancelled ones in front of them, and it goes on.

From the second page on, A forgets what B has and exports what comes next in one round trip. The
first time, A's server may not know the script yet, and would run it after the other one: that page
would come again, and B would know it.

Pure: yields calls and receives what they mean. It keeps nothing between two calls, so whoever stops
anywhere, or repeats any call, begins again from the top. Invariants:

    M1  A job is claimable nowhere: its group is frozen in both places
    M2  A body is deleted at A only after B has said that it holds it; until then nothing else ends
        or changes the job, at A or at B
    M3  left, dead and how others ended: each counts in one place, in both only between two calls
    M4  B gets jobs in the order in which A would have started them
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import Any, NamedTuple

from queuepool.verbs import Verb
from queuepool.verbs.moves import batches as carry
from queuepool.verbs.moves import verbs as move


class Side(StrEnum):
    """Where a call is to be made."""

    A = "from"
    B = "to"


class Call(NamedTuple):
    """A call to make. awaited: whether the next one depends on what it returns.

    If not, the next one goes to the same side, and may be sent along with it.
    """

    side: Side
    verb: Verb[Any]
    awaited: bool = True


@dataclass(frozen=True, slots=True)
class Copied:
    """What A still has of a group: the jobs that are left, because they run, and dead ones.

    kept: of these, ids that another job has at B.
    """

    left: int = 0
    dead: int = 0
    kept: tuple[bytes, ...] = ()

    @property
    def done(self) -> bool:
        """Return whether A has nothing of the group."""
        return not self.left and not self.dead


Told = Callable[[move.Exported], move.Exported]


def _all(jobs: move.Exported) -> move.Exported:
    return jobs


def copying(
    version: int, group: bytes, dead: Sequence[bytes], told: Told = _all
) -> Generator[Call, Any, Copied]:
    """Yield calls, receive their results, and return what is still at A.

    dead: ids of the group's dead jobs. told: what of A's record B is told.
    """
    kept: list[bytes] = []
    pages = [dead[i : i + move.MAX_JOBS] for i in range(0, len(dead), move.MAX_JOBS)]
    for page in pages:
        rest = list(page)
        while rest:
            jobs = yield Call(Side.A, move.export(version, group, rest))
            kept += yield from _hand_over(version, group, told(jobs))
            rest = rest[max(1, len(jobs.stamps)) :]
    for page_number in count():
        jobs = yield Call(Side.A, move.export(version, group))
        clashes = yield from _hand_over(version, group, told(jobs), awaited=page_number == 0)
        if jobs.words and not clashes:
            continue
        left, died = yield Call(Side.A, move.forget(version, group, ()))
        # Behind too many cancelled jobs, `export` finds none.
        if clashes or not left or not (yield from _dropped(version, group)):
            break
    if left or died:
        return Copied(left, died, (*kept, *clashes))
    if jobs.record:
        yield Call(Side.B, move.adopt(version, group, told(jobs), last=True))
    yield Call(Side.A, move.forget(version, group, (), last=True))
    return Copied()


def _dropped(version: int, group: bytes) -> Generator[Call, Any, int]:
    """Drop all cancelled jobs in front at A, and return how many there were."""
    dropped = 0
    while more := (yield Call(Side.A, move.drop_marks(version, group))):
        dropped += more
    return dropped


def _hand_over(
    version: int, group: bytes, jobs: move.Exported, *, awaited: bool = True
) -> Generator[Call, Any, list[bytes]]:
    if not jobs.words:
        return []
    stamps = jobs.stamps
    adopted = yield Call(Side.B, move.adopt(version, group, jobs))
    there = [stamps[i] for i in adopted.here]
    yield Call(Side.A, move.forget(version, group, there), awaited)
    return [stamps[i][0] for i in adopted.clashes]


def copying_back(version: int, group: bytes, dead: Sequence[bytes]) -> Generator[Call, Any, Copied]:
    """Copy a group back to where it came from, after a move that was aborted.

    If its totals had come to A, those that B still has are the same ones, and are dropped.
    """
    jobs = yield Call(Side.A, move.export(version, group))
    if jobs.record.get(b"arrived"):
        yield Call(Side.B, move.forget_twin(version, group))
    return (yield from copying(version, group, dead))


def copying_astray(
    version: int, group: bytes, dead: Sequence[bytes]
) -> Generator[Call, Any, Copied]:
    """Copy what A has of a group that is at B already, whose settings B knows better."""
    return copying(version, group, dead, move.Exported.without_settings)


def copying_batch(version: int, name: str) -> Generator[Call, Any, Copied]:
    """Yield calls, and receive their results, until A has nothing of a batch."""
    cursor, more = b"", True
    while more:
        page = yield Call(Side.A, carry.export_batch(version, name, cursor))
        if page.is_there:
            yield Call(Side.B, carry.adopt_batch(version, name, page))
        cursor, more = page.following, bool(page.following)
    while not (yield Call(Side.A, carry.drop_batch(version, name))):
        pass
    return Copied()
