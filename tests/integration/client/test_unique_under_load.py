"""Fifty producers, a few unique keys, consumers that fail and are killed: never two jobs of a key.

A checker looks at the partition all the time, in one step of the server each. At the end nothing
is left of any key.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import redis

from queuepool import EnqueueStatus, QueuePool
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.paths import ROOT
from tests.processes import running
from tests.waiting import wait_until

KEYS, PRODUCERS, LIVES, TURNS = 5, 50, 2, 60
KEY = "accounts"

# Counts the living jobs of each key by their bodies, and looks at who holds the key.
CHECK = """
local base, held = ARGV[1], redis.call('HGETALL', ARGV[1] .. ':u')
local alive, wrong = {}, {}
local bodies = redis.call('HGETALL', base .. ':j')
for i = 1, #bodies, 2 do
  if not redis.call('ZSCORE', base .. ':dead', bodies[i]) then
    local account = string.match(bodies[i + 1], '"account":(%d+)')
    if alive[account] then wrong[#wrong + 1] = 'two jobs of ' .. account end
    alive[account] = bodies[i]
  end
end
for i = 1, #held, 2 do
  local account = string.match(held[i], '%d+')
  if alive[account] ~= held[i + 1] then wrong[#wrong + 1] = 'a key is leaked: ' .. held[i] end
  alive[account] = nil
end
for account in pairs(alive) do wrong[#wrong + 1] = 'no one holds the key of ' .. account end
return wrong
"""

# A consumer that claims what there is, says so, and never ends.
VICTIM = """
import sys
from queuepool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w

config = PoolConfig(topology=single(sys.argv[1], 1), keyspace=Keyspace(sys.argv[2]))
owned = QueuePool(config=config).partition(0).acquire(lease_s=600.0, nonce="victim")
while not w.claim(owned, starting=2).ids:
    owned.run(own.promote(owned.ownership))  # all keys may be those of delayed jobs
print("claimed", flush=True)
sys.stdin.read()
"""


def produce(pool: QueuePool, seed: int, over: threading.Event) -> Counter[EnqueueStatus]:
    """Enqueue jobs of any key in any way; count the answers."""
    chance, said = random.Random(seed), Counter[EnqueueStatus]()
    while not over.wait(0.02):
        account = chance.randrange(KEYS)
        mode = chance.choice(("skip", "replace", "debounce"))
        answer = pool.enqueue(
            "sync",
            {"account": account, "n": said.total()},
            partition_key=KEY,
            unique=f"account-{account}",
            on_conflict=mode,
            delay_s=chance.choice((0.0, 0.0, 0.01)),
        )
        said[answer.status] += 1
    return said


def work(owned: OwnedPartition, chance: random.Random) -> None:
    """Claim what there is, and end it in one way or another."""
    owned.run(own.promote(owned.ownership))
    claims = w.claim(owned, starting=chance.randrange(4))
    for place, job_id in enumerate(claims.ids):
        match chance.randrange(6):
            case 0:
                w.retry(owned, [job_id], delay_ms=chance.choice((0, 5)))
            case 1:
                w.bury(owned, [job_id], keep_jobs=chance.choice((0, 100)))
                owned.partition.replay([job_id.decode()])
            case 2:
                owned.run(own.hand_back(owned.ownership, [job_id]))
            case 3:
                owned.partition.cancel(job_id.decode())
                owned.run(own.end_cancelled(owned.ownership, [job_id]))
            case _:
                w.finish(owned, claims, place)


def kill_a_consumer(url: str, stage: str) -> None:
    """Let another process claim jobs, and kill it."""
    command = [sys.executable, "-c", VICTIM, url, stage]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with running(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "claimed\n"
        victim.kill()


def test_never_two_jobs_of_a_key_and_none_is_left_behind(
    redis_url: str, stage: str, pool: QueuePool, partition: Partition
) -> None:
    base, wrong, over = partition.key, list[Any](), threading.Event()
    ceased, looks = threading.Event(), 0

    def look() -> None:
        nonlocal looks
        with redis.Redis.from_url(redis_url) as client:
            while not over.is_set() and not wrong:
                wrong.extend(client.eval(CHECK, 0, base))
                looks += 1

    checker = threading.Thread(target=look)
    checker.start()
    chance = random.Random(7)
    try:
        with ThreadPoolExecutor(PRODUCERS) as producers:
            asked = [producers.submit(produce, pool, n, ceased) for n in range(PRODUCERS)]
            try:
                for _ in range(LIVES):
                    kill_a_consumer(redis_url, stage)
                    owned = successor(redis_url, partition)
                    w.recover(owned, max_crashes=2)
                    for _ in range(TURNS):
                        work(owned, chance)
                    owned.run(own.release(owned.ownership, drain_lease_ms=0))
            finally:
                ceased.set()
        said = sum((a.result() for a in asked), Counter[EnqueueStatus]())
        owned = successor(redis_url, partition)
        wait_until(lambda: is_empty(owned, chance), 60, "all jobs have ended")
    finally:
        over.set()
        checker.join()

    assert not wrong
    assert looks > 10
    expected = (EnqueueStatus.ACCEPTED, EnqueueStatus.CONFLICT, EnqueueStatus.REPLACED)
    assert set(said) == set(expected)
    assert said[EnqueueStatus.ACCEPTED] > LIVES * TURNS / 10
    with redis.Redis.from_url(redis_url) as client:
        assert client.exists(base + b":u", base + b":uk", base + b":ex") == 0
    assert partition.audit().clean


def successor(url: str, partition: Partition) -> OwnedPartition:
    """Take the partition over from whoever had it: the lease of a killed process ends now."""
    with redis.Redis.from_url(url) as client:
        if client.hget(partition.key + b":o", "nonce"):
            client.hset(partition.key + b":o", "expires", 1)
    owned = partition.acquire(lease_s=600.0, nonce="owner")
    assert isinstance(owned, OwnedPartition)
    return owned


def is_empty(owned: OwnedPartition, chance: random.Random) -> bool:
    work(owned, chance)
    if dead := owned.partition.dead():
        owned.partition.discard([job.job_id for job in dead])
    return owned.partition.observe().jobs == 0
