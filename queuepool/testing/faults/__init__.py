"""Run your handlers under faults, and see what they lose or do twice.

A scenario enqueues jobs on an empty pool, and returns a function that tells what the handlers have
done to the world. It is run undisturbed first, then once for each fault that one of its lines can
meet: a kill, a duplicate delivery, a late cancel, a timeout, a clock that jumps.

>>> from queuepool import JobContext, Registry
>>> from queuepool.testing import MemoryPool
>>> from queuepool.testing.faults import try_faults
>>> registry = Registry()
>>> accounts: dict[str, int] = {}
>>> @registry.task
... def pay_in(account: str, amount: int) -> None:
...     accounts[account] += amount
>>> def scenario(pool: MemoryPool):
...     accounts.update(ada=0)
...     pool.enqueue(pay_in.job(account="ada", amount=10), partition_key="k")
...     return lambda: accounts
>>> ledger = try_faults(scenario, registry=registry)
>>> ledger.ok, ledger.count("not idempotent") > 0
(False, True)
>>> print(ledger.findings[0].detail)
['ada']: 20 instead of 10

    try_faults             run a scenario under each fault; returns a Ledger
    Ledger, Finding        what was found; `ledger.check()` fails a test, and prints the ledger
    Verdict                lost, twice, out of order, not idempotent
    Fault, FaultKind       one fault, to be tried again by itself: `try_faults(..., only=[fault])`
"""

from queuepool.testing.faults.kinds import Fault, FaultKind, Place, Verdict
from queuepool.testing.faults.ledger import Finding, Ledger
from queuepool.testing.faults.trial import Scenario
from queuepool.testing.faults.trying import try_faults

__all__ = [
    "Fault",
    "FaultKind",
    "Finding",
    "Ledger",
    "Place",
    "Scenario",
    "Verdict",
    "try_faults",
]
