"""What is asked of the jobs that a walk finds, as steps for both pools: counts, errors, history.

Every call looks at a bounded number of jobs, so it costs a server about a millisecond, however many
there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from queuepool.client.effects import Steps
from queuepool.client.questions import ask, ask_each, numbered
from queuepool.client.routes import Route
from queuepool.client.walking import PAGE, Place, Walk, chosen_places, seek, walk
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import JobState
from queuepool.models.finding import (
    Digest,
    ErrorCount,
    JobFilter,
    RunningJob,
    digest_of,
)
from queuepool.models.history import PastRun, is_slow, usual_s
from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol import ids
from queuepool.routing.finding import ASKED_AT_ONCE
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.operator import finding
from queuepool.verbs.operator import verbs as operate

T = TypeVar("T")

SAMPLE = 10_000  # jobs whose errors are looked at
MOST_RUNNING = 10_000
_JUDGED = 64  # places whose history is looked at
_SAMPLED_AT_ONCE = 16  # partitions; each call takes a server up to a millisecond


def at_least_one(name: str, value: object) -> None:
    """Raise InvalidInputError unless a number of jobs is a whole one, and not 0."""
    if type(value) is not int or value < 1:
        raise InvalidInputError(f"{name}={shown(value)}: use 1 or more jobs")


def _ask_places(
    config: PoolConfig, verbs: Mapping[Place, Verb[T]], at_once: int = ASKED_AT_ONCE
) -> Steps[list[tuple[Place, T]]]:
    """Run a verb in each of these places, in a bounded number of them at once."""
    found: list[tuple[Place, T]] = []
    for pool in sorted({pool for _, pool in verbs}):
        all_calls = [(n, numbered(n, verb)) for (n, name), verb in verbs.items() if name == pool]
        for begin in range(0, len(all_calls), at_once):
            calls = all_calls[begin : begin + at_once]
            replies = yield from ask_each(config.of(pool), calls)
            found += [((number, pool), reply) for number, reply in replies]
    return found


def running(config: PoolConfig, *, partition: int | None, most: int) -> Steps[list[RunningJob]]:
    """Return the jobs that run, the longest first."""
    at_least_one("most", most)
    where = JobFilter(state=JobState.IN_FLIGHT)
    through = yield from walk(config, where, partition=partition, pool=None)
    found: list[RunningJob] = []
    while len(found) < MOST_RUNNING and (page := (yield from through.page(PAGE))):
        now_ms = through.now_ms
        found += (
            RunningJob(job=job, age_s=max(0, now_ms - job.at_ms) / 1000)
            for job in page
            if job.at_ms is not None
        )
    found.sort(key=lambda one: -one.age_s)
    return (yield from _judged(config, found[:most]))


def _judged(config: PoolConfig, found: Sequence[RunningJob]) -> Steps[list[RunningJob]]:
    """Note which jobs run far longer than their tasks usually do, as far as history tells."""
    places = {(one.job.partition, one.job.pool or DEFAULT_POOL) for one in found}
    runs: list[PastRun] = []
    verbs = dict.fromkeys(sorted(places)[:_JUDGED], finding.history(None))
    for _, (_, some) in (yield from _ask_places(config, verbs, _SAMPLED_AT_ONCE)):
        runs += some
    usual = usual_s(runs)
    return [
        replace(one, usual_s=known, slow=is_slow(one.age_s, known))
        for one in found
        for known in (usual.get(one.job.task or ""),)
    ]


def history(
    config: PoolConfig, job_id: str, *, route: Route | None, most: int
) -> Steps[list[PastRun]]:
    """Return the latest executions of a job that are on record, the earliest of these first.

    route: of its group, if its key is known. An id that names its slot tells more than that.
    """
    at_least_one("most", most)
    slot = ids.hinted_slot(job_id)
    looks: tuple[tuple[int | None, Route | None], ...] = ((None, route),)
    if slot is not None:
        looks = ((config.topology.view.partition_of(slot), None), (None, None))
    found: list[PastRun] = []
    for number, of in looks:
        sought = yield from seek(config, number, None, of)
        for place in dict.fromkeys(one.place for one in sought):
            skip = 0
            while skip >= 0 and len(found) < most:
                verb = finding.history(job_id, skip)
                skip, some = yield from ask(config.of(place[1]), place[0], verb)
                found += some
        if found:
            break
    found.reverse()  # they come latest first, which counts for those of one ms
    return sorted(found, key=lambda run: run.ended_ms)[-most:]


def count(
    config: PoolConfig,
    where: JobFilter,
    *,
    partition: int | None,
    pool: str | None,
    route: Route | None = None,
) -> Steps[int]:
    """Return how many jobs match; the arguments are those of `walk`."""
    sought = yield from seek(config, partition, pool, route)
    if not where.is_exact:
        through, total = Walk(config, where, sought), 0
        while page := (yield from through.page(PAGE)):
            total += len(page)
        return total
    total = 0
    for (number, name), group, _ in sought:
        cursor, begun, wanted = b"", False, replace(where, group=group)
        while cursor or not begun:
            verb = finding.find(number, wanted, cursor, most=0)
            page_ = yield from ask(config.of(name), number, verb)
            total, cursor, begun = total + page_.matching, page_.cursor, True
    return total


def errors(config: PoolConfig, *, partition: int | None, sample: int) -> Steps[list[ErrorCount]]:
    """Return the errors of dead and retrying jobs, the commonest first.

    sample: how many jobs are looked at; of more than that, an evenly spread part.
    """
    at_least_one("sample", sample)
    places = yield from chosen_places(config, partition, None)
    found: dict[str, ErrorCount] = {}
    sizes: dict[tuple[Place, str], int] = {}
    for kind in ("dead", "delayed"):
        verb = finding.errors(kind, 0, 1, 0)
        ranks = yield from _ask_places(config, dict.fromkeys(places, verb))
        sizes |= {(place, kind): size for place, (_, size, _) in ranks}
    step = max(1, -(-sum(sizes.values()) // sample))
    for kind in ("dead", "delayed"):
        left = {place: 0 for place in places if sizes[place, kind]}  # the rank to go on with
        while left:
            verbs = {place: finding.errors(kind, rank, step) for place, rank in left.items()}
            parts = yield from _ask_places(config, verbs, _SAMPLED_AT_ONCE)
            left = {place: rank for place, (rank, _, _) in parts if rank >= 0}
            for one in (one for _, (_, _, counts) in parts for one in counts):
                known = found.get(one.fingerprint)
                found[one.fingerprint] = one if known is None else known.plus(one)
    return sorted(found.values(), key=lambda one: (-one.jobs, one.fingerprint))


def digest(config: PoolConfig, *, partition: int | None, sample: int) -> Steps[Digest]:
    """Return the dead jobs in short."""
    at_least_one("sample", sample)
    places = yield from chosen_places(config, partition, None)
    verbs = {place: operate.observe(place[0]) for place in places}
    states = yield from _ask_places(config, verbs)
    total = sum(state.dead for _, state in states)
    return digest_of(total, (yield from errors(config, partition=partition, sample=sample)))
