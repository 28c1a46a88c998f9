"""Ends a call that added jobs to a batch. As steps for both pools.

    opened by the call    it is sealed; one that concluded before, by its deadline, takes no seal
    of a running job      it was sealed before
    cancelled meanwhile   what was added to it since is cancelled, too

A seal whose answer is lost is sent again, by when the batch may have concluded in its usual way: it
is sealed then.
"""

from __future__ import annotations

from typing import Any

from queuepool.client.after import After
from queuepool.client.batching import is_cancelled, seal, was_enqueued
from queuepool.client.effects import Steps
from queuepool.client.flows.cancelling import cancel_late
from queuepool.client.flows.unfinished import use_longer
from queuepool.client.results import EnqueueResults
from queuepool.errors import InvalidInputError
from queuepool.models.flows import BatchState
from queuepool.settings.config import PoolConfig


def complete(
    config: PoolConfig,
    name: str,
    results: EnqueueResults[Any],
    after: After | None,
    mine: After | None,
) -> Steps[None]:
    """Note that a call has added all its jobs. after: the continuation, if it opened the batch.

    mine: the same, unless a running job repeats the call. Raises InvalidInputError if the batch was
    over before.
    """
    if after is None:
        cancelled = yield from is_cancelled(config, name)
    else:
        state = yield from seal(config, name, results.jobs, mine)
        cancelled = state is BatchState.CANCELLED
        if not (cancelled or state is BatchState.OPEN or (yield from was_enqueued(config, name))):
            raise _too_late(name, state, results, after)
    if cancelled:
        yield from cancel_late(config, name, results.accepted + results.duplicates)


def _too_late(
    name: str, state: BatchState, results: EnqueueResults[Any], after: After
) -> InvalidInputError:
    error = InvalidInputError(
        f"batch {name} is {state}: it concluded while jobs were being added to it, as its deadline "
        f"passed. {results.accepted + results.duplicates:,} were enqueued, see `results` of this "
        f"exception, but its continuation waits for none of them; {use_longer(after)}"
    )
    error.results = results  # type: ignore[attr-defined]
    return error
