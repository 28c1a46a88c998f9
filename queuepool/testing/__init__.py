"""Test your handlers without a server: jobs in memory, a clock that you move, no threads.

>>> from queuepool import JobContext, Registry, RetryLater
>>> from queuepool.testing import MemoryPool, run_jobs
>>> registry = Registry()
>>> @registry.task(max_attempts=3)
... def charge(ctx: JobContext, order: int) -> str:
...     if order == 13:
...         raise RuntimeError("no such account")
...     if order == 7 and ctx.attempt == 1:
...         raise RetryLater(30)
...     return f"charged {order}"

Enqueue as the application does, then run what is ready:

>>> pool = MemoryPool(registry=registry)
>>> job = pool.enqueue(charge.job(order=1), partition_key="orders")
>>> run_jobs(pool)
RunReport(done=1, retried=0, dead=0, cancelled=0, next_due_s=None)
>>> job.result()
'charged 1'

A failed attempt comes back when its backoff is over. Time passes when you say so:

>>> job = pool.enqueue(charge.job(order=13), partition_key="orders")
>>> report = run_jobs(pool)
>>> report
RunReport(done=0, retried=1, dead=0, cancelled=0, next_due_s=1.0, \
errors=['charge: RuntimeError: no such account'])
>>> pool.clock.advance(report.next_due_s)
>>> run_jobs(pool).next_due_s
2.0
>>> pool.clock.advance(2.0)
>>> run_jobs(pool)
RunReport(done=0, retried=0, dead=1, cancelled=0, next_due_s=None, \
errors=['charge: RuntimeError: no such account'])
>>> status = job.status()
>>> print(status.state, status.attempts, status.error.message)
dead 3 no such account

`report.raise_errors()` raises what the handlers raised, which is what most tests want.

Everything of the pool works: groups, delays, cancelling, dead jobs, the asyncio twin
(`pool.asyncio()`), and the limits that make it refuse (`MemoryPool(max_depth=10)`).

    MemoryPool, run_jobs, RunReport, Ended    for tests of handlers
    FakeClock                                 time that stands still until `advance`
    MemoryServer, AsyncMemoryServer           a Port and an AsyncPort, for a QueuePool of your own
"""

from queuepool.testing.clock import FakeClock
from queuepool.testing.execution import Ended
from queuepool.testing.pool import MemoryPool
from queuepool.testing.running import RunReport, run_jobs
from queuepool.testing.server import AsyncMemoryServer, MemoryServer

__all__ = [
    "AsyncMemoryServer",
    "Ended",
    "FakeClock",
    "MemoryPool",
    "MemoryServer",
    "RunReport",
    "run_jobs",
]
