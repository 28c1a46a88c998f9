"""Names of batches, and ids of the jobs in them. Pure.

    gDkPq0Zs_1xBQw            a batch: an id as that of a job, with the slot of its continuation
    gDkPq0Zs_1xBQw-video      ... whose continuation runs in another pool than the default one
    xYgDkPq0Zs_1xBQw~17       job 17 of that batch: the slot of its own key, the batch, its number

So the id of a job tells which batch hears of its end, and where that is: nothing else is stored
for it. No other id has a ~, since applications cannot choose one. A batch has the id of its
continuation unless that is itself a job of a batch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol.ids import ending_from, hinted_slot

MARK = ord("~")  # a byte: `MARK in id` is four times as fast as with text
MAX_JOBS = 2**24  # of one batch: their bits take 2 MiB
_NAME = r"[A-Za-z0-9_.]{14}(?:-[a-z][a-z0-9_-]{0,31})?"
_BATCH = re.compile(_NAME)
_CHILD = re.compile(rf"([A-Za-z0-9_.]{{2}})({_NAME})~(0|[1-9][0-9]{{0,7}})")


@dataclass(frozen=True, slots=True)
class Membership:
    """A job of a batch: the batch, and the number of the job in it."""

    batch: str
    number: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Which jobs of a batch have ended: a bit for each, from a number on that is divisible by 8.

    of_all: instead, all of them have.
    """

    bits: bytes = b""
    first: int = 0
    of_all: bool = False

    def __bool__(self) -> bool:
        """Return whether any may have ended."""
        return self.of_all or bool(self.bits)

    def __contains__(self, number: int) -> bool:
        """Return whether the job of this number has ended."""
        byte, bit = divmod(number - self.first, 8)
        known = self.bits[byte] if 0 <= byte < len(self.bits) else 0
        return self.of_all or bool(known & 128 >> bit)


def batch_name(hint: bytes, ending: bytes, pool: str = DEFAULT_POOL) -> str:
    """Return the name of a batch whose continuation has a slot with this hint."""
    name = (hint + ending).decode()
    return name if pool == DEFAULT_POOL else f"{name}-{pool}"


def ending_of_text(text: str) -> bytes:
    """Return the end of a name that the same text always has."""
    return ending_from(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).digest())


def child_ending(batch: str, number: int) -> bytes:
    """Return what follows the hint of its own slot in the id of a job of a batch."""
    return b"%s~%d" % (batch.encode(), number)


def membership_of(job_id: str) -> Membership | None:
    """Return which job of which batch an id names, None for any other id."""
    found = _CHILD.fullmatch(job_id)
    return Membership(found[2], int(found[3])) if found else None


def number_of(job_id: bytes) -> int:
    """Return the number of a job of a batch, by its id."""
    return int(job_id[job_id.rindex(MARK) + 1 :])


def is_batch(name: str) -> bool:
    """Return whether this may be the name of a batch."""
    return _BATCH.fullmatch(name) is not None


def home_of_batch(name: str) -> tuple[int, str]:
    """Return the slot of a batch, and its pool."""
    slot = hinted_slot(name[:14])
    return slot or 0, name[15:] or DEFAULT_POOL
