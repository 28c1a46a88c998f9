"""From outcomes to the verbs that record them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from consumer.jobs import End, Outcome
from consumer.settings import ConsumerSettings
from queuepool.verbs import Verb, own
from queuepool.verbs.own import MAX_BATCH, Acks, Life


def record_verbs(
    life: Life, outcomes: Sequence[Outcome], settings: ConsumerSettings
) -> Iterator[Verb[Any]]:
    """Yield the verbs that record these outcomes, at most 200 jobs each."""
    kinds: dict[End, list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.end, []).append(outcome)
    for end, alike in kinds.items():
        parts = range(0, len(alike), MAX_BATCH)
        # Each goes to the front of its lane: the last ones first, and the order is kept.
        for i in reversed(parts) if end is End.HAND_BACK else parts:
            yield _verb(life, end, alike[i : i + MAX_BATCH], settings)


def _verb(
    life: Life, end: End, outcomes: Sequence[Outcome], settings: ConsumerSettings
) -> Verb[Any]:
    if end is End.DONE:
        return own.finish(life, _by_group(outcomes))
    if end is End.RETRY:
        return own.retry(life, ((o.job.id, o.delay_ms, o.charged, o.error) for o in outcomes))
    if end is End.BURY:
        return own.bury(
            life,
            ((o.job.id, o.error) for o in outcomes),
            keep_jobs=settings.dead_keep_jobs,
            keep_bytes=settings.dead_keep_bytes,
            keep_ms=int(settings.dead_keep_s * 1000),
        )
    ids = [o.job.id for o in outcomes]
    return own.abandon(life, ids) if end is End.ABANDON else own.hand_back(life, ids)


def _by_group(outcomes: Sequence[Outcome]) -> dict[bytes, Acks]:
    groups: dict[bytes, Acks] = {}
    for outcome in outcomes:
        job = outcome.job
        acks = groups.get(job.group)
        if acks is None:
            acks = groups[job.group] = Acks(0, [], [])
        acks.size_bytes += len(job.body)
        acks.ids.append(job.id)
        if outcome.result is not None:
            acks.results.append((job.id, outcome.result_ttl_ms, outcome.result))
    return groups
