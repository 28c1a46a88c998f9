"""Whether a batch was cancelled while jobs are still added to it. As steps for both pools."""

from __future__ import annotations

from collections.abc import Callable

from queuepool.client.effects import Call, Steps
from queuepool.errors import MovedError, UnavailableError
from queuepool.models.flows import BatchState
from queuepool.protocol.batches import home_of_batch
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow

_EVERY = 5  # chunks for one look: a look takes a round trip, as a chunk of 200 jobs does


def noticing(config: PoolConfig, name: str) -> Callable[[int], Steps[bool]]:
    """Return steps to be run after so many chunks more: whether a batch is known to be cancelled.

    A home that does not answer, or that has moved, is not asked again by them: whoever adds jobs
    looks once more after the last one, and that waits for an answer.
    """
    slot, pool = home_of_batch(name)
    looks_at, sent, answers = 1, 0, True

    def is_cancelled(chunks: int) -> Steps[bool]:
        nonlocal looks_at, sent, answers
        sent += chunks
        if not answers or sent < looks_at:
            return False
        looks_at = sent - (sent - 1) % _EVERY + _EVERY
        view = config.topology.view
        verb = flow.by_route(flow.batch(name), view.version_for(slot))
        replies = yield Call(view.place_of_slot(slot), [verb], pool=pool)
        try:
            if isinstance(replies, UnavailableError):
                raise replies
            return verb.read(replies[0]).state is BatchState.CANCELLED
        except (MovedError, UnavailableError):
            answers = False
            return False

    return is_cancelled
