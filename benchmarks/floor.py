"""The floor to compare with: what remains of a reliable queue when everything is left out.

Bulk enqueue writes bodies and ids in one pipeline; a claim moves 100 ids to a sorted set and
returns the bodies; an acknowledgement deletes. No fairness, no tiers, no groups, no leases, no
retries, no counters. One thread claims, `workers` threads run, one acknowledges.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any

import redis

_BATCH = 100
_CLAIM = """
local ids = redis.call('LPOP', KEYS[1], ARGV[1])
if not ids then return {} end
local booked = {}
for i, id in ipairs(ids) do booked[2 * i - 1], booked[2 * i] = ARGV[2], id end
redis.call('ZADD', KEYS[2], unpack(booked))
return {ids, redis.call('HMGET', KEYS[3], unpack(ids))}
"""
_ACK = """
redis.call('ZREM', KEYS[2], unpack(ARGV))
return redis.call('HDEL', KEYS[3], unpack(ARGV))
"""
_KEYS = ["floor:ready", "floor:booked", "floor:bodies"]


class Floor:
    """A bare queue on one server."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._claim = self._client.register_script(_CLAIM)
        self._ack = self._client.register_script(_ACK)
        self._stopping = threading.Event()

    def enqueue(self, payloads: Sequence[Mapping[str, Any]], first_id: int) -> None:
        """Enqueue payloads under consecutive ids, in one round trip."""
        bodies = {first_id + i: json.dumps(p) for i, p in enumerate(payloads)}
        with self._client.pipeline() as pipe:
            pipe.hset(_KEYS[2], mapping=bodies)  # type: ignore[arg-type]
            pipe.rpush(_KEYS[0], *bodies)
            pipe.execute()

    def drain(self, run: Callable[[Mapping[str, Any]], None], workers: int, jobs: int) -> float:
        """Run `jobs` jobs on `workers` threads; returns the seconds it took."""
        todo: queue.SimpleQueue[Any] = queue.SimpleQueue()
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def work() -> None:
            while (item := todo.get()) is not None:
                run(json.loads(item[1]))
                done.put(item[0])

        def acknowledge() -> None:
            left = jobs
            while left > 0:
                ids = [done.get()]
                while len(ids) < _BATCH and not done.empty():
                    ids.append(done.get())
                self._ack(keys=_KEYS, args=ids)
                left -= len(ids)

        threads = [threading.Thread(target=work) for _ in range(workers)]
        acknowledger = threading.Thread(target=acknowledge)
        began, claimed = monotonic(), 0
        for thread in [*threads, acknowledger]:
            thread.start()
        while claimed < jobs:
            got = self._claim(keys=_KEYS, args=[_BATCH, 1]) if todo.qsize() < _BATCH else None
            if not got:
                sleep(0.001)
                continue
            for item in zip(*got, strict=True):
                todo.put(item)
            claimed += len(got[0])
        acknowledger.join()
        seconds = monotonic() - began
        for _ in threads:
            todo.put(None)
        for thread in threads:
            thread.join()
        return seconds

    def latencies(self, jobs: int, gap_s: float) -> list[float]:
        """Return ms from the enqueue call to the job's start, one job every gap_s on an idle queue.

        The consumer polls every millisecond, in another thread.
        """
        seen: list[float] = []

        def consume() -> None:
            while len(seen) < jobs:
                got = self._claim(keys=_KEYS, args=[_BATCH, 1])
                if not got:
                    sleep(0.001)
                    continue
                seen.extend((monotonic() - json.loads(body)["t"]) * 1000 for body in got[1])
                self._ack(keys=_KEYS, args=got[0])

        thread = threading.Thread(target=consume)
        thread.start()
        for i in range(jobs):
            sleep(gap_s)
            self.enqueue([{"t": monotonic()}], i)
        thread.join()
        return seen

    def close(self) -> None:
        """Forget the queue."""
        self._client.delete(*_KEYS)
        self._client.close()
