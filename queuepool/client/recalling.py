"""Ids that ended where their slot was lately: asked for before they are sent to where it is.

    chunk of a slot that moved lately
      |-- ids that the library made, never sent without an answer: they are new
      +-- others --ask each former place--> ended there, or still in: a duplicate
                                         +> unknown: sent

See queuepool.routing.former for why that is exact. It costs nothing unless slots moved lately.
"""

from __future__ import annotations

from queuepool.client.chunks import Chunk
from queuepool.client.effects import Steps
from queuepool.client.questions import ask_each
from queuepool.client.rerouting import slots_of
from queuepool.errors import ConfigurationError
from queuepool.errors.escaping import id_text
from queuepool.models import JobState
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import verbs as produce


def is_doubtful(chunk: Chunk, view: View) -> bool:
    """Return whether ids of a chunk that is about to be sent may need not be sent."""
    if chunk.ended:
        return True
    if not view.former or chunk.asked >= view.version:
        return False
    return bool(chunk.chosen) or chunk.unanswered_since_s is not None


def recalled(chunk: Chunk, config: PoolConfig, view: View) -> Steps[frozenset[bytes]]:
    """Return the ids that need not be sent: former places know them, or they have ended."""
    if not view.former:
        return chunk.ended
    may_be_in = set(chunk.ids) if chunk.unanswered_since_s is not None else chunk.chosen
    slots = {job_id: slot for job_id, slot in slots_of(chunk) if job_id in may_be_in}
    calls = [
        (place, produce.status(id_text(job_id), place, produce.ANY_VERSION))
        for job_id, slot in slots.items()
        for place in view.former.places_of(slot)
    ]
    try:
        found = yield from ask_each(config.of(chunk.pool), calls)
    except ConfigurationError:
        if config.topology.view is view:
            raise
        return chunk.ended  # another thread knows a newer route, by which the chunk is sent again
    chunk.asked = view.version
    # One that is there still tells its slot, and may be another job of that partition.
    known = {(s.job_id, s.slot) for s in found if s.state is not JobState.UNKNOWN}
    return chunk.ended | frozenset(
        job_id
        for job_id, slot in slots.items()
        if not known.isdisjoint({(id_text(job_id), None), (id_text(job_id), slot)})
    )
