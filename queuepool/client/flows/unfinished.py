"""What an error that ends a call tells of the batch that the call leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queuepool.client.after import After

MAY_BE_THERE = "may be there, without its jobs"
LACKS_JOBS = "has not all its jobs"
NOT_SEALED = "may not be known to have all its jobs"


@contextmanager
def unfinished(name: str, after: After | None, state: str = LACKS_JOBS) -> Iterator[None]:
    """Add to an error which batch it leaves behind in this state, and what to do.

    after: None if there is nothing to do, as the job that adds to the batch repeats the call.
    """
    try:
        yield
    except BaseException as error:
        if after is not None:
            remedy = (
                f"pool.batch({name!r}).cancel()"
                if after.batch_id is None
                else f"repeat the whole call with batch_id={after.batch_id!r}, or cancel it"
            )
            error.add_note(f"batch {name} {state}, so it waits for its deadline: {remedy}")
        raise
