"""Where the time of a no-op job goes: on its way in, in the consumer, and in the server.

Of one enqueue call: the whole, what the process uses of the CPU meanwhile, what the server's
script takes, and for comparison the same of a call that does nothing. The parts of the consumer
run one after the other in one thread here, without a server; waiting, switching threads and
reading replies come on top. The server's are counted by the server itself while a consumer
drains: what its commands take, and as `lua` what its scripts take besides.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from time import monotonic, process_time

from benchmarks.rig import payloads, rig
from benchmarks.tasks import noop
from consumer.core import events
from consumer.core.in_flight import InFlight
from consumer.core.outbox import record_verbs
from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from consumer.telemetry.metrics import ConsumerMetrics
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.runner import Runner
from consumer.workers.timeouts import Timekeeper
from queuepool import QueuePool
from queuepool.protocol import codec, ids
from queuepool.servers import wire
from queuepool.tasks.registry import Registry
from queuepool.telemetry.events import fan_out
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own

_BATCH = 200
_WORTH_A_LINE = 0.02  # commands that take less of the scripts' time are not told


def producer(jobs: int) -> dict[str, float]:
    """Return microseconds of an enqueue call of one job."""
    (row,), ping = payloads(1), Verb("", ["PING"], bytes)
    with rig() as r:
        partition = r.pool.partition(0)
        calls: dict[str, Callable[[], object]] = {
            "ask": lambda: partition.run(ping),
            "enqueue": lambda: r.pool.enqueue("noop", row, partition_key="one"),
        }
        figures = {}
        for name, call in calls.items():
            call()  # connects
            r.reset_stats()
            began, used = monotonic(), process_time()
            for _ in range(jobs):
                call()
            figures[f"{name}_us"] = (monotonic() - began) / jobs * 1e6
            figures[f"{name}_client_cpu_us"] = (process_time() - used) / jobs * 1e6
        return figures | {"enqueue_script_us": r.script_us() / jobs}


def consumer(jobs: int) -> dict[str, float]:
    """Return microseconds a job: taking, running, recording, and telling the metrics."""
    ownership, settings = own.Ownership(0, "0123456789abcdef.0", 1), ConsumerSettings()
    in_flight, registry = InFlight(), Registry()
    registry.task(noop)
    runner = Runner(registry, ownership, HandlerLoop(), Timekeeper())
    with QueuePool("redis://localhost") as pool:  # never asked
        emit = fan_out([ConsumerMetrics(Consumer(pool, settings)).listen])
        laps = {"take": 0.0, "run": 0.0, "record": 0.0, "forget": 0.0, "metrics": 0.0}
        rounds = max(1, jobs // _BATCH)
        for _ in range(rounds):
            claims = _claims()
            at = [monotonic()]
            ready = in_flight.take(claims, 8, at[0])
            at.append(monotonic())
            in_flight.on_ended([runner.run(job) for job in ready])
            at.append(monotonic())
            outcomes, _ = in_flight.outbox.pick(2**20, alone=True)
            for verb in record_verbs(ownership, outcomes, settings):
                wire.pack(b"{0}", verb)
            at.append(monotonic())
            in_flight.recorded(outcomes)
            at.append(monotonic())
            emit(events.Turned(outcomes, _BATCH, 0, 0.001))
            at.append(monotonic())
            for part, (began, ended) in zip(laps, pairwise(at), strict=True):
                laps[part] += ended - began
    figures = {f"consumer_{part}_us": s / rounds / _BATCH * 1e6 for part, s in laps.items()}
    return figures | {"consumer_us": sum(figures.values())}


def server(jobs: int) -> dict[str, float]:
    """Return microseconds a job that the server spends in scripts, and in which commands."""
    with rig() as r:
        r.pool.enqueue_many("noop", payloads(jobs), partition_key="bulk")
        r.reset_stats()
        with r.consumer(8):
            r.drain_per_s("bulk")
        scripts, inside = r.spent_us()
    figures = {"server_us": scripts / jobs}
    figures |= {
        f"server_{name}_us": cost / jobs
        for name, cost in sorted(inside.items(), key=lambda item: -item[1])
        if cost > _WORTH_A_LINE * scripts
    }
    return figures | {"server_lua_us": (scripts - sum(inside.values())) / jobs}


def _claims() -> own.Claims:
    now_ms = 1_800_000_000_000
    head = b"12%011x" % now_ms + codec.encode_tail(0, b"bulk")
    bodies = [
        head + codec.encode_envelope("noop", row, codec.NO_OPTIONS, limit=1000)
        for row in payloads(_BATCH)
    ]
    made = ids.new_ids(_BATCH, os.urandom(21 * _BATCH // 2), ids.hint_of(0))
    return own.Claims(now_ms, made, bodies, [], [], _BATCH)
