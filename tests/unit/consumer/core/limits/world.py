"""A gatekeeper over gates and homes in memory."""

from __future__ import annotations

from consumer.core.limits.gatekeeper import Gatekeeper
from consumer.core.remote_call import RemoteCall
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import FakeClock, MemoryPool
from queuepool.verbs.owner.gates import Admitted, Gate


class World:
    """A gatekeeper, and a partition that is the home of all limits."""

    def __init__(self, **definitions: str) -> None:
        self.clock = FakeClock()
        self.pool = MemoryPool(clock=self.clock)
        self.partition = self.pool.partition(0)
        owned = self.partition.acquire(lease_s=100, host="test")
        assert isinstance(owned, OwnedPartition)
        self.keeper = Gatekeeper(owned.ownership, lambda name: definitions.get(name, ""))
        self.admitted = 0

    def parked(self, *, waiting: int = 0, **gates: int) -> None:
        """Tell of jobs at gates; "__" in a name is the comma between limits."""
        found = (Gate(name.replace("__", ","), n, waiting) for name, n in gates.items())
        self.keeper.on_gates(found, armed=False)

    def ask(self) -> list[RemoteCall]:
        """Make the calls that are due; return them."""
        calls = self.keeper.calls(self.clock())
        for call in calls:
            [reply] = self.partition.server.run(self.partition.key, [call.verb])
            self.keeper.on_reply(call, reply, self.clock())
        return calls

    def admit(self) -> dict[str, int]:
        """Admit what may be, all of which is claimed at once; return by gate how many."""
        found = self.keeper.plan(self.clock())
        for name, jobs, _most in found:
            left = self.keeper.gates.known[name].parked - jobs
            view = self.keeper.gates.known[name]
            reply = Admitted(name, jobs, jobs, view.stranded + jobs, left, 0)
            self.keeper.on_admitted(reply, self.clock(), claims=False)
            for _ in range(jobs):
                self.admitted += 1
                self.keeper.on_claimed([b"%d" % self.admitted, name.encode()], self.clock())
        return {name: jobs for name, jobs, _ in found}

    def admit_unclaimed(self) -> dict[str, int]:
        """Admit what may be, none of which is claimed; return by gate how many."""
        found = self.keeper.plan(self.clock())
        for name, jobs, _most in found:
            view = self.keeper.gates.known[name]
            waiting, left = view.waiting + jobs, view.parked - jobs
            reply = Admitted(name, jobs, jobs, waiting, left, 0)
            self.keeper.on_admitted(reply, self.clock(), claims=False)
        return {name: jobs for name, jobs, _ in found}

    def end(self, *still: int) -> None:
        """End all claimed jobs but these."""
        self.keeper.on_recorded({b"%d" % n for n in still})
