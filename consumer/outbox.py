"""From outcomes to the verbs that record them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from consumer.jobs import End, Outcome
from consumer.settings import ConsumerSettings
from queuepool.codec import read_stamp
from queuepool.verbs import Verb, own
from queuepool.verbs.own import MAX_BATCH, Acks, Life


def record_verbs(
    life: Life, outcomes: Sequence[Outcome], settings: ConsumerSettings
) -> Iterator[Verb[Any]]:
    """Yield the verbs that record these outcomes, at most 200 jobs each.

    Sure successes are told by id alone, the shortest; all else names the stamp of the body.
    """
    kinds: dict[tuple[End, bool], list[Outcome]] = {}
    for outcome in outcomes:
        end = outcome.end
        by_stamp = end is not End.DONE or outcome.job.doubtful
        kinds.setdefault((end, by_stamp), []).append(outcome)
    for (end, by_stamp), alike in kinds.items():
        parts = range(0, len(alike), MAX_BATCH)
        # Each goes to the front of its lane: the last ones first, and the order is kept.
        for i in reversed(parts) if end is End.HAND_BACK else parts:
            some = alike[i : i + MAX_BATCH]
            if by_stamp:
                yield _verb_by_stamp(life, end, some, settings)
            else:
                yield own.finish(life, _by_group(some))


def _verb_by_stamp(
    life: Life, end: End, outcomes: Sequence[Outcome], settings: ConsumerSettings
) -> Verb[Any]:
    stamps = [read_stamp(o.job.body) for o in outcomes]
    if end is End.DONE:
        return own.finish_stray(life, map(_stray, outcomes, stamps))
    if end is End.RETRY:
        jobs = ((o.job.id, o.delay_ms, o.charged, o.error) for o in outcomes)
        return own.retry(life, jobs, stamps)
    if end is End.BURY:
        return own.bury(
            life,
            ((o.job.id, o.error) for o in outcomes),
            stamps,
            keep_jobs=settings.dead_keep_jobs,
            keep_bytes=settings.dead_keep_bytes,
            keep_ms=int(settings.dead_keep_s * 1000),
        )
    ids = [o.job.id for o in outcomes]
    verb = own.abandon if end is End.ABANDON else own.hand_back
    return verb(life, ids, stamps)


def _stray(outcome: Outcome, stamp: bytes) -> tuple[bytes, bytes, int, bytes]:
    if outcome.result is None:
        return outcome.job.id, stamp, 0, b""
    return outcome.job.id, stamp, outcome.result_ttl_ms, outcome.result


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
