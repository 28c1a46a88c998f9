"""Changing dead jobs that match a filter, page by page: replay or discard them. As steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from queuepool.client.effects import Pause, Steps
from queuepool.client.finding import count
from queuepool.client.questions import ask
from queuepool.client.routes import Route
from queuepool.client.walking import Place, Walk, walk
from queuepool.errors import InvalidInputError
from queuepool.models import JobId, JobStatus
from queuepool.models.finding import Changed, JobFilter
from queuepool.models.places import DEFAULT_POOL
from queuepool.settings.config import PoolConfig
from queuepool.tasks.options import is_number
from queuepool.verbs import Verb
from queuepool.verbs.operator import verbs as operate

_Change = Callable[[Sequence[str]], Verb[tuple[int, tuple[JobId, ...]]]]
_AT_ONCE = 200
_LOOK = 10_000  # jobs, before it is asked again whether there is time
_KEPT_OUT = 1000  # ids that are named


def _always(_seconds: float) -> bool:
    return True


def replay(ids: Sequence[str]) -> Verb[tuple[int, tuple[JobId, ...]]]:
    """Return the verb that replays, with a reply like that of `discard`."""
    verb = operate.replay(ids)

    def read(reply: object) -> tuple[int, tuple[JobId, ...]]:
        done = verb.read(reply)
        return done.replayed, done.kept_out

    return Verb(verb.script, verb.args, read)


def discard(ids: Sequence[str]) -> Verb[tuple[int, tuple[JobId, ...]]]:
    """Return the verb that discards, with a reply like that of `replay`."""
    verb = operate.discard(ids)
    return Verb(verb.script, verb.args, lambda reply: (verb.read(reply), ()))


def change(
    config: PoolConfig,
    where: JobFilter,
    verb: _Change,
    *,
    partition: int | None,
    pool: str | None,
    most: int | None,
    rate: float | None,
    dry_run: bool,
    route: Route | None = None,
    has_time: Callable[[float], bool] = _always,
) -> Steps[Changed]:
    """Replay or discard dead jobs that match, at most `most`, `rate` a second.

    route: see `walk`. has_time: whether there are so many seconds left for the next page; otherwise
    it ends here. One that dies after the first were read is not among them, so that jobs that die
    again at once are not replayed over and over.
    """
    _check(most, rate)
    if dry_run:
        matched = yield from count(config, where, partition=partition, pool=pool, route=route)
        return Changed(matched=matched if most is None else min(most, matched), changed=0)
    through = yield from walk(config, where, partition=partition, pool=pool, route=route)
    return (yield from _change_each(config, through, verb, _Pace(most, rate, has_time)))


@dataclass(frozen=True, slots=True)
class _Pace:
    """How many jobs to change, at most, and how fast."""

    most: int | None
    rate: float | None
    has_time: Callable[[float], bool]

    def page(self, matched: int) -> int:
        """Return how many jobs the next page may have, after so many."""
        size = _AT_ONCE if self.rate is None else max(1, min(_AT_ONCE, int(self.rate)))
        return size if self.most is None else min(size, self.most - matched)

    def pause_s(self, page: int) -> float:
        """Return for how long to wait after a page of so many jobs."""
        return 0.0 if self.rate is None else page / self.rate


def _change_each(config: PoolConfig, through: Walk, verb: _Change, pace: _Pace) -> Steps[Changed]:
    page: list[JobStatus] = []
    matched = changed = 0
    kept: dict[JobId, None] = {}
    while not through.is_over and (size := pace.page(matched)) > 0:
        pause_s = pace.pause_s(len(page))
        if not pace.has_time(pause_s):
            break
        if pause_s:
            yield Pause(pause_s)
        page = yield from through.page(size, look=_LOOK)  # which may find nothing
        through.end_now()
        for (number, name), jobs in _by_place(page).items():
            n, out = yield from ask(config.of(name), number, verb(jobs))
            changed += n
            kept.update(dict.fromkeys(out[: _KEPT_OUT - len(kept)]))
        matched += len(page)
    return Changed(
        matched=matched,
        changed=changed,
        kept_out=tuple(kept),
        until_ms=through.until_ms,
        more=not through.is_over,
    )


def _check(most: int | None, rate: float | None) -> None:
    if rate is not None and not (is_number(rate) and 0 < rate <= 1_000_000):
        raise InvalidInputError(f"rate={rate!r}: use more than 0 jobs a second, at most 1,000,000")
    if most is not None and not (type(most) is int and most >= 0):
        raise InvalidInputError(f"most={most!r}: use 0 or more jobs")


def _by_place(jobs: Iterable[JobStatus]) -> dict[Place, list[str]]:
    found: dict[Place, list[str]] = {}
    for job in jobs:
        found.setdefault((job.partition, job.pool or DEFAULT_POOL), []).append(job.job_id)
    return found
