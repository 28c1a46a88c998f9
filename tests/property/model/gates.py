"""Rules of jobs that name limits: they wait at gates until their owner lets them through."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from queuepool.verbs.owner import gates as at_gates
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.property.model import enqueueing, gating
from tests.property.model.jobs import JobsMachine
from tests.property.model.machine import OWN_IDS, delays, picks, tiers, who

GATES = (b"mail", b"api,mail", b"account:7,api,mail")
MIXES = ((b"mail",), (b"api,mail", b""), (b"mail", b"account:7,api,mail"), GATES)


class GatesMachine(JobsMachine):
    """Producers of jobs with limits, and whoever believes to own their gates."""

    @rule(
        own=st.lists(st.sampled_from(OWN_IDS), max_size=3),
        count=st.integers(1, 8),
        tier=tiers,
        delay=delays,
        mix=st.sampled_from(MIXES),
        keys=st.sampled_from((0, 0, 2)),
        expires=st.sampled_from((0, 0, 1)),
        mode=st.sampled_from((b"", b"r", b"d")),
    )
    def enqueue_with_limits(
        self,
        own: list[bytes],
        count: int,
        tier: int,
        delay: int,
        mix: tuple[bytes, ...],
        keys: int,
        expires: int,
        mode: bytes,
    ) -> None:
        ids = [*own, *self.new_ids(count)]
        gates = {i: gate for n, i in enumerate(ids) if (gate := mix[n % len(mix)])}
        wishes: dict[str, Any] = {"expires": expires, "mode": mode, "gates": gates}
        self.enqueue(ids, tier, delay, 1000, unique=keys, **wishes)

    @rule(tier=tiers, gate=st.sampled_from(GATES))
    @precondition(lambda self: len(self.state.jobs) < 300)
    def enqueue_bulk_with_limits(self, tier: int, gate: bytes) -> None:
        ids = self.new_ids(190)
        self.enqueue(ids, tier, 0, 1000, gates=dict.fromkeys(ids, gate))

    @rule(
        back=who,
        gate=st.sampled_from(GATES),
        jobs=st.sampled_from((1, 3, 9, 200)),
        most=st.sampled_from((1000, 1000, 4, 0)),
    )
    def admit(self, back: int, gate: bytes, jobs: int, most: int) -> None:
        life = self.life(back)
        self.client.delete(self.partition.key + b":wk")

        def expect(_: at_gates.Admitted) -> at_gates.Admitted:
            limits, marks = self.space.hash("lm"), set(self.space.hash("cx"))
            told = gating.admit(
                self.state,
                life.ownership.epoch,
                gate,
                jobs,
                most,
                limits,
                self.space.gates,
                marks,
            )
            woken = b"w" in self.space.list("wk")
            assert woken or not told.admitted, "an idle owner was not woken"
            return told

        verb = at_gates.admit(life.ownership, gate.decode(), jobs, most_waiting=most)
        self.as_owner(life, verb, expect, draining=False)

    @rule(back=who, limit=st.sampled_from((3, 25, 200)))
    def admit_and_claim(self, back: int, limit: int) -> None:
        for gate in GATES:
            self.admit(back, gate, limit, 1000)
        self.claim(back, limit, 0, (6, 3, 2, 1))

    @rule(back=who, limit=st.sampled_from((3, 25)), picks=picks)
    def claim_what_came_back(self, back: int, limit: int, picks: list[int]) -> None:
        """Jobs that did not start return to their lanes; a claim sends them to their gates."""
        self.admit_and_claim(back, limit)
        self.hand_back_or_abandon(back, picks, own.hand_back)
        self.claim(back, 200, 0, (6, 3, 2, 1))

    @rule(tier=tiers, gate=st.sampled_from(GATES), limit=st.sampled_from((1, 25)))
    @precondition(lambda self: self.state.groups)
    def claim_of_serial_groups(self, tier: int, gate: bytes, limit: int) -> None:
        """The first job of a serial group goes to its gate by a claim, and back by an admission."""
        for group in self.state.groups:
            self.run(produce.configure(group, serial=True))
            enqueueing.configure(self.state, group, None, True, None)
        ids = self.new_ids(6)
        self.enqueue(ids, tier, 0, 1000, gates=dict.fromkeys(ids, gate))
        self.claim(0, limit, 0, (6, 3, 2, 1))
        self.admit(0, gate, 200, 1000)
        self.claim(0, limit, 0, (6, 3, 2, 1))

    @rule()
    def look_at_gates(self) -> None:
        found: list[at_gates.Gate] = []
        cursor, begun = b"0", False
        while cursor != b"0" or not begun:
            page = self.run(at_gates.gates(cursor))
            cursor, begun = page.cursor, True
            found += page.gates

        earlier = len(self.state.draining) + len(self.state.to_recover)
        used = b"parked" in self.space.hash("c")
        assert (page.earlier, page.used) == (earlier, used)
        parked = {k: int(n) for k, n in self.space.hash("gt").items()}
        waiting = {gate: n for gate in GATES if (n := self.state.admitted(gate))}
        told = {(gate.limits.encode(), gate.parked, gate.waiting) for gate in found}
        assert told == {
            (gate, parked.get(gate, 0), waiting.get(gate, 0)) for gate in parked | waiting
        }
