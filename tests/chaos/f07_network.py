"""F7: the network between a consumer and the server is cut, half-open, one-way, or slow.

A long fault outlasts the lease: another consumer takes over, and the one that was cut off must
start nothing after its lease, and end when it learns of its successor. A short one ends before the
lease: the owner must go on, and nobody may notice but by waiting. A producer sits behind the same
network and must get every job in, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from time import monotonic, monotonic_ns

from tests.chaos.proxy import TO_CLIENT, TO_SERVER, Proxy
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine, pause

_LEASE_S = 3.0  # no one but the network shall cost it, on a busy machine either
_BLOCK_S = 5.0  # the longest wait of a consumer for a token
_HANG_S = _BLOCK_S + 2
_CONNECTIONS = 4  # for turns, tokens, the memory of the server, and one that is being replaced
_FENCED = 3
_FAR = 400  # jobs of the producer behind the network
_WORKERS, _LONG = 2, 30  # so many long jobs take two workers longer than a lease
_IN_STEP_S, _HASTE_S = 0.002, 0.3
_CUT_S = 1.0  # a standby waits for 1.4 s, see docs/protocol.md#takeover
Blow = Callable[[Proxy], None]


def _cut_off(blows: Sequence[Blow]) -> Callable[[Trial], Result]:
    def run(trial: Trial) -> Result:
        said: list[str] = []
        shorts = 0 if trial.quick else 2
        blow = blows[trial.number % len(blows)]
        with Rig(trial.directory, binary=engine(trial.number)) as rig:
            near, far = rig.proxy(), rig.proxy()
            victim = rig.consumer(url=near.url, workers=_WORKERS, lease_s=_LEASE_S)
            assert rig.owner() is victim
            rig.consumer(lease_s=_LEASE_S).says("standing by")
            remote = rig.producer(url=far.url, prefix="far", jobs=_FAR, ms=2, pause_s=0.3)
            rig.until(lambda: rig.count("done"), "the first job")
            back_s = [_short(rig, blow, [near, far], said) for _ in range(shorts)]
            total, held, few = _FAR + 8 * shorts, 0, _WORKERS * _LEASE_S / 0.25
            for n in range(5):  # a busy machine may have run some before they are counted
                if held <= few:
                    total += _hoard(rig, near, n)
                    held = rig.observe()[0].in_flight
            back_s.append(_long(rig, blow, [near, far], said, trial.late_s))
            remote.ends()
            rig.drained(total)
            peak = max(near.peak, far.peak)
            if peak > _CONNECTIONS:
                said.append(f"a process had {peak} connections at once")
            if held <= few:
                said.append(
                    f"it held {held} jobs when it was cut off: too few to start any too late"
                )
            verdict = rig.verdict().also(said)
        return Result(
            verdict=verdict,
            sums={"faults": shorts + 1, "jobs held": held},
            peaks={"back after, s,": max(back_s), "connections": peak},
        )

    return run


def _hoard(rig: Rig, near: Proxy, n: int) -> int:
    """Make the owner claim more than it can run in a lease: long jobs right behind short ones.

    Returns how many jobs were enqueued.
    """
    near.slow(0.02)  # it claims ahead for as long as an answer takes
    rig.enqueue(f"short-{n}", 1000, ms=1)
    rig.enqueue(f"long-{n}", _LONG, ms=250)

    def has_begun() -> bool:
        return any(run.job_id.startswith(f"long-{n}-") for run in rig.events().runs)

    rig.until(has_begun, "a long job")
    return 1000 + _LONG


def _short(rig: Rig, blow: Blow, proxies: Sequence[Proxy], said: list[str]) -> float:
    """Strike for less than a lease; the owner must continue. Returns how long it took to."""
    owner, done = rig.owner(), rig.count("done")
    for proxy in proxies:
        blow(proxy)
    rig.enqueue(f"amid-{done}", 8, ms=1)
    pause(_LEASE_S / 4)
    for proxy in proxies:
        proxy.healthy()
    back_s = rig.first_begin(monotonic_ns())
    if rig.owner() is not owner:
        said.append("a fault of a quarter of the lease cost the partition")
    if back_s > _HANG_S:
        said.append(f"work went on {back_s:.2f} s after a short fault")
    return back_s


def _long(rig: Rig, blow: Blow, proxies: Sequence[Proxy], said: list[str], late_s: float) -> float:
    """Strike for longer than a lease; returns how long the victim took to know it was replaced."""
    victim, refused = rig.owner(), rig.count("fenced")
    assert victim is rig.consumers[0], "the partition was lost before the network was"
    for proxy in proxies:
        blow(proxy)
    # The last renewal that got through is older than this, so the lease is over by then.
    strike = rig.strike(victim, takeover_s=_LEASE_S + 2 + late_s, lease_s=_LEASE_S)
    rig.until(lambda: rig.owner() is not victim, "a successor")
    rig.first_begin(strike.at_ns, rig.owner().pid)
    pause(_LEASE_S)
    for proxy in proxies:
        proxy.healthy()
    healed_s = monotonic()
    code = victim.ends()
    knew_s = monotonic() - healed_s
    if code != _FENCED:
        said.append(f"the consumer that was cut off ended with {code}, not {_FENCED}")
    if knew_s > _HANG_S + late_s:
        said.append(f"it took {knew_s:.2f} s to learn of its successor")
    if rig.count("fenced") == refused:
        said.append("nothing of the one that was cut off was refused")
    return knew_s


def _slow(trial: Trial) -> Result:
    jobs, lease_s = 300 if trial.quick else 1500, max(4.0, trial.lease_s)
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        near, far = rig.proxy(), rig.proxy()
        owner = rig.consumer(url=near.url, lease_s=lease_s)
        assert rig.owner() is owner
        rig.consumer(lease_s=lease_s).says("standing by")
        for proxy in (near, far):  # 200 ms for both ways together; a lost chunk costs 0.4 s more
            proxy.slow(0.1, jitter_s=0.02, stall_share=0.05, stall_s=0.4)
        producer = rig.producer(url=far.url, jobs=jobs, ms=20, batch=50)
        producer.ends()
        rig.drained(jobs)
        if rig.owner() is not owner or rig.count("fenced"):
            said.append("a slow network cost the partition")
        # The longest time without a start, while there was work: a turn that hung.
        begins = sorted(run.began_ns for run in rig.events().runs)
        gap_s = max(b - a for a, b in pairwise(begins)) / 1e9
        if gap_s > _HANG_S + trial.late_s:
            said.append(f"nothing began for {gap_s:.2f} s")
        peak = max(near.peak, far.peak)
        if peak > _CONNECTIONS:
            said.append(f"a process had {peak} connections at once")
        verdict = rig.verdict().also(said)
    return Result(verdict=verdict, peaks={"pause, s,": gap_s, "connections": peak})


def _reconnecting(trial: Trial) -> Result:
    """Reset connections again and again, then cut two consumers off and compare their rhythm."""
    partitions, jobs, resets = 2, 400 if trial.quick else 1600, 3 if trial.quick else 12
    said: list[str] = []
    with Rig(trial.directory, partitions=partitions, binary=engine(trial.number)) as rig:
        proxies = [rig.proxy() for _ in range(partitions)]
        consumers = [rig.consumer(url=proxy.url, lease_s=10) for proxy in proxies]
        rig.until(lambda: len(rig.owners()) == partitions, "owners")
        owners = rig.owners()
        producer = rig.producer(jobs=jobs, ms=20, batch=20, pause_s=0.02)
        for n in range(resets):
            least = jobs * (n + 1) // (2 * resets)
            rig.until(lambda least=least: rig.count("done") >= least, f"{least} done")  # type: ignore[misc]
            for proxy in proxies:
                proxy.reset()
        for proxy in proxies:
            proxy.cut()
        cut_s = monotonic()
        pause(2.5 if trial.quick else 5.0)
        for proxy in proxies:
            proxy.healthy()
        one, two = (_tries(proxy, cut_s, monotonic()) for proxy in proxies)
        in_step = sum(any(abs(a - b) < _IN_STEP_S for b in two) for a in one)
        if not one or in_step > len(one) / 3:
            said.append(f"{in_step} of {len(one)} new connections came in step with another's")
        producer.ends()
        rig.drained(jobs)
        if rig.owners() != owners or not all(c.is_running() for c in consumers):
            said.append("resets cost a partition")
        peak = max(proxy.peak for proxy in proxies)
        if peak > _CONNECTIONS:
            said.append(f"a process had {peak} connections at once")
        verdict = rig.verdict().also(said)
    return Result(
        verdict=verdict,
        sums={"resets": resets},
        peaks={"attempts while cut off": max(len(one), len(two)), "connections": peak},
    )


def _cut_briefly(trial: Trial) -> Result:
    """Cut the owner off for a second, again and again, beside a standby that is not."""
    cuts = 2 if trial.quick else 50
    said: list[str] = []
    back_s = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        near = rig.proxy()
        owner = rig.consumer(url=near.url, lease_s=10)
        assert rig.owner() is owner
        rig.consumer(lease_s=10).says("standing by")
        epoch = [place.owner.epoch for place in rig.observe() if place.owner]
        for n in range(cuts):
            since_ns = monotonic_ns()
            rig.enqueue(f"running-{n}", 8, ms=500)
            rig.first_begin(since_ns, owner.pid)
            near.cut()
            rig.enqueue(f"amid-{n}", 8, ms=1)
            pause(_CUT_S)
            healed_ns = monotonic_ns()
            near.healthy()
            back_s.append(rig.first_begin(healed_ns, owner.pid))
            rig.drained(16 * (n + 1))
        if [place.owner.epoch for place in rig.observe() if place.owner] != epoch:
            said.append("a cut of a second cost the partition")
        verdict = rig.verdict().also(said)
    return Result(verdict=verdict, sums={"cuts": cuts}, peaks={"back after, s,": max(back_s)})


def _tries(proxy: Proxy, from_s: float, until_s: float) -> list[float]:
    """Return when new connections were tried, from when the first haste is over.

    A try that is refused at once is made twice within a moment by the client: that is one.
    """
    times = [s for s in proxy.connects_s if from_s + _HASTE_S < s < until_s]
    return [s for n, s in enumerate(times) if n == 0 or s - times[n - 1] > 0.01]


_BASE = Fault(
    number="F7",
    name="",
    expected="no hang beyond block + 2 s; starts nothing after its lease; at most 4 connections",
    procedure=_slow,
    runs=4,
)
FAULTS = [
    replace(_BASE, number="F7a", name="network cut", procedure=_cut_off([Proxy.cut]), quick=False),
    replace(_BASE, number="F7b", name="network half-open", procedure=_cut_off([Proxy.half_open])),
    replace(
        _BASE,
        number="F7c",
        name="network one-way, to and from the server",
        procedure=_cut_off([lambda p: p.one_way(TO_SERVER), lambda p: p.one_way(TO_CLIENT)]),
        quick=False,
    ),
    replace(_BASE, number="F7d", name="network of 200 ms that stalls 5 % of what is sent"),
    replace(
        _BASE,
        number="F7e",
        name="connections reset; two consumers reconnect",
        expected="no takeover, no duplicate; at most 4 connections, made out of step",
        procedure=_reconnecting,
    ),
    replace(
        _BASE,
        number="F7f",
        name="cut off for 1 s, beside a standby",
        expected="no takeover, no duplicate",
        procedure=_cut_briefly,
        runs=1,
        quick=False,
    ),
]
