"""What an error that ends a call tells of the batch that the call leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from queuepool.client.after import After

MAY_BE_THERE = "may be there, without its jobs"
LACKS_JOBS = "has not all its jobs"
NOT_SEALED = "may not be known to have all its jobs"


@dataclass(slots=True)
class Left:
    """Whether a batch is left behind."""

    behind: bool = True


def use_longer(after: After) -> str:
    """Return what to do about a deadline that passed too early."""
    return "use a longer deadline_s" + ("" if after.batch_id is None else ", and another batch_id")


@contextmanager
def unfinished(name: str, after: After | None, state: str = LACKS_JOBS) -> Iterator[Left]:
    """Add to an error which batch it leaves behind in this state, and what to do.

    after: None if there is nothing to do, as the job that adds to the batch repeats the call. Let
    what it yields say that the batch is not left behind, if it was cancelled.
    """
    left = Left()
    try:
        yield left
    except BaseException as error:
        if after is not None and left.behind:
            remedy = (
                f"pool.batch({name!r}).cancel()"
                if after.batch_id is None
                else f"repeat the whole call with batch_id={after.batch_id!r}, or cancel it"
            )
            error.add_note(f"batch {name} {state}, so it waits for its deadline: {remedy}")
        raise
