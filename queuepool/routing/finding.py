"""Where a job is when only its id is known. Pure.

hinted_slot(id) --ask its partition--> has it, of that slot: found
    | no slot, or not there              (a user's own id may look like a hint)
    +--ask all partitions--> in one: found; in none: unknown; in several: name the key
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import id_bytes, id_text, shown
from queuepool.models import JobId, JobState, JobStatus
from queuepool.models.places import partition_at

T = TypeVar("T")

ASKED_AT_ONCE = 200  # partitions in one round trip
_LONGEST = 64  # characters of an id that a user may choose


def known_id(job_id: object) -> JobId:
    r"""Return an id to look up: a valid one, or a damaged one as displayed, with \xHH.

    Raises InvalidInputError.
    """
    if isinstance(job_id, str):
        text, is_damaged = id_text(id_bytes(job_id)), "\\x" in job_id
        if is_damaged or (text == job_id and 1 <= len(text) <= _LONGEST):
            return JobId(text)
    raise InvalidInputError(
        f"job_id={shown(job_id)}: use 1 to {_LONGEST} of A-Z a-z 0-9 _ . : - (write a damaged "
        "id as `queuepool dead list` shows it)"
    )


def parts(numbers: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield these in batches of at most `size`."""
    return (numbers[i : i + size] for i in range(0, len(numbers), size))


def is_found(status: JobStatus, slot: int) -> bool:
    """Return whether the partition of a hinted slot has the job.

    Only the id of an ended job is left: then the hint is trusted.
    """
    return status.state is not JobState.UNKNOWN and status.slot in (slot, None)


def the_only_one(statuses: Iterable[JobStatus]) -> JobStatus:
    """Return what is known about a job, given the replies of all partitions.

    Raises InvalidInputError if several have this id: ids are unique only within a partition.
    """
    answers = list(statuses)
    found = [status for status in answers if status.state is not JobState.UNKNOWN]
    if len(found) > 1:
        places = ", ".join(str(partition_at(status.partition)) for status in found[:8])
        raise InvalidInputError(
            f"several jobs have the id {found[0].job_id} in {len(found)} partitions ({places}), "
            "since an id is unique only within a partition: specify the partition key "
            "(partition_key=..., --key)"
        )
    return found[0] if found else answers[0]
