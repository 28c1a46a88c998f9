"""Jobs a second, and what a job costs: bytes, CPU, round trips."""

from __future__ import annotations

from time import monotonic

from benchmarks.floor import Floor
from benchmarks.peers.processes import machine_busy_s, queued_s
from benchmarks.rig import payloads, rig
from queuepool.routing.slots import partition_of, slot_of


def enqueue(jobs: int) -> dict[str, float]:
    """Enqueue one at a time and in bulk, the floor's bulk beside it; memory per queued job."""
    rows = payloads(jobs)
    with rig() as r:
        one = min(jobs, 5000)
        r.pool.enqueue("noop", rows[0], partition_key="warm")
        began = monotonic()
        for row in rows[:one]:
            r.pool.enqueue("noop", row, partition_key="single")
        one_s = monotonic() - began
    with rig() as r:
        r.pool.enqueue("noop", {"pad": ""}, partition_key="warm")
        before, began = r.used_memory(), monotonic()
        r.pool.enqueue_many("noop", rows, partition_key="bulk")
        bulk_s = monotonic() - began
        size = (r.used_memory() - before) / jobs
        floor = Floor(r.server.url)
        began = monotonic()
        for i in range(0, jobs, 1000):
            floor.enqueue(rows[i : i + 1000], i)
        floor_s = monotonic() - began
        floor.close()
    return {
        "enqueue_one_per_s": one / one_s,
        "enqueue_many_per_s": jobs / bulk_s,
        "floor_bulk_per_s": jobs / floor_s,
        "enqueue_many_to_floor": floor_s / bulk_s,
        "bytes_per_queued_job": size,
    }


def drain(jobs: int) -> dict[str, float]:
    """Drain no-op jobs with 8 workers in one consumer process, and the floor with 8 threads.

    CPU of the worker process includes its start. A read of the server is one round trip or less:
    several calls that arrive together are read at once.
    """
    rows = payloads(jobs)
    with rig() as r:
        r.pool.enqueue_many("noop", rows, partition_key="bulk")
        cpu_s, reads = r.server_cpu_s(), int(r.info("stats")["total_reads_processed"])
        with r.consumer(8):
            ours = r.drain_per_s("bulk")
        cpu_s = r.server_cpu_s() - cpu_s
        reads = int(r.info("stats")["total_reads_processed"]) - reads
        floor = Floor(r.server.url)
        for i in range(0, jobs, 1000):
            floor.enqueue(rows[i : i + 1000], i)
        bare = jobs / floor.drain(lambda _: None, 8, jobs)
        floor.close()
        return {
            "drain_per_s": ours,
            "floor_drain_per_s": bare,
            "drain_to_floor": ours / bare,
            "worker_cpu_s_per_10k_jobs": r.worker_cpu_s / jobs * 1e4,
            "server_cpu_s_per_10k_jobs": cpu_s / jobs * 1e4,
            "round_trips_per_job": reads / jobs,
        }


def processes(jobs: int) -> dict[str, float]:
    """Drain no-op jobs of one partition with a process, and of two with two at once.

    Busy cores are those of the whole machine: server, consumers, and whatever else runs on it. Of
    two, also how many of their threads and the server's could run and had no core, on average.
    """
    rows = payloads(jobs // 2)
    rates, busy, queued = {}, {}, {}
    for partitions in (1, 2):
        with rig(partitions) as r:
            keys = [_key_of(number, partitions) for number in range(partitions)]
            for key in keys:
                r.pool.enqueue_many("noop", rows, partition_key=key)
            with r.consumer(8):
                began, busy_s, waited_s = monotonic(), machine_busy_s(), queued_s(r.pids)
                rates[partitions] = r.drain_per_s(*keys)
                took_s = monotonic() - began
                busy[partitions] = (machine_busy_s() - busy_s) / took_s
                queued[partitions] = (queued_s(r.pids) - waited_s) / took_s
    return {
        "drain_one_process_per_s": rates[1],
        "drain_two_processes_per_s": rates[2],
        "two_processes_to_one": rates[2] / rates[1],
        "busy_cores_one_process": busy[1],
        "busy_cores_two_processes": busy[2],
        "threads_without_core_two_processes": queued[2],
    }


def sleeping(jobs: int) -> dict[str, float]:
    """Drain jobs that sleep 10 ms on 64 workers; the ideal is 6,400 a second."""
    with rig() as r:
        r.pool.enqueue_many("nap", ({"ms": 10} for _ in range(jobs)), partition_key="naps")
        with r.consumer(64):
            rate = r.drain_per_s("naps")
    return {"sleeping_per_s": rate, "sleeping_share_of_ideal": rate / 6400}


def _key_of(partition: int, partitions: int) -> str:
    """Return a key that belongs to a partition."""
    keys = (f"bulk-{i}" for i in range(10_000))
    return next(k for k in keys if partition_of(slot_of(k.encode()), partitions) == partition)
