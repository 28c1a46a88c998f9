"""F15: the memory of ids that ended is turned over while it is full, under load.

Another client asks the server for nothing much, all the while: its longest wait is the pause.
"""

import threading
from time import monotonic, time

import redis

from tests.chaos.actions import admin
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine, pause

_PAUSE_S = 0.5  # of a machine with other work; a set of 2,000,000 ids that expires takes seconds
_FILL = """
for i = ARGV[1], ARGV[1] + 4999 do redis.call('SADD', KEYS[1], string.format('id-%011x', i)) end
"""


class _Bystander(threading.Thread):
    """A client that asks all the time, and notes its longest wait."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._client = redis.Redis.from_url(url)
        self._over = threading.Event()
        self.longest_s = 0.0

    def run(self) -> None:
        while not self._over.is_set():
            began = monotonic()
            self._client.ping()
            self.longest_s = max(self.longest_s, monotonic() - began)
            self._over.wait(0.001)

    def end(self) -> None:
        """Stop asking."""
        self._over.set()
        self.join(60)
        self._client.close()


def _run(trial: Trial) -> Result:
    ids, jobs = (100_000, 300) if trial.quick else (2_000_000, 3_000)
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig, admin(rig) as client:
        base = rig.pool.partitions()[0].key
        for n in range(2):
            for first in range(0, ids, 5000):
                client.eval(_FILL, 1, base + b":dn:%d" % n, first)
        client.hset(base + b":c", mapping={"dn": 0, "dn_since": int(time() * 1000)})
        rig.consumer()
        producer = rig.producer(jobs=jobs, ms=2, batch=20, pause_s=0.01)
        rig.until(lambda: rig.count("done") > jobs / 10, "some jobs done")
        bystander = _Bystander(rig.server.url)
        bystander.start()
        for turn in range(2):
            client.hincrby(base + b":c", "dn_since", -70_000)
            most = (1 - turn) * ids + jobs
            rig.until(lambda most=most: _left(client, base) <= most, "a set is freed")  # type: ignore[misc]
            pause(0.3)
        producer.ends()
        rig.drained(jobs)
        bystander.end()
        if bystander.longest_s > _PAUSE_S + trial.late_s:
            said.append(f"another client waited {bystander.longest_s:.2f} s")
        return Result(
            verdict=rig.verdict().also(said),
            sums={"ids freed": 2 * ids},
            peaks={"longest pause of another client, s,": bystander.longest_s},
        )


def _left(client: redis.Redis, base: bytes) -> int:
    return sum(int(client.scard(base + b":dn:%d" % n)) for n in range(2))


FAULTS = [
    Fault(
        number="F15",
        name="millions of ids that ended are forgotten at once, under load",
        expected="0 lost; no other client waits for 0.5 s",
        procedure=_run,
        runs=4,
    )
]
