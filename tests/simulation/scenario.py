"""What a seed stands for: how much work, how long it takes, and what goes wrong. Pure.

A fifth of the seeds is lossless, so that what must hold without faults is checked without excuses.
Two fifths have extras: holds, caps, serial groups, unique keys, jobs that expire. A third have
limits, some of them shared by several partitions. A fifth has another pool in the partition.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from tests.simulation.extras import Extras, draw_extras
from tests.simulation.limiting import Limits, draw_limits

POOL = "video"
_POOLS = 0.2  # of the seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Shares of calls, and times at which a consumer or a coordinator suffers. Seconds."""

    drop: float = 0.0  # never executed
    lose: float = 0.0  # executed, the reply never comes
    double: float = 0.0  # executed twice
    late: float = 0.0  # executed after its caller gave up, and after newer calls
    forget: float = 0.0  # the server lacks some of its scripts: those verbs come after the others
    kills: tuple[float, ...] = ()
    stalls: tuple[tuple[float, float], ...] = ()  # when, how long
    drains: tuple[float, ...] = ()
    outages: tuple[tuple[float, float], ...] = ()  # of the server, for everyone
    coordinator_kills: tuple[float, ...] = ()
    coordinator_stalls: tuple[tuple[float, float], ...] = ()

    @property
    def unruly(self) -> bool:
        """Return whether calls may happen out of order or twice."""
        return self.double > 0 or self.late > 0

    @property
    def none(self) -> bool:
        """Return whether nothing goes wrong."""
        return self == Faults()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a seed decides beforehand; the rest is drawn as it happens."""

    seed: int
    faults: Faults
    jobs: int
    groups: int
    calls: int  # in how many enqueue calls the jobs come
    spread_s: float  # within which time
    job_s: tuple[float, float]
    fails: float  # share of executions that fail
    buries: float
    asks_later: float
    poison: int  # jobs whose every execution kills its consumer
    cancels: int
    cancel_group: bool
    delayed: float  # share of enqueue calls with a delay
    consumers: int
    coordinators: int
    workers: int
    prefetch: int
    lease_s: float
    drain_s: float
    max_crashes: int
    repeats: float  # share of enqueue calls that someone makes again, with the same ids
    call_timeout_s: float = 1.0
    latency_s: tuple[float, float] = field(default=(0.0002, 0.004))
    quiet_s: float = 25.0  # from then on nothing goes wrong any more
    finish_within_s: float = 300.0  # within which everything must have ended
    extras: Extras | None = None
    limits: Limits | None = None
    pool: str = ""  # another one beside the default one


def draw(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    pool = POOL if random.Random(seed ^ 0xB001).random() < _POOLS else ""
    return replace(_drawn(seed), pool=pool)


def of_pool(s: Scenario) -> Scenario:
    """Return what happens in the other pool of a seed's partition.

    In a third of them the same processes suffer: those that run both pools. In a third others do,
    and in a third none, so that only one of the pools is taken over.
    """
    r = random.Random(s.seed ^ 0xB002)
    fate = r.random()
    faults = s.faults
    if not faults.none and fate < 1 / 3:
        faults = _faults(r, s.lease_s)
    elif fate < 2 / 3:
        faults = Faults()
    return replace(
        s,
        seed=s.seed + 10**12,
        pool="",
        faults=faults,
        jobs=min(s.jobs, 20),
        calls=min(s.calls, 4),
        poison=0,
        consumers=r.randint(1, 2),
        coordinators=r.randint(0, 1),
    )


def _drawn(seed: int) -> Scenario:
    r = random.Random(seed)
    lossless = r.random() < 0.2
    job_s = r.choice(((0.001, 0.01), (0.005, 0.05), (0.05, 0.6), (0.5, 3.0), (0.001, 2.0)))
    lease_s = r.choice((1.5, 2.0, 4.0))
    faults = Faults() if lossless else _faults(r, lease_s)
    poison = 0 if lossless else r.choice((0, 0, 0, 1, 2))
    scenario = Scenario(
        seed=seed,
        faults=faults,
        jobs=r.randint(5, 60),
        groups=r.randint(1, 4),
        calls=r.randint(1, 8),
        spread_s=r.choice((0.0, 2.0, 20.0)),
        job_s=job_s,
        fails=r.choice((0.0, 0.0, 0.1, 0.3)),
        buries=r.choice((0.0, 0.0, 0.1)),
        asks_later=r.choice((0.0, 0.0, 0.1)),
        poison=poison,
        cancels=r.choice((0, 0, 2, 6)),
        cancel_group=r.random() < 0.15,
        delayed=r.choice((0.0, 0.0, 0.3)),
        consumers=r.randint(1, 3),
        coordinators=r.randint(0, 2),
        workers=r.randint(1, 4),
        prefetch=r.choice((0, 5, 400)),
        lease_s=lease_s,
        drain_s=r.choice((0.0, 1.0, 5.0)),
        max_crashes=r.choice((2, 3, 3, 3 if poison else 100)),
        repeats=r.choice((0.0, 0.0, 0.5)),
    )
    extras = draw_extras(r, scenario.groups)
    limits = draw_limits(random.Random(seed ^ 0x11A17), lossless=lossless)
    if limits is not None:
        jobs = min(scenario.jobs, 40 // (1 + limits.neighbours))  # limits make them wait
        longest_s = min(scenario.job_s[1], 1.0)
        scenario = replace(
            scenario,
            limits=limits,
            jobs=max(5, jobs),
            calls=min(scenario.calls, 4),
            job_s=(min(scenario.job_s[0], 0.05), longest_s),
            finish_within_s=900.0,
        )
        extras = None if extras is None else extras.beside_limits()
    if extras is None:
        return scenario
    fails = max(scenario.fails, 0.2 if extras.serial else 0.0)
    return replace(scenario, extras=extras, fails=fails, finish_within_s=900.0)


def _faults(r: random.Random, lease_s: float) -> Faults:
    def share() -> float:
        return r.choice((0.0, 0.0, 0.02, 0.1, 0.25))

    def times(most: int) -> tuple[float, ...]:
        return tuple(round(r.uniform(0.1, 24.0), 3) for _ in range(r.randint(0, most)))

    def spells(most: int, longest_s: float) -> tuple[tuple[float, float], ...]:
        return tuple((at, round(r.uniform(0.05, longest_s), 3)) for at in times(most))

    return Faults(
        drop=share(),
        lose=share(),
        double=share() / 2,
        late=share() / 2,
        kills=times(5),
        stalls=spells(3, 3 * lease_s),
        drains=times(3),
        outages=spells(2, 2 * lease_s) if r.random() < 0.3 else (),
        coordinator_kills=times(2),
        coordinator_stalls=spells(2, 8.0),
        forget=share(),
    )
